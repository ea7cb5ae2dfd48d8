// SPDX-License-Identifier: Apache-2.0
#include "kube_best_effort.hpp"

#include <algorithm>

namespace best_effort {
namespace {

using clock = std::chrono::steady_clock;

class search {
public:
    search(const scores& pair, std::vector<unsigned> offered, unsigned size, clock::time_point until)
        : pair_(pair), left_(std::move(offered)), size_(size), until_(until) {}

    bool run() {
        extend(0);
        return !late_;
    }
    [[nodiscard]] const std::vector<unsigned>& best() const { return best_set_; }

private:
    // The set of the first GPU that has none yet: all ways to fill it, the rest of the partition below each.
    void extend(int total) {
        if (late_) return;
        if (left_.empty()) {
            if ((++seen_ & 0xfff) == 0 && clock::now() > until_) late_ = true;
            if (total > best_total_) {
                best_total_ = total;
                int most = -1;
                for (const auto& set : sets_) {
                    const int score = score_of(set);
                    if (set.size() == size_ && score > most) {
                        most = score;
                        best_set_ = set;
                    }
                }
            }
            return;
        }
        sets_.push_back({left_.front()});
        left_.erase(left_.begin());
        fill(0, total);
        left_.insert(left_.begin(), sets_.back().front());
        sets_.pop_back();
    }

    void fill(std::size_t from, int total) {
        auto& set = sets_.back();
        if (set.size() == size_ || left_.empty()) {
            extend(total + score_of(set));
            return;
        }
        for (std::size_t i = from; i < left_.size() && !late_; ++i) {
            const unsigned gpu = left_[i];
            sets_.back().push_back(gpu);
            left_.erase(left_.begin() + static_cast<std::ptrdiff_t>(i));
            fill(i, total);
            left_.insert(left_.begin() + static_cast<std::ptrdiff_t>(i), gpu);
            sets_.back().pop_back();
        }
    }

    [[nodiscard]] int score_of(const std::vector<unsigned>& set) const {
        int sum = 0;
        for (std::size_t a = 0; a < set.size(); ++a)
            for (std::size_t b = a + 1; b < set.size(); ++b) sum += pair_(set[a], set[b]);
        return sum;
    }

    const scores& pair_;
    std::vector<unsigned> left_;
    std::size_t size_;
    clock::time_point until_;
    std::vector<std::vector<unsigned>> sets_;
    std::vector<unsigned> best_set_;
    int best_total_ = -1;
    std::uint64_t seen_ = 0;
    bool late_ = false;
};

}  // namespace

std::optional<std::vector<unsigned>> choose(const scores& pair, const std::vector<unsigned>& offered, unsigned size,
                                            std::chrono::milliseconds most) {
    if (size == 1) return std::vector{offered.front()};
    search all(pair, offered, size, clock::now() + most);
    if (!all.run()) return {};
    return all.best();
}

}  // namespace best_effort
