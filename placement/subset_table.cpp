// SPDX-License-Identifier: Apache-2.0
#include "placement/subset_table.hpp"

#include <bit>
#include <cmath>
#include <string>
#include <utility>

#include "placement/subset_impl.hpp"

namespace placement {

struct subset_table::state {
    std::size_t gpus = 0;
    std::optional<complete_subsets> complete;
    std::optional<searched_subsets> searched;
};

namespace {

topo::error bad(const topo::node_class& hardware, std::string what, std::string remedy) {
    return {topo::errc::bad_input, "class " + hardware.name, std::move(what), std::move(remedy)};
}

bool usable(double option) noexcept { return std::isfinite(option) && option >= 0; }

// The two matrices of the GPU → GPU layer; 1 × 1 or empty ones where there is no pair.
topo::result<std::pair<topo::matrix<double>, topo::matrix<double>>> costs_of(const topo::node_class& hardware) {
    const std::size_t n = hardware.gpus.size();
    topo::matrix<double> alpha(n, n, 0);
    topo::matrix<double> bw(n, n, 0);
    if (n < 2) return std::pair{std::move(alpha), std::move(bw)};
    const topo::cost_layer* layer = hardware.best_layer(topo::endpoint::gpu, topo::endpoint::gpu);
    if (layer == nullptr)
        return bad(hardware, "no costs between its " + std::to_string(n) + " GPUs",
                   "calibrate a node of this class, or import its topology");
    if (layer->cells.rows() != n || layer->cells.columns() != n)
        return bad(hardware, "the GPU cost table does not have one row and column a GPU", "measure the class again");
    for (std::size_t a = 0; a < n; ++a)
        for (std::size_t b = 0; b < n; ++b) {
            if (a == b) continue;
            const topo::cost& cell = layer->cells(a, b);
            if (!cell.valid())
                return bad(hardware, "no usable cost from " + hardware.gpus[a].name + " to " + hardware.gpus[b].name,
                           "measure the pair again");
            alpha(a, b) = cell.alpha_us;
            bw(a, b) = cell.gb_per_s;
        }
    return std::pair{std::move(alpha), std::move(bw)};
}

}  // namespace

subset_objective objective_of(pattern p) noexcept {
    return p == pattern::all_to_all || p == pattern::expert_parallel ? subset_objective::all_pairs
                                                                     : subset_objective::ring;
}

subset_table::subset_table() = default;
subset_table::~subset_table() = default;
subset_table::subset_table(subset_table&&) noexcept = default;
subset_table& subset_table::operator=(subset_table&&) noexcept = default;

topo::result<subset_table> subset_table::build(const topo::node_class& hardware, const subset_options& options) {
    if (!usable(options.message_bytes) || !usable(options.equal_within) || !usable(options.order_within))
        return bad(hardware, "message size, equal_within and order_within must be finite and not negative",
                   "correct the options");
    if (hardware.gpus.size() > topo::max_gpus_per_node)
        return bad(hardware, std::to_string(hardware.gpus.size()) + " GPUs; a node holds at most 64",
                   "describe each host as a node of its own");
    auto costs = costs_of(hardware);
    if (!costs) return costs.failure();
    auto& [alpha, bw] = *costs;
    auto made = std::make_unique<state>();
    made->gpus = hardware.gpus.size();
    const locality where = locality::of(hardware);
    if (made->gpus > max_table_gpus)
        made->searched.emplace(where, std::move(alpha), std::move(bw), options);
    else if (made->gpus > 0) {
        const ring_table fastest = build_rings(alpha, bw, options.message_bytes);
        const std::vector<double> time = options.objective == subset_objective::all_pairs
                                             ? all_pairs_times(alpha, bw, ports_of(hardware), options.message_bytes)
                                             : ring_times(fastest, options.message_bytes);
        made->complete.emplace(
            where, time, prefer_index_order(fastest, alpha, bw, options.message_bytes, options.order_within), options);
    }
    subset_table out;
    out.state_ = std::move(made);
    return out;
}

bool subset_table::exact() const noexcept { return !state_ || !state_->searched; }
std::size_t subset_table::gpus() const noexcept { return state_ ? state_->gpus : 0; }

std::optional<subset_choice> subset_table::best(gpu_mask free, unsigned wanted, gpu_mask must) const noexcept {
    free &= topo::first_gpus(gpus());
    if (wanted == 0 || wanted > topo::count(free) || (must & ~free) != 0 || topo::count(must) > wanted)
        return std::nullopt;
    if (state_->searched) {
        return state_->searched->score(state_->searched->best(free, wanted, must, 0), free);
    }
    const complete_subsets& c = *state_->complete;
    return c.score(must == 0 ? c.best(free, wanted) : c.scan(free, wanted, must, 0), free);
}

std::optional<subset_choice> subset_table::runner_up(gpu_mask free, unsigned wanted, gpu_mask taken,
                                                     gpu_mask must) const noexcept {
    free &= topo::first_gpus(gpus());
    if (wanted == 0 || wanted > topo::count(free) || (must & ~free) != 0 || topo::count(must) > wanted)
        return std::nullopt;
    const gpu_mask found = state_->searched ? state_->searched->best(free, wanted, must, taken)
                                            : state_->complete->scan(free, wanted, must, taken);
    if (found == 0) return std::nullopt;
    return score(found, free);
}

subset_choice subset_table::score(gpu_mask gpus_taken, gpu_mask free) const noexcept {
    gpus_taken &= topo::first_gpus(gpus());
    free &= topo::first_gpus(gpus());
    if (gpus_taken == 0) return {};
    return state_->searched ? state_->searched->score(gpus_taken, free) : state_->complete->score(gpus_taken, free);
}

ring_cost subset_table::ring(gpu_mask gpus_taken) const noexcept {
    gpus_taken &= topo::first_gpus(gpus());
    if (topo::count(gpus_taken) < 2) return {};
    return state_->searched ? state_->searched->ring(gpus_taken) : state_->complete->ring(gpus_taken);
}

std::size_t subset_table::ring_order(gpu_mask gpus_taken, std::span<std::uint8_t> out) const noexcept {
    gpus_taken &= topo::first_gpus(gpus());
    if (gpus_taken == 0 || out.size() < topo::count(gpus_taken)) return 0;
    return state_->searched ? state_->searched->ring_order(gpus_taken, out)
                            : state_->complete->ring_order(gpus_taken, out);
}

}  // namespace placement
