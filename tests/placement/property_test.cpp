// SPDX-License-Identifier: Apache-2.0
// Properties of choosing that must hold for every machine, with rapidcheck's shrinking.
#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <numeric>

#include "boards.hpp"
#include "placement/placer.hpp"
#include "placement/subset_table.hpp"

using topo::gpu_mask;

namespace {

// A board of 2 … 7 GPUs with costs out of a few levels or wholly irregular.
topo::node_class any_board() {
    const auto n = static_cast<std::size_t>(*rc::gen::inRange(2, 8));
    const bool irregular = *rc::gen::arbitrary<bool>();
    const auto numbers = *rc::gen::container<std::vector<int>>(n * n, rc::gen::inRange(1, irregular ? 400 : 4));
    return boards::board("any", n, [&](std::size_t a, std::size_t b) {
        const double x = numbers[a * n + b];
        return boards::cost(1 + x / 100, irregular ? x : 20 * x);
    });
}

gpu_mask any_free(std::size_t n) { return *rc::gen::inRange<gpu_mask>(1, gpu_mask{1} << n); }

placement::subset_table strict_table(const topo::node_class& c) {
    placement::subset_options options;
    options.equal_within = 0;
    options.order_within = 0;
    auto built = placement::subset_table::build(c, options);
    RC_ASSERT(bool(built));
    return std::move(*built);
}

void property(const char* text, const std::function<void()>& holds) { CHECK(rc::check(text, holds)); }

}  // namespace

TEST_CASE("subset properties") {
    property("exactly the number, from the free ones, and scoring anew gives the stated numbers", [] {
        const auto c = any_board();
        const auto built = placement::subset_table::build(c, {});
        RC_ASSERT(bool(built));
        const gpu_mask free = any_free(c.gpus.size());
        const auto k = *rc::gen::inRange<unsigned>(1, topo::count(free) + 1);
        const auto got = built->best(free, k);
        RC_ASSERT(got.has_value());
        RC_ASSERT(topo::count(got->gpus) == k);
        RC_ASSERT((got->gpus & ~free) == 0);
        const auto again = built->score(got->gpus, free);
        RC_ASSERT(again.ring_us == got->ring_us);
        RC_ASSERT(again.damage == got->damage);
        RC_ASSERT(got->damage >= 0 && got->damage <= 1);
    });
    property("lowering a cost never worsens the best time", [] {
        auto c = any_board();
        const std::size_t n = c.gpus.size();
        const gpu_mask free = any_free(n);
        const auto k = *rc::gen::inRange<unsigned>(1, topo::count(free) + 1);
        const double before = strict_table(c).best(free, k)->ring_us;
        const auto a = *rc::gen::inRange<std::size_t>(0, n);
        const auto b = (a + *rc::gen::inRange<std::size_t>(1, n)) % n;
        auto& cell = c.layers[0].cells(a, b);
        if (*rc::gen::arbitrary<bool>())
            cell.alpha_us /= 2;
        else
            cell.gb_per_s *= 3;
        RC_ASSERT(strict_table(c).best(free, k)->ring_us <= before);
    });
    property("more free GPUs never worsen the best time", [] {
        const auto c = any_board();
        const std::size_t n = c.gpus.size();
        const gpu_mask free = any_free(n);
        const gpu_mask more = free | any_free(n);
        const auto k = *rc::gen::inRange<unsigned>(1, topo::count(free) + 1);
        const auto table = strict_table(c);
        RC_ASSERT(table.best(more, k)->ring_us <= table.best(free, k)->ring_us);
    });
    property("relabelling the GPUs changes neither time nor damage of the choice", [] {
        const auto c = any_board();
        const std::size_t n = c.gpus.size();
        std::vector<std::size_t> to(n);
        std::iota(to.begin(), to.end(), std::size_t{0});
        for (std::size_t i = n; i > 1; --i) std::swap(to[i - 1], to[*rc::gen::inRange<std::size_t>(0, i)]);
        auto renamed = c;
        for (std::size_t a = 0; a < n; ++a)
            for (std::size_t b = 0; b < n; ++b)
                if (a != b) renamed.layers[0].cells(to[a], to[b]) = c.layers[0].cells(a, b);
        const gpu_mask free = any_free(n);
        gpu_mask free_renamed = 0;
        for (std::size_t g = 0; g < n; ++g)
            if (free >> g & 1) free_renamed |= gpu_mask{1} << to[g];
        const auto k = *rc::gen::inRange<unsigned>(1, topo::count(free) + 1);
        const auto table = placement::subset_table::build(c, {});
        const auto other = placement::subset_table::build(renamed, {});
        RC_ASSERT(table && other);
        const auto mine = table->best(free, k);
        const auto theirs = other->best(free_renamed, k);
        RC_ASSERT(mine->damage == theirs->damage);
        const placement::subset_options options;
        // Of one time class: the same window, so within it of one another, and then in order of index or not.
        const double within = (1 + options.equal_within) * (1 + options.order_within);
        RC_ASSERT(mine->ring_us <= theirs->ring_us * within);
        RC_ASSERT(theirs->ring_us <= mine->ring_us * within);
    });
}

TEST_CASE("placer properties") {
    property("every answer is free, allowed, of the exact size and scored as predict() scores it", [] {
        const auto c = boards::cluster({boards::with_nics(boards::paired(4, {{0, 1}, {2, 3}}))},
                                       boards::tree{{3, 4, 2, 5}, {2, 2}, 80, true});
        auto p = placement::placer::make(c);
        RC_ASSERT(bool(p));
        const auto masks = *rc::gen::container<std::vector<unsigned>>(14, rc::gen::inRange(0u, 16u));
        const auto filter = *rc::gen::inRange<std::uint64_t>(0, 1u << 14);
        for (std::uint32_t n = 0; n < 14; ++n) p->set_free(topo::node_id(n), masks[n]);
        placement::request r;
        r.nodes = *rc::gen::inRange(1u, 8u);
        r.gpus_per_node = *rc::gen::inRange(1u, 5u);
        if (*rc::gen::arbitrary<bool>()) {
            r.gpus_total = r.nodes * r.gpus_per_node;
            r.nodes = 0;
        }
        placement::answer a;
        if (p->choose(r, std::span(&filter, 1), a) != placement::outcome::placed) {
            RC_ASSERT(a.nodes.empty());
            return;
        }
        std::size_t total = 0;
        for (std::size_t i = 0; i < a.nodes.size(); ++i) {
            const auto& n = a.nodes[i];
            RC_ASSERT((filter >> n.node.value & 1) == 1);
            RC_ASSERT((n.gpus & ~gpu_mask{masks[n.node.value]}) == 0);
            RC_ASSERT(n.gpus != 0);
            for (std::size_t k = 0; k < i; ++k) RC_ASSERT(a.nodes[k].node != n.node);
            if (r.gpus_total == 0) RC_ASSERT(topo::count(n.gpus) == r.gpus_per_node);
            total += topo::count(n.gpus);
        }
        RC_ASSERT(total == (r.gpus_total > 0 ? r.gpus_total : r.nodes * r.gpus_per_node));
        RC_ASSERT(a.ranks.size() == total);
        placement::answer again;
        again.nodes = a.nodes;
        p->predict(r, again);
        RC_ASSERT(again.predicted.step_us == a.predicted.step_us);
        RC_ASSERT(again.predicted.step_us == again.predicted.latency_us + again.predicted.transfer_us);
    });
}
