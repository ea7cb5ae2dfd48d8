// SPDX-License-Identifier: Apache-2.0
// Every pattern's prediction against a list of all that is moved, made and added up here in the plainest way, over
// random jobs on random clusters. docs/patterns.md has the formulas.
#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "../placement/boards.hpp"
#include "placement/placer.hpp"
#include "placement/traffic_matrix.hpp"

using placement::pattern;
using placement::rank_place;
using topo::gpu_mask;
using topo::node_id;

namespace {

constexpr double without_limit = std::numeric_limits<double>::infinity();

// What is moved at the same time. Every class here has a NIC a GPU, known costs and unknown ports.
class traffic {
public:
    traffic(const topo::cluster& c, const placement::placer& p) : c_(c), p_(p) {}

    void move(const rank_place& a, const rank_place& b, double bytes) {
        if (a.node == b.node) {
            const auto& cells = layer(a.node, topo::endpoint::gpu, topo::endpoint::gpu);
            const topo::cost& cell = cells(a.gpu, b.gpu);
            alone(cell.alpha_us, bytes / cell.gb_per_s, true);
            load("gpu out " + name(a), bytes, best(cells, a.gpu, true));
            load("gpu in " + name(b), bytes, best(cells, b.gpu, false));
            return;
        }
        stream({a}, {b}, bytes);
    }

    // From one node's GPUs to another's, an equal share on each NIC.
    void stream(const std::vector<rank_place>& from, const std::vector<rank_place>& to, double bytes) {
        const topo::fabric& net = c_.network();
        const int level = net.level_of(from.front().node, to.front().node);
        const topo::cost& way = net.level_cost(level);
        double out_alpha = 0, in_alpha = 0, slowest = way.gb_per_s;
        for (const auto& r : from) {
            const topo::cost& cell = layer(r.node, topo::endpoint::gpu, topo::endpoint::nic)(r.gpu, r.gpu);
            out_alpha = std::max(out_alpha, cell.alpha_us);
            slowest = std::min(slowest, cell.gb_per_s);
            load("nic out " + name(r), bytes / static_cast<double>(from.size()), cell.gb_per_s);
        }
        for (const auto& r : to) {
            const topo::cost& cell = layer(r.node, topo::endpoint::nic, topo::endpoint::gpu)(r.gpu, r.gpu);
            in_alpha = std::max(in_alpha, cell.alpha_us);
            slowest = std::min(slowest, cell.gb_per_s);
            load("nic in " + name(r), bytes / static_cast<double>(to.size()), cell.gb_per_s);
        }
        const auto rails = static_cast<double>(std::min(from.size(), to.size()));
        alone(out_alpha + way.alpha_us + in_alpha, bytes / (rails * slowest), false);
        for (int l = 0; l < level; ++l) {
            const auto up = net.group_of(from.front().node, l), down = net.group_of(to.front().node, l);
            load("up " + std::to_string(l) + " " + std::to_string(up.value), bytes, net.capacity(l, up));
            load("down " + std::to_string(l) + " " + std::to_string(down.value), bytes, net.capacity(l, down));
        }
    }

    // Bytes that a NIC has to bring to a level or beyond, which that level's own cost limits.
    void limit(const rank_place& a, int level, double bytes) {
        load("level " + std::to_string(level) + " " + name(a), bytes, c_.network().level_cost(level).gb_per_s);
    }

    void alone(double alpha, double kilo_us, bool inside) {
        alpha_ = std::max(alpha_, alpha);
        (inside ? inside_alpha_ : across_alpha_) = std::max(inside ? inside_alpha_ : across_alpha_, alpha);
        slowest_ = std::max(slowest_, kilo_us / 1e3);
    }

    void load(const std::string& what, double bytes, double gb_per_s) {
        auto& [sum, rate] = loads_[what];
        sum += bytes;
        rate = gb_per_s;
    }

    [[nodiscard]] double transfer_us() const {
        double t = slowest_;
        for (const auto& [what, l] : loads_) t = std::max(t, l.first / (l.second * 1e3));
        return t;
    }
    [[nodiscard]] double own_us() const { return slowest_; }
    [[nodiscard]] double alpha_us() const { return alpha_; }
    [[nodiscard]] double inside_alpha_us() const { return inside_alpha_; }
    [[nodiscard]] double across_alpha_us() const { return across_alpha_; }

