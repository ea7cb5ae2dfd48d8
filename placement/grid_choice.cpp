// SPDX-License-Identifier: Apache-2.0
#include "placement/grid_choice.hpp"

#include <algorithm>
#include <bit>

namespace placement {
namespace {

constexpr std::size_t most_cells = std::size_t{1} << 17;   // positions × shapes of one question
constexpr std::size_t most_growth = std::size_t{1} << 15;  // distances looked at to grow sets
constexpr std::uint32_t most_grown = 64;                   // nodes
constexpr std::size_t tiers_of_volume = 8;
// A box of tier t has a volume from wanted × limit[t] on, below wanted × limit[t + 1].
constexpr std::array<double, tiers_of_volume + 1> volume_limits = {1, 1.15, 1.35, 1.6, 2, 2.6, 3.5, 5, 8};

bool has(node_index::words bits, std::uint32_t node) noexcept { return (bits[node / 64] >> (node % 64)) & 1; }

}  // namespace

grid_choice::grid_choice(const fabric_index& net, std::size_t node_count) : net_(&net) {
    if (!on_grid()) return;
    const auto dims = net.dims();
    positions_ = 1;
    stride_.assign(dims.size(), 1);
    for (std::size_t d = dims.size(); d-- > 0; positions_ *= dims[d]) stride_[d] = positions_;
    node_at_.assign(positions_, no_group);
    for (std::uint32_t n = 0; n < node_count; ++n)
        if (net.position(n) != topo::position_id{}.value) node_at_[net.position(n)] = n;
    make_curves(node_count);
    hits_.reserve(node_count);
    keyed_.reserve(node_count);
    near_.reserve(node_count);
    total_.reserve(node_count);
    grown_.reserve(most_grown);
    if (positions_ > most_cells) return;
    sum_.assign(positions_, 0);
    next_.assign(positions_, 0);
    acc_.assign(stride_.front(), 0);
}

void grid_choice::make_curves(std::size_t node_count) {
    const auto dims = net_->dims();
    for (auto& place : place_on_) place.assign(node_count, 0);
    length_[0] = static_cast<std::uint32_t>(positions_);
    std::vector<std::uint32_t> along(positions_, no_group);
    std::vector<std::uint32_t> by_box;
    for (std::uint32_t n = 0; n < node_count; ++n) {
        const std::uint16_t* at = net_->coordinates(n);
        if (at[0] == fabric_index::nowhere) continue;
        std::uint32_t i = 0;
        for (std::size_t d = 0; d < dims.size(); ++d) i = i * dims[d] + (i % 2 != 0 ? dims[d] - 1 - at[d] : at[d]);
        along[i] = n;
        place_on_[0][n] = i;
        by_box.push_back(n);
    }
    for (const auto n : along)
        if (n != no_group) curve_[0].push_back(n);
    std::stable_sort(by_box.begin(), by_box.end(), [this](std::uint32_t a, std::uint32_t b) {
        for (int level = net_->levels(); level-- > 0;)
            if (net_->group_of(a, level) != net_->group_of(b, level))
                return net_->group_of(a, level) < net_->group_of(b, level);
        return false;
    });
    for (std::size_t i = 0; i < by_box.size(); ++i) place_on_[1][by_box[i]] = static_cast<std::uint32_t>(i);
    length_[1] = static_cast<std::uint32_t>(by_box.size());
    curve_[1] = std::move(by_box);
}

grid_plan grid_choice::find(grid_plan::kind how, node_index::words eligible, std::uint32_t wanted) noexcept {
    if (!on_grid() || wanted == 0 || how == grid_plan::kind::none) return {};
    if (how == grid_plan::kind::grown) return find_grown(eligible, wanted);
    if (how != grid_plan::kind::box) return find_arc(how, eligible, wanted);
    if (sum_.empty() || wanted > positions_) return {};
    return net_->form() == topo::fabric_form::hypercube ? find_subcube(eligible, wanted) : find_box(eligible, wanted);
}

grid_plan grid_choice::find_arc(grid_plan::kind how, node_index::words eligible, std::uint32_t wanted) noexcept {
    const std::size_t which = how == grid_plan::kind::snake ? 0 : 1;
    list_hits(which, eligible);
    grid_plan best;
    if (hits_.size() < wanted) return best;
    std::uint32_t least = no_group;
    for (std::uint32_t first = 0; first < hits_.size(); ++first) {
        const std::size_t last = (first + wanted - 1) % hits_.size();
        const std::uint32_t from = place_on_[which][hits_[first]];
        const std::uint32_t to = place_on_[which][hits_[last]];
        const std::uint32_t span = to >= from ? to - from : to + length_[which] - from;
        if (span >= least) continue;
        least = span;
        best.how = how;
        best.start = first;
    }
    return best;
}

void grid_choice::list_hits(std::size_t curve, node_index::words eligible) noexcept {
    hits_.clear();
    for (const auto n : curve_[curve])
        if (has(eligible, n)) hits_.push_back(n);
}

// From hits_[seed] on, always the node nearest to any of the set, or the one nearest to all of them.
void grid_choice::grow(std::uint32_t seed, bool compact, std::uint32_t wanted, std::vector<node_share>& out) noexcept {
    constexpr std::uint32_t taken = no_group;
    near_.assign(hits_.size(), topo::unreachable_level);
    total_.assign(hits_.size(), 0);
    std::uint32_t next = seed;
    for (std::uint32_t n = 0; n < wanted; ++n) {
        const std::uint32_t added = hits_[next];
        out.push_back({node_id(added), 0});
        near_[next] = taken;
        std::pair least(taken, taken);
        for (std::uint32_t i = 0; i < hits_.size(); ++i) {
            if (near_[i] == taken) continue;
            const auto apart = static_cast<std::uint32_t>(net_->separation(added, hits_[i]));
            near_[i] = std::min(near_[i], apart);
            total_[i] += apart;
            const std::pair now = compact ? std::pair(total_[i], near_[i]) : std::pair(near_[i], total_[i]);
            if (now >= least) continue;
            least = now;
            next = i;
        }
    }
}

grid_plan grid_choice::find_grown(node_index::words eligible, std::uint32_t wanted) noexcept {
    if (wanted > most_grown) return {};
    list_hits(1, eligible);
    const std::size_t work = std::size_t{wanted} * (hits_.size() + wanted);
    const std::size_t seeds = std::min(hits_.size(), most_growth / 2 / std::max<std::size_t>(1, work));
    grid_plan best;
    std::uint64_t least = ~std::uint64_t{0};
    for (std::size_t i = 0; i < seeds && hits_.size() >= wanted; ++i)
        for (const bool compact : {false, true}) {
            const auto seed = static_cast<std::uint32_t>(i * hits_.size() / seeds);
            grown_.clear();
            grow(seed, compact, wanted, grown_);
            arrange(grown_);
            const std::uint64_t length = weight(grown_);
            if (length >= least) continue;
            least = length;
            best.how = grid_plan::kind::grown;
            best.start = seed;
            best.side[0] = compact ? 1 : 0;
        }
    return best;
}

// sum_ = 1 where an eligible node stands.
void grid_choice::mark(node_index::words eligible) noexcept {
    for (std::size_t p = 0; p < positions_; ++p)
        sum_[p] = node_at_[p] != no_group && has(eligible, node_at_[p]) ? 1 : 0;
}

// Every position gets the sum of `side` positions from it on along a dimension, round the end.
void grid_choice::add_up(std::size_t dim, std::uint32_t side) noexcept {
    if (side == 1) return;
    const std::size_t rows = net_->dims()[dim], width = stride_[dim];
    for (std::size_t base = 0; base < positions_; base += rows * width) {
        const std::uint32_t* in = sum_.data() + base;
        std::uint32_t* out = next_.data() + base;
        std::fill_n(acc_.begin(), width, 0);
        for (std::size_t r = 0; r < side; ++r)
            for (std::size_t i = 0; i < width; ++i) acc_[i] += in[r * width + i];
        for (std::size_t r = 0; r < rows; ++r) {
            const std::uint32_t* gone = in + r * width;
            const std::uint32_t* come = in + (r + side) % rows * width;
            for (std::size_t i = 0; i < width; ++i) {
                out[r * width + i] = acc_[i];
                acc_[i] += come[i] - gone[i];
            }
        }
    }
    sum_.swap(next_);
}

// The position whose box has the fewest eligible nodes among those with enough, if fewer than `least`.
void grid_choice::tightest(const shape& s, std::uint32_t wanted, std::uint32_t& least, grid_plan& best) const noexcept {
    for (std::uint32_t p = 0; p < positions_; ++p)
        if (sum_[p] >= wanted && sum_[p] < least) {
            least = sum_[p];
            best.how = grid_plan::kind::box;
            best.start = p;
            best.side = s.side;
        }
}

void grid_choice::offer(std::size_t tier, const shape& s) noexcept {
    auto& list = shapes_[tier];
    std::size_t& n = shape_count_[tier];
    std::size_t at = n;
    const auto before = [](const shape& a, const shape& b) {
        return a.diameter != b.diameter ? a.diameter < b.diameter : a.volume < b.volume;
    };
    while (at > 0 && before(s, list[at - 1])) --at;
    if (at == tier_shapes) return;
    n = std::min(n + 1, tier_shapes);
    std::move_backward(list.begin() + static_cast<std::ptrdiff_t>(at),
                       list.begin() + static_cast<std::ptrdiff_t>(n) - 1,
                       list.begin() + static_cast<std::ptrdiff_t>(n));
    list[at] = s;
}

// Every choice of sides but the last, which is the shortest that reaches the volume of a tier.
void grid_choice::list_shapes(std::uint32_t wanted) noexcept {
    const auto dims = net_->dims();
    const std::size_t last = dims.size() - 1;
    shape_count_.fill(0);
    const auto way = [&](std::size_t d, std::uint32_t side) { return side == dims[d] ? side / 2 : side - 1; };
    const auto most = static_cast<std::uint64_t>(wanted * volume_limits.back()) + 1;
    shape s;
    std::fill_n(s.side.begin(), last, std::uint16_t{1});
    for (;;) {
        std::uint64_t volume = 1;
        std::uint32_t diameter = 0;
        for (std::size_t d = 0; d < last; ++d) {
            volume *= s.side[d];
            diameter += way(d, s.side[d]);
        }
        for (std::size_t t = 0; t < tiers && volume < most; ++t) {
            const auto low = static_cast<std::uint64_t>(wanted * volume_limits[t]) + (t > 0 ? 1 : 0);
            const auto end = static_cast<std::uint64_t>(wanted * volume_limits[t + 1]) + 1;
            const std::uint64_t side = (low + volume - 1) / volume;
            if (side > dims[last] || side * volume >= end) continue;
            s.side[last] = static_cast<std::uint16_t>(side);
            s.volume = side * volume;
            s.diameter = diameter + way(last, static_cast<std::uint32_t>(side));
            offer(t, s);
        }
        std::size_t d = last;
        while (d > 0 && (s.side[d - 1] == dims[d - 1] || volume >= most)) {
            volume /= s.side[--d];
            s.side[d] = 1;
        }
        if (d == 0) return;
        ++s.side[d - 1];
    }
}

grid_plan grid_choice::find_box(node_index::words eligible, std::uint32_t wanted) noexcept {
    list_shapes(wanted);
    std::size_t left = std::max<std::size_t>(1, most_cells / positions_);
    grid_plan best;
    for (std::size_t t = 0; t < tiers; ++t) {
        std::uint32_t diameter = no_group, least = no_group;
        for (std::size_t i = 0; i < shape_count_[t] && left > 0; ++i, --left) {
            const shape& s = shapes_[t][i];
            if (best.found() && s.diameter > diameter) break;
            mark(eligible);
            for (std::size_t d = 0; d < stride_.size(); ++d) add_up(d, s.side[d]);
            tightest(s, wanted, least, best);
            diameter = s.diameter;
        }
        if (best.found() || left == 0) return best;
    }
    return best;
}

// Sub-cubes of 2^k positions, from the smallest k on: every choice of k dimensions where those are few, otherwise one
// dimension after another, always the one along which eligible nodes stand most together.
grid_plan grid_choice::find_subcube(node_index::words eligible, std::uint32_t wanted) noexcept {
    const auto dims = static_cast<unsigned>(net_->dims().size());
    grid_plan best;
    for (unsigned k = static_cast<unsigned>(std::bit_width(wanted - 1)); k <= dims; ++k) {
        std::uint64_t choices = 1;
        for (unsigned i = 0; i < k; ++i) choices = choices * (dims - i) / (i + 1);
        std::uint32_t least = no_group;
        shape s;
        if (choices * (k + 1) * positions_ <= most_cells) {
            const std::uint64_t end = std::uint64_t{1} << dims;
            for (std::uint64_t set = (std::uint64_t{1} << k) - 1; set < end;) {
                mark(eligible);
                for (unsigned d = 0; d < dims; ++d) {
                    s.side[d] = (set >> d) & 1 ? 2 : 1;
                    add_up(d, s.side[d]);
                }
                tightest(s, wanted, least, best);
                if (set == 0) break;
                const std::uint64_t low = set & (~set + 1), up = set + low;  // the next set of k dimensions
                set = up | (((set ^ up) >> 2) / low);
            }
        } else {
            mark(eligible);
            std::fill_n(s.side.begin(), dims, std::uint16_t{1});
            for (unsigned i = 0; i < k; ++i) {
                std::uint64_t most = 0;
                unsigned along = dims;
                for (unsigned d = 0; d < dims; ++d) {
                    if (s.side[d] == 2) continue;
                    std::uint64_t together = 0;
                    for (std::size_t p = 0; p < positions_; ++p)
                        together += std::uint64_t{sum_[p]} * sum_[p ^ stride_[d]];
                    if (along == dims || together > most) {
                        most = together;
                        along = d;
                    }
                }
                s.side[along] = 2;
                add_up(along, 2);
            }
            tightest(s, wanted, least, best);
        }
        if (best.found()) return best;
    }
    return best;
}

void grid_choice::collect(const grid_plan& plan, node_index::words eligible, std::uint32_t wanted,
                          std::vector<node_share>& out) noexcept {
    const std::size_t begin = out.size();
    if (plan.how != grid_plan::kind::box) {
        list_hits(plan.how == grid_plan::kind::snake ? 0 : 1, eligible);
        if (plan.how == grid_plan::kind::grown)
            grow(plan.start, plan.side[0] != 0, wanted, out);
        else
            for (std::uint32_t i = 0; i < wanted; ++i)
                out.push_back({node_id(hits_[(plan.start + i) % hits_.size()]), 0});
        if (plan.how != grid_plan::kind::snake) arrange({out.data() + begin, wanted});
        return;
    }
    const auto dims = net_->dims();
    std::array<std::uint16_t, max_grid_dims> step = {};
    for (std::size_t d = 0; d < dims.size();) {
        std::size_t at = 0, rest = plan.start;
        for (std::size_t i = 0; i < dims.size(); ++i) {
            at += (rest / stride_[i] + step[i]) % dims[i] * stride_[i];
            rest %= stride_[i];
        }
        if (node_at_[at] != no_group && has(eligible, node_at_[at])) out.push_back({node_id(node_at_[at]), 0});
        for (d = 0; d < dims.size() && ++step[d] == plan.side[d]; ++d) step[d] = 0;
    }
    arrange({out.data() + begin, out.size() - begin});
    out.resize(begin + wanted);
}

}  // namespace placement
