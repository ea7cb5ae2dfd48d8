// SPDX-License-Identifier: GPL-2.0-or-later
// Counts every operator new of the program; in a file of its own so that no compiler sees through it.
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <new>

#include "tests/plugin/glue_fixture.hpp"

namespace {
std::atomic<std::uint64_t> allocations{0};
}

std::uint64_t glue_test::allocations_so_far() noexcept { return allocations; }

void* operator new(std::size_t size) {
    ++allocations;
    if (void* p = std::malloc(size == 0 ? 1 : size)) return p;
    throw std::bad_alloc();
}
void operator delete(void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }
