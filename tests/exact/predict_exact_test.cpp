// SPDX-License-Identifier: Apache-2.0
// predict() against the words of docs/placement.md, hop by hop, over jobs of many equal and unequal nodes.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <random>
#include <set>
#include <vector>

#include "../placement/boards.hpp"
#include "placement/placer.hpp"

using placement::node_share;
using topo::gpu_mask;
using topo::node_id;

namespace {

constexpr double without_limit = std::numeric_limits<double>::infinity();

struct hop {
    double alpha_us = 0;
    double gb_per_s = without_limit;
    std::size_t level = 0;  // 0 inside a node, 1 + fabric level otherwise
};

class formula {
public:
    formula(const topo::cluster& c, const placement::placer& p, const std::vector<node_share>& nodes)
        : c_(c), p_(p), nodes_(nodes) {}

    [[nodiscard]] std::vector<hop> hops() const {
        std::vector<hop> out;
        for (std::size_t i = 0; i < nodes_.size(); ++i) {
            inside(nodes_[i], out);
            if (nodes_.size() > 1) out.push_back(between(i, (i + 1) % nodes_.size()));
        }
        return out;
    }
    [[nodiscard]] std::size_t ranks() const {
        std::size_t n = 0;
        for (const auto& s : nodes_) n += topo::count(s.gpus);
        return n;
    }

private:
    [[nodiscard]] const topo::node_class& hardware(const node_share& s) const { return c_.class_of(s.node); }

    // NIC → the GPUs of the share that have it as theirs; {-1} for a class without NICs.
    [[nodiscard]] std::map<int, std::vector<std::size_t>> nics(const node_share& s) const {
        const auto nearest = topo::nearest_nics(hardware(s));
        std::map<int, std::vector<std::size_t>> out;
        for (std::size_t g = 0; g < hardware(s).gpus.size(); ++g)
            if (s.gpus >> g & 1) out[nearest[g]].push_back(g);
        return out;
    }

    void inside(const node_share& s, std::vector<hop>& out) const {
        std::array<std::uint8_t, 64> order{};
        const std::size_t n = p_.table(c_.nodes()[s.node.value].hardware).ring_order(s.gpus, order);
        if (n < 2) return;
        const auto& cells = hardware(s).best_layer(topo::endpoint::gpu, topo::endpoint::gpu)->cells;
        const bool closes = nodes_.size() == 1 || nics(s).size() > 1;
        for (std::size_t i = 0; i < (closes ? n : n - 1); ++i) {
            const auto& cell = cells(order[i], order[(i + 1) % n]);
            out.push_back({cell.alpha_us, cell.gb_per_s, 0});
        }
    }

    // Slowest NIC and worst latency of one end. Every cost is known and the speed of a port is not.
    [[nodiscard]] hop end(const node_share& s, bool out) const {
        hop worst;
        for (const auto& [nic, gpus] : nics(s)) {
            if (nic < 0) continue;
            const auto* layer = out ? hardware(s).best_layer(topo::endpoint::gpu, topo::endpoint::nic)
                                    : hardware(s).best_layer(topo::endpoint::nic, topo::endpoint::gpu);
            const topo::cost* best = nullptr;
            for (const auto g : gpus) {
                const auto n = static_cast<std::size_t>(nic);
                const topo::cost& cell = out ? layer->cells(g, n) : layer->cells(n, g);
                if (best == nullptr || cell.gb_per_s > best->gb_per_s) best = &cell;
            }
            worst.alpha_us = std::max(worst.alpha_us, best->alpha_us);
            worst.gb_per_s = std::min(worst.gb_per_s, best->gb_per_s);
        }
        return worst;
    }

    // How many hops of the ring leave (or enter) the group of a level that this node is in.
    [[nodiscard]] double crossings(int level, node_id node, bool leave) const {
        const topo::fabric& net = c_.network();
        const auto group = net.group_of(node, level);
        double n = 0;
        for (std::size_t i = 0; i < nodes_.size(); ++i) {
            const node_id a = nodes_[i].node;
            const node_id b = nodes_[(i + 1) % nodes_.size()].node;
            const bool from = net.group_of(a, level) == group;
            const bool to = net.group_of(b, level) == group;
            n += (leave ? from && !to : to && !from) ? 1 : 0;
        }
        return n;
    }