    // The GPUs of a node in the order of their ring.
    [[nodiscard]] std::vector<rank_place> ring_of(node_id node, gpu_mask gpus) const {
        std::array<std::uint8_t, 64> order{};
        const std::size_t n = p_.table(c_.nodes()[node.value].hardware).ring_order(gpus, order);
        std::vector<rank_place> out;
        for (std::size_t i = 0; i < n; ++i) out.push_back({node, order[i]});
        return out;
    }

private:
    [[nodiscard]] const topo::matrix<topo::cost>& layer(node_id n, topo::endpoint from, topo::endpoint to) const {
        return c_.class_of(n).best_layer(from, to)->cells;
    }
    [[nodiscard]] static double best(const topo::matrix<topo::cost>& cells, std::size_t g, bool out) {
        double most = 0;
        for (std::size_t o = 0; o < cells.rows(); ++o)
            if (o != g) most = std::max(most, out ? cells(g, o).gb_per_s : cells(o, g).gb_per_s);
        return most;
    }
    [[nodiscard]] static std::string name(const rank_place& r) {
        return std::to_string(r.node.value) + "/" + std::to_string(r.gpu);
    }

    const topo::cluster& c_;
    const placement::placer& p_;
    double alpha_ = 0, inside_alpha_ = 0, across_alpha_ = 0, slowest_ = 0;
    std::map<std::string, std::pair<double, double>> loads_;
};

struct result {
    double latency_us = 0, transfer_us = 0;
    [[nodiscard]] double us() const { return latency_us + transfer_us; }
};
using groups = std::vector<std::vector<rank_place>>;

// A group's GPUs node by node, nodes in order of first appearance, rings inside.
std::vector<std::vector<rank_place>> by_node(const traffic& t, const std::vector<rank_place>& group) {
    std::vector<node_id> nodes;
    std::map<std::uint32_t, gpu_mask> gpus;
    for (const auto& r : group) {
        if (gpus.count(r.node.value) == 0) nodes.push_back(r.node);
        gpus[r.node.value] |= gpu_mask{1} << r.gpu;
    }
    std::vector<std::vector<rank_place>> out;
    for (const auto n : nodes) out.push_back(t.ring_of(n, gpus[n.value]));
    return out;
}

void hop_inside(traffic& t, const topo::cluster& c, const rank_place& a, const rank_place& b, double bytes) {
    const topo::cost& cell =
        c.class_of(a.node).best_layer(topo::endpoint::gpu, topo::endpoint::gpu)->cells(a.gpu, b.gpu);
    t.alone(cell.alpha_us, bytes / cell.gb_per_s, true);
}

void ring_inside(traffic& t, const topo::cluster& c, const std::vector<rank_place>& node, bool closed, double bytes) {
    if (node.size() < 2) return;
    for (std::size_t i = 0; i + (closed ? 0 : 1) < node.size(); ++i)
        hop_inside(t, c, node[i], node[(i + 1) % node.size()], bytes);
}

class reference {
public:
    reference(const topo::cluster& c, const placement::placer& p) : c_(c), p_(p) {}

    [[nodiscard]] result ring(const groups& all, double bytes) const {
        traffic t(c_, p_);
        const auto p = static_cast<double>(all.front().size());
        const double each = 2 * (p - 1) / p * bytes;
        for (const auto& g : all) {
            const auto nodes = by_node(t, g);
            for (std::size_t i = 0; i < nodes.size(); ++i) {
                ring_inside(t, c_, nodes[i], nodes.size() == 1 || nodes[i].size() > 1, each);
                if (nodes.size() > 1) t.stream(nodes[i], nodes[(i + 1) % nodes.size()], each);
            }
        }
        return {2 * (p - 1) * t.alpha_us(), t.transfer_us()};
    }

