// SPDX-License-Identifier: Apache-2.0
// A dense rows × columns table in one block of memory, row by row.
#pragma once

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

namespace topo {

template <class T>
class matrix {
public:
    matrix() = default;
    matrix(std::size_t rows, std::size_t columns, T fill = T{})
        : rows_(rows), columns_(columns), cells_(rows * columns, std::move(fill)) {}

    [[nodiscard]] std::size_t rows() const noexcept { return rows_; }
    [[nodiscard]] std::size_t columns() const noexcept { return columns_; }
    [[nodiscard]] bool empty() const noexcept { return cells_.empty(); }

    // No bounds check: row < rows(), column < columns().
    [[nodiscard]] T& operator()(std::size_t row, std::size_t column) noexcept {
        return cells_[row * columns_ + column];
    }
    [[nodiscard]] const T& operator()(std::size_t row, std::size_t column) const noexcept {
        return cells_[row * columns_ + column];
    }
    [[nodiscard]] std::span<const T> cells() const noexcept { return cells_; }
    [[nodiscard]] std::span<T> cells() noexcept { return cells_; }
    friend bool operator==(const matrix&, const matrix&) = default;

private:
    std::size_t rows_ = 0;
    std::size_t columns_ = 0;
    std::vector<T> cells_;
};

}  // namespace topo