    [[nodiscard]] hop between(std::size_t i, std::size_t j) const {
        const topo::fabric& net = c_.network();
        const node_share& a = nodes_[i];
        const node_share& b = nodes_[j];
        const int level = net.level_of(a.node, b.node);
        const hop out = end(a, true);
        const hop in = end(b, false);
        const topo::cost& cost = net.level_cost(level);
        hop h;
        h.level = 1 + static_cast<std::size_t>(level);
        h.alpha_us = out.alpha_us + cost.alpha_us + in.alpha_us;
        h.gb_per_s = static_cast<double>(std::min(nics(a).size(), nics(b).size())) *
                     std::min({out.gb_per_s, in.gb_per_s, cost.gb_per_s});
        for (int l = 0; l < level; ++l) {
            const double up = net.capacity(l, net.group_of(a.node, l));
            const double down = net.capacity(l, net.group_of(b.node, l));
            h.gb_per_s = std::min({h.gb_per_s, up / crossings(l, a.node, true), down / crossings(l, b.node, false)});
        }
        return h;
    }

    const topo::cluster& c_;
    const placement::placer& p_;
    const std::vector<node_share>& nodes_;
};

topo::node_class random_class(std::mt19937_64& random, const std::string& name) {
    std::uniform_real_distribution<double> unit(0.5, 1);
    auto c = boards::with_nics(boards::board(
        name, 4, [&](std::size_t, std::size_t) { return boards::cost(1 + unit(random), 300 * unit(random)); }));
    for (auto& layer : c.layers)
        for (auto& cell : layer.cells.cells())
            if (cell.present()) cell.gb_per_s *= unit(random);
    return c;
}

}  // namespace

TEST_CASE("2,000 random jobs: every term is that of the formula, hop by hop") {
    std::mt19937_64 random(7);
    std::size_t long_runs = 0, crossing = 0;
    for (int round = 0; round < 200; ++round) {
        const std::vector<std::size_t> leaves = {1 + random() % 6, 1 + random() % 6, 1 + random() % 6,
                                                 1 + random() % 6};
        std::size_t total = 0;
        for (const auto n : leaves) total += n;
        std::vector<std::size_t> classes(total, 0);
        for (std::size_t i = random() % total; i < total && round % 2 == 0; ++i) classes[i] = 1;
        const auto c = boards::cluster({random_class(random, "a"), random_class(random, "b")},
                                       {leaves, {2, 2}, random() % 2 == 0 ? 60.0 : 0.0, true}, classes);
        const auto p = placement::placer::make(c);
        REQUIRE(p);
        for (int i = 0; i < 10; ++i) {
            std::vector<std::uint32_t> ids(total);
            for (std::uint32_t n = 0; n < total; ++n) ids[n] = n;
            if (random() % 3 == 0) std::shuffle(ids.begin(), ids.end(), random);
            const std::size_t count = 1 + random() % total;
            const bool all_alike = random() % 2 == 0;
            placement::answer got;
            for (std::size_t n = 0; n < count; ++n)
                got.nodes.push_back({node_id(ids[n]), all_alike ? gpu_mask{15} : 1 + random() % 15});
            placement::request job;
            job.message_bytes = 1e8;
            p->predict(job, got);
            const formula f(c, *p, got.nodes);
            double alpha = 0, bw = without_limit;
            for (const hop& h : f.hops()) {
                alpha = std::max(alpha, h.alpha_us);
                bw = std::min(bw, h.gb_per_s);
                crossing += h.level > 1 ? 1 : 0;
            }
            const auto ranks = static_cast<double>(f.ranks());
            INFO("round " << round << " job " << i << " of " << count << " nodes");
            if (ranks < 2) {
                REQUIRE(got.predicted.step_us == 0);
                continue;
            }
            long_runs += all_alike && count > 3 ? 1 : 0;
            REQUIRE(got.predicted.latency_us == doctest::Approx(2 * (ranks - 1) * alpha).epsilon(1e-12));
            REQUIRE(got.predicted.transfer_us ==
                    doctest::Approx(2 * (ranks - 1) / ranks * 1e8 / (bw * 1e3)).epsilon(1e-12));
            REQUIRE(got.predicted.slowest_gb_per_s == doctest::Approx(bw).epsilon(1e-12));
            REQUIRE(got.predicted.slowest_to < f.ranks());
            const auto& from = got.ranks[got.predicted.slowest_from];
            const auto& to = got.ranks[got.predicted.slowest_to];
            REQUIRE((from.node == to.node) == (got.predicted.slowest_level == 0));
        }
    }
    CHECK(long_runs > 200);
    CHECK(crossing > 1000);
}