    // The trees of Sanders, Speck and Träff by their recursive definition: the root of labels [a, b) is the multiple of
    // the greatest power of two in it, and 0 stands above the whole.
    static void edges(std::uint32_t n, const std::function<void(std::uint32_t, std::uint32_t)>& edge) {
        std::vector<std::uint32_t> parent(n, n);
        const std::function<std::uint32_t(std::uint32_t, std::uint32_t)> build = [&](std::uint32_t a, std::uint32_t b) {
            std::uint32_t root = a;
            for (std::uint32_t i = a; i < b; ++i)
                if (std::countr_zero(i) > std::countr_zero(root)) root = i;
            if (root > a) parent[build(a, root)] = root;
            if (root + 1 < b) parent[build(root + 1, b)] = root;
            return root;
        };
        if (n > 1) parent[build(1, n)] = 0;
        for (std::uint32_t i = 1; i < n; ++i) {
            edge(i, parent[i]);
            const auto second = [n](std::uint32_t x) { return n % 2 == 0 ? n - 1 - x : (x + 1) % n; };
            edge(second(i), second(parent[i]));
        }
    }

    [[nodiscard]] result tree(const groups& all, double bytes) const {
        traffic t(c_, p_);
        double across = 0, inside = 0;
        const auto up = [](std::size_t n) { return std::ceil(std::log2(static_cast<double>(n))); };
        for (const auto& g : all) {
            const auto nodes = by_node(t, g);
            if (nodes.size() == 1) {
                inside = std::max(inside, up(g.size()));
                edges(static_cast<std::uint32_t>(g.size()), [&](std::uint32_t a, std::uint32_t b) {
                    t.move(nodes[0][a], nodes[0][b], bytes / 2);
                    t.move(nodes[0][b], nodes[0][a], bytes / 2);
                });
                continue;
            }
            across = std::max(across, up(nodes.size()));
            for (const auto& n : nodes) {
                inside = std::max(inside, static_cast<double>(n.size()) - 1);
                ring_inside(t, c_, n, false, bytes);
            }
            edges(static_cast<std::uint32_t>(nodes.size()), [&](std::uint32_t a, std::uint32_t b) {
                t.stream(nodes[a], nodes[b], bytes / 2);
                t.stream(nodes[b], nodes[a], bytes / 2);
            });
        }
        return {2 * (across * t.across_alpha_us() + inside * t.inside_alpha_us()), t.transfer_us()};
    }

    // Nothing where the nodes have not the same number of GPUs, two or more.
    [[nodiscard]] std::optional<result> hierarchical(const groups& all, double bytes) const {
        traffic in(c_, p_), out(c_, p_);
        double k = 0, m = 0;
        for (const auto& g : all) {
            auto nodes = by_node(in, g);
            if (nodes.size() < 2 || nodes[0].size() < 2) return std::nullopt;
            for (auto& n : nodes) {
                if (n.size() != nodes[0].size() || (k != 0 && static_cast<double>(n.size()) != k)) return std::nullopt;
                k = static_cast<double>(n.size());
                ring_inside(in, c_, n, true, 2 * (k - 1) / k * bytes);
                std::sort(n.begin(), n.end(), [](const auto& a, const auto& b) { return a.gpu < b.gpu; });
            }
            m = static_cast<double>(nodes.size());
            for (std::size_t i = 0; i < nodes.size(); ++i)
                for (std::size_t g2 = 0; g2 < nodes[i].size(); ++g2)
                    out.move(nodes[i][g2], nodes[(i + 1) % nodes.size()][g2], 2 * (m - 1) / m * bytes / k);
        }
        return result{2 * (k - 1) * in.alpha_us() + 2 * (m - 1) * out.alpha_us(), in.transfer_us() + out.transfer_us()};
    }

    [[nodiscard]] result allreduce(const groups& all, double bytes) const {
        if (all.front().size() < 2) return {};
        result best = ring(all, bytes);
        const result other = tree(all, bytes);
        if (other.us() < best.us()) best = other;
        const auto third = hierarchical(all, bytes);
        if (third && third->us() < best.us()) best = *third;
        return best;
    }

    [[nodiscard]] result all_to_all(const groups& all, double bytes) const {
        traffic t(c_, p_);
        const topo::fabric& net = c_.network();
        const auto p = static_cast<double>(all.front().size());
        if (p < 2) return {};
        for (const auto& g : all) {
            for (const auto& a : g)
                for (const auto& b : g) {
                    if (a.node == b.node && a.gpu == b.gpu) continue;
                    t.move(a, b, bytes / p);
                    if (a.node == b.node) continue;
                    // A level that somebody of the group is reached at limits all that goes there and beyond.
                    std::set<int> met;
                    for (const auto& x : g)
                        if (x.node != a.node) met.insert(net.level_of(a.node, x.node));
                    for (const int l : met)
                        if (l <= net.level_of(a.node, b.node)) t.limit(a, l, bytes / p);
                }
        }
        return {(p - 1) * t.alpha_us(), t.transfer_us()};
    }

    [[nodiscard]] result pairs(const std::vector<std::pair<rank_place, rank_place>>& both_ways, double bytes) const {
        traffic t(c_, p_);
        for (const auto& [a, b] : both_ways) {
            t.move(a, b, bytes);
            t.move(b, a, bytes);
        }
        return {t.alpha_us(), t.transfer_us()};
    }

private:
    const topo::cluster& c_;
    const placement::placer& p_;
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

groups along(const std::vector<rank_place>& ranks, std::size_t size, std::size_t stride) {
    groups out;
    for (std::size_t first = 0; first < ranks.size(); ++first) {
        if (first / stride % size != 0) continue;
        out.emplace_back();
        for (std::size_t i = 0; i < size; ++i) out.back().push_back(ranks[first + i * stride]);
    }
    return out;
}

struct world {
    std::unique_ptr<const topo::cluster> at;  // the placer points to it
    placement::placer placer;
    const topo::cluster& cluster = *at;
};

world random_world(std::mt19937_64& random, int round) {
    const std::vector<std::size_t> leaves = {1 + random() % 4, 1 + random() % 4, 1 + random() % 4, 1 + random() % 4};
    std::size_t total = 0;
    for (const auto n : leaves) total += n;
    std::vector<std::size_t> classes(total, 0);
    for (std::size_t i = random() % total; i < total && round % 2 == 0; ++i) classes[i] = 1;
    auto c = std::make_unique<const topo::cluster>(
        boards::cluster({random_class(random, "a"), random_class(random, "b")},
                        {leaves, {2, 2}, random() % 2 == 0 ? 60.0 : 0.0, true}, classes));
    auto p = placement::placer::make(*c);
    REQUIRE(p);
    return {std::move(c), std::move(*p)};
}

std::vector<rank_place> random_ranks(std::mt19937_64& random, const topo::cluster& c, std::size_t count, bool whole) {
    std::vector<std::uint32_t> ids(c.nodes().size());
    for (std::uint32_t n = 0; n < ids.size(); ++n) ids[n] = n;
    std::shuffle(ids.begin(), ids.end(), random);
    std::vector<rank_place> out;
    for (std::size_t n = 0; n < ids.size() && out.size() < count; ++n)
        for (std::uint8_t g = 0; g < 4 && out.size() < count; ++g)
            if (whole || random() % 3 != 0) out.push_back({node_id(ids[n]), g});
    return out;
}

void check(const placement::prediction& got, std::size_t term, const result& want, double times) {
    REQUIRE(got.term_count > term);
    REQUIRE(got.terms[term].latency_us == doctest::Approx(times * want.latency_us).epsilon(1e-9));
    REQUIRE(got.terms[term].transfer_us == doctest::Approx(times * want.transfer_us).epsilon(1e-9));
}

}  // namespace

TEST_CASE("3,000 random jobs: every exchange of one group is the sum of what it moves") {
    std::mt19937_64 random(11);
    std::map<pattern, int> seen;
    for (int round = 0; round < 150; ++round) {
        const world w = random_world(random, round);
        const reference ref(w.cluster, w.placer);
        for (int i = 0; i < 20; ++i) {
            const auto ranks = random_ranks(random, w.cluster, 2 + random() % 24, random() % 2 == 0);
            if (ranks.size() < 2) continue;
            const groups one = {ranks};
            placement::request job;
            job.message_bytes = std::pow(10.0, 3 + static_cast<double>(random() % 6));
            const double n = job.message_bytes;
            const auto predict = [&](pattern p) {
                job.talks = p;
                ++seen[p];
                const auto got = w.placer.predict_ranks(job, ranks);
                double sum = 0;
                for (std::size_t t = 0; t < got.term_count; ++t) sum += got.terms[t].shown_us();
                REQUIRE(got.step_us == doctest::Approx(sum).epsilon(1e-12));
                REQUIRE(got.slowest_from < ranks.size());
                REQUIRE(got.slowest_to < ranks.size());
                return got;
            };
            INFO("round " << round << " job " << i << " of " << ranks.size() << " ranks, " << n << " bytes");
            check(predict(pattern::ring_allreduce), 0, ref.ring(one, n), 1);
            check(predict(pattern::tree_allreduce), 0, ref.tree(one, n), 1);
            const auto hierarchical = ref.hierarchical(one, n);
            check(predict(pattern::hierarchical_allreduce), 0, hierarchical ? *hierarchical : ref.ring(one, n), 1);
            seen[pattern::hierarchical_allreduce] -= hierarchical ? 0 : 1;
            check(predict(pattern::allreduce), 0, ref.allreduce(one, n), 1);
            const result ring = ref.ring(one, n);
            check(predict(pattern::reduce_scatter_all_gather), 0, ring, 1);
            check(predict(pattern::all_to_all), 0, ref.all_to_all(one, n), 1);
            job.parallel.layers = 3;
            job.parallel.microbatches = 5;
            check(predict(pattern::tensor_parallel), 0, ref.allreduce(one, n), 4 * 3 * 5);
            check(predict(pattern::expert_parallel), 0, ref.all_to_all(one, n), 4 * 3 * 5);
            check(predict(pattern::data_parallel), 0, ref.allreduce(one, n), 1);
            std::vector<std::pair<rank_place, rank_place>> two, chain;
            for (std::size_t r = 0; r + 1 < ranks.size(); ++r) {
                chain.emplace_back(ranks[r], ranks[r + 1]);
                if (r % 2 == 0) two.emplace_back(ranks[r], ranks[r + 1]);
            }
            check(predict(pattern::point_to_point), 0, ref.pairs(two, n), 1);
            const auto stages = static_cast<double>(ranks.size());
            check(predict(pattern::pipeline), 0, ref.pairs(chain, n), 2 * (5 + stages - 1));
        }
    }
    for (const auto& [p, times] : seen) CHECK_MESSAGE(times > 100, placement::name_of(p));
}

TEST_CASE("600 random layouts: TP, EP, PP and DP of all groups at once") {
    std::mt19937_64 random(12);
    int full = 0;
    for (int round = 0; round < 120; ++round) {
        const world w = random_world(random, round);
        const reference ref(w.cluster, w.placer);
        for (int i = 0; i < 5; ++i) {
            placement::request job;
            job.talks = pattern::composite;
            auto& plan = job.parallel;
            const auto pick = [&] { return std::uint32_t{1} << random() % 3; };
            plan.tp = pick();
            plan.pp = pick();
            plan.ep = std::uint32_t{1} << random() % 2;
            const std::uint32_t dp = plan.ep * pick();
            plan.layers = 8;
            plan.microbatches = 4;
            plan.tp_bytes = 3e6;
            plan.ep_bytes = 5e5;
            plan.pp_bytes = 7e5;
            plan.dp_bytes = 2e8;
            plan.compute_us = 30000;
            plan.overlap = 0.25;
            const std::size_t p = std::size_t{plan.tp} * plan.pp * dp;
            auto ranks = random_ranks(random, w.cluster, p, true);
            if (ranks.size() != p) continue;
            if (random() % 2 == 0) std::shuffle(ranks.begin(), ranks.end(), random);
            const auto got = w.placer.predict_ranks(job, ranks);
            const double slots = 4 + plan.pp - 1.0;
            std::size_t t = 0;
            INFO("round " << round << ": tp " << plan.tp << " ep " << plan.ep << " pp " << plan.pp << " dp " << dp);
            REQUIRE(got.terms[t].what == placement::term_kind::compute);
            REQUIRE(got.terms[t++].shown_us() == doctest::Approx(30000 * slots / 4));
            const double often = 4.0 * 8 / plan.pp * slots;
            if (plan.tp > 1) check(got, t++, ref.allreduce(along(ranks, plan.tp, 1), 3e6), often);
            if (plan.ep > 1) check(got, t++, ref.all_to_all(along(ranks, plan.ep, plan.tp), 5e5), often);
            if (plan.pp > 1) {
                std::vector<std::pair<rank_place, rank_place>> edges;
                for (const auto& g : along(ranks, plan.pp, std::size_t{plan.tp} * dp))
                    for (std::size_t s = 0; s + 1 < g.size(); ++s) edges.emplace_back(g[s], g[s + 1]);
                check(got, t++, ref.pairs(edges, 7e5), 2 * slots);
            }
            if (dp > 1) {
                const result whole = ref.allreduce(along(ranks, dp, plan.tp), 2e8);
                check(got, t, whole, 1);
                REQUIRE(got.terms[t++].hidden_us == doctest::Approx(std::min(whole.us(), 0.25 * 2 / 3 * 30000)));
            }
            REQUIRE(got.term_count == t);
            full += t == 5 ? 1 : 0;
        }
    }
    CHECK(full > 30);
}

TEST_CASE("400 halo exchanges on grids, open and periodic") {
    std::mt19937_64 random(13);
    for (int round = 0; round < 100; ++round) {
        const world w = random_world(random, round);
        const reference ref(w.cluster, w.placer);
        for (int i = 0; i < 4; ++i) {
            placement::request job;
            job.talks = pattern::halo_exchange;
            job.halo.extent = {static_cast<std::uint32_t>(1 + random() % 4),
                               static_cast<std::uint32_t>(1 + random() % 3),
                               static_cast<std::uint32_t>(1 + random() % 2)};
            job.halo.periodic = random() % 2 == 0;
            job.message_bytes = 1e6;
            const auto& [x, y, z] = job.halo.extent;
            const auto ranks = random_ranks(random, w.cluster, std::size_t{x} * y * z, true);
            if (ranks.size() != std::size_t{x} * y * z) continue;
            traffic t(w.cluster, w.placer);
            std::map<std::pair<std::size_t, std::size_t>, double> bytes;
            for (int a = 0; a < static_cast<int>(ranks.size()); ++a) {
                const int at[3] = {a % static_cast<int>(x), a / static_cast<int>(x) % static_cast<int>(y),
                                   a / static_cast<int>(x * y)};
                const int n[3] = {static_cast<int>(x), static_cast<int>(y), static_cast<int>(z)};
                const int stride[3] = {1, n[0], n[0] * n[1]};
                for (int d = 0; d < 3; ++d)
                    for (const int step : {-1, 1}) {
                        int to = at[d] + step;
                        if (to < 0 || to >= n[d]) {
                            if (!job.halo.periodic || n[d] == 1) continue;
                            to = (to + n[d]) % n[d];
                        }
                        bytes[{static_cast<std::size_t>(a), static_cast<std::size_t>(a + (to - at[d]) * stride[d])}] +=
                            1e6;
                    }
            }
            for (const auto& [who, b] : bytes) t.move(ranks[who.first], ranks[who.second], b);
            const auto got = w.placer.predict_ranks(job, ranks);
            REQUIRE(got.step_us == doctest::Approx(t.alpha_us() + t.transfer_us()).epsilon(1e-9));
        }
    }
}

TEST_CASE("400 random traffic matrices: the busiest link or the rank with the most to send") {
    std::mt19937_64 random(14);
    int by_rank = 0, by_link = 0;
    for (int round = 0; round < 100; ++round) {
        const world w = random_world(random, round);
        for (int i = 0; i < 4; ++i) {
            const auto ranks = random_ranks(random, w.cluster, 2 + random() % 20, true);
            if (ranks.size() < 2) continue;
            const auto p = static_cast<std::uint32_t>(ranks.size());
            std::vector<placement::traffic_entry> entries;
            std::map<std::pair<std::uint32_t, std::uint32_t>, double> bytes;
            for (std::uint32_t n = 0; n < 3 * p; ++n) {
                const auto a = static_cast<std::uint32_t>(random() % p), b = static_cast<std::uint32_t>(random() % p);
                bytes[{a, b}] = std::pow(10.0, static_cast<double>(random() % 7));
            }
            for (const auto& [who, b] : bytes) entries.push_back({who.first, who.second, b});
            const auto matrix = placement::traffic_matrix::from_entries(p, entries);
            REQUIRE(matrix);
            traffic t(w.cluster, w.placer);
            double longest = 0;
            for (std::uint32_t r = 0; r < p; ++r) {
                double sum = 0;
                for (const auto& [who, b] : bytes) {
                    if (who.first != r || who.second == r) continue;
                    traffic alone(w.cluster, w.placer);
                    alone.move(ranks[r], ranks[who.second], b);
                    sum += alone.alpha_us() + alone.own_us();
                    t.move(ranks[r], ranks[who.second], b);
                }
                longest = std::max(longest, sum);
            }
            placement::request job;
            job.talks = pattern::traffic_matrix;
            job.traffic = &*matrix;
            const auto got = w.placer.predict_ranks(job, ranks);
            REQUIRE(got.step_us == doctest::Approx(std::max(longest, t.transfer_us())).epsilon(1e-9));
            ++(longest > t.transfer_us() ? by_rank : by_link);
            job.traffic = nullptr;
            REQUIRE(w.placer.predict_ranks(job, ranks).step_us == std::numeric_limits<double>::infinity());
        }
    }
    CHECK(by_rank > 20);
    CHECK(by_link > 5);
}

TEST_CASE("150 random boards: GPUs for an all-to-all are the best of every free set and size") {
    std::mt19937_64 random(15);
    int differs_from_ring = 0;
    for (int round = 0; round < 150; ++round) {
        const std::size_t n = 3 + random() % 5;
        auto board = boards::board("board", n, [&](std::size_t, std::size_t) {
            return boards::cost(1 + static_cast<double>(random() % 4), 20 * static_cast<double>(1 + random() % 10));
        });
        if (round % 3 == 0) {  // links straight from GPU to GPU, in unequal numbers
            board.gpu_links = topo::matrix<topo::link>(n, n);
            for (std::size_t a = 0; a < n; ++a)
                for (std::size_t b = 0; b < a; ++b) {
                    const auto links = static_cast<std::uint16_t>(random() % 3);
                    if (links > 0)
                        board.gpu_links(a, b) = board.gpu_links(b, a) = {topo::link_class::nvlink, links};
                    else
                        board.gpu_links(a, b) = board.gpu_links(b, a) = {topo::link_class::sys, 0};
                }
        }
        const auto c = boards::cluster({board}, {{1}, {}, 0, true});
        placement::placer_options options;
        options.subsets.objective = placement::objective_of(pattern::all_to_all);
        options.subsets.message_bytes = std::pow(10.0, 3 + static_cast<double>(random() % 5));
        options.subsets.equal_within = 0;
        const auto p = placement::placer::make(c, options);
        options.subsets.objective = placement::subset_objective::ring;
        const auto by_ring = placement::placer::make(c, options);
        REQUIRE(p);
        REQUIRE(by_ring);
        placement::request job;
        job.talks = pattern::all_to_all;
        job.message_bytes = options.subsets.message_bytes;
        const auto time = [&](gpu_mask gpus) {
            std::vector<rank_place> ranks;
            for (gpu_mask m = gpus; m != 0; m &= m - 1)
                ranks.push_back({node_id(0), static_cast<std::uint8_t>(std::countr_zero(m))});
            return p->predict_ranks(job, ranks).step_us;
        };
        for (gpu_mask free = 1; free < gpu_mask{1} << n; ++free)
            for (unsigned k = 2; k <= topo::count(free); ++k) {
                double least = without_limit;
                for (gpu_mask s = free; s != 0; s = (s - 1) & free)
                    if (topo::count(s) == k) least = std::min(least, time(s));
                const auto got = p->table(topo::class_id(0)).best(free, k);
                REQUIRE(got);
                REQUIRE(time(got->gpus) == doctest::Approx(least).epsilon(1e-9));
                differs_from_ring += time(by_ring->table(topo::class_id(0)).best(free, k)->gpus) > least * 1.01 ? 1 : 0;
            }
    }
    CHECK(differs_from_ring > 100);
}
