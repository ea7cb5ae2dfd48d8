// SPDX-License-Identifier: GPL-2.0-or-later
// Counts every operator new of the program; in a file of its own so that no compiler sees through it.
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <new>

#include "tests/plugin/glue_fixture.hpp"

namespace {
std::atomic<std::uint64_t> allocations{0};

void* counted(std::size_t size) noexcept {
    ++allocations;
    return std::malloc(size == 0 ? 1 : size);
}

void* counted_or_throw(std::size_t size) {
    if (void* p = counted(size)) return p;
    throw std::bad_alloc();
}
}  // namespace

std::uint64_t glue_test::allocations_so_far() noexcept { return allocations; }

// Every form that a standard library may call: a form left out would come from the sanitizer and be freed by ours.
void* operator new(std::size_t size) { return counted_or_throw(size); }
void* operator new[](std::size_t size) { return counted_or_throw(size); }
void* operator new(std::size_t size, const std::nothrow_t&) noexcept { return counted(size); }
void* operator new[](std::size_t size, const std::nothrow_t&) noexcept { return counted(size); }
void operator delete[](void* p) noexcept { std::free(p); }
void operator delete[](void* p, std::size_t) noexcept { std::free(p); }
void operator delete(void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }
