// SPDX-License-Identifier: Apache-2.0
//
// A runtime that is made where there is no memory: whichever allocation fails, that is an error and nothing else.
//
// A program of its own, since it replaces operator new.

#include <weft/error.hpp>
#include <weft/runtime.hpp>

#include <cstddef>
#include <cstdlib>
#include <gtest/gtest.h>
#include <limits>
#include <new>
#include <system_error>

namespace {

constexpr long none = std::numeric_limits<long>::max();
thread_local long allowed = none;  // allocations of this thread, before one that fails

// Not inlined, both: or a compiler sees new meet free, and complains.
[[gnu::noinline]] void* allocate(std::size_t bytes, std::size_t alignment) {
  if (allowed != none && allowed-- == 0) {
    allowed = none;
    throw std::bad_alloc();
  }
  const std::size_t rounded = (bytes + alignment - 1) / alignment * alignment;
  void* const made = std::aligned_alloc(alignment, rounded == 0 ? alignment : rounded);
  if (made == nullptr) throw std::bad_alloc();
  return made;
}
[[gnu::noinline]] void give_back(void* at) noexcept { std::free(at); }

}  // namespace

void* operator new(std::size_t bytes) { return allocate(bytes, alignof(std::max_align_t)); }
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return allocate(bytes, static_cast<std::size_t>(alignment));
}
void* operator new(std::size_t bytes, const std::nothrow_t& /*none*/) noexcept {
  try {
    return allocate(bytes, alignof(std::max_align_t));
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}
void* operator new(std::size_t bytes, std::align_val_t alignment, const std::nothrow_t& /*none*/) noexcept {
  try {
    return allocate(bytes, static_cast<std::size_t>(alignment));
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}
void operator delete(void* at) noexcept { give_back(at); }
void operator delete(void* at, std::size_t /*bytes*/) noexcept { give_back(at); }
void operator delete(void* at, std::align_val_t /*alignment*/) noexcept { give_back(at); }
void operator delete(void* at, std::size_t /*bytes*/, std::align_val_t /*alignment*/) noexcept {
  give_back(at);
}

namespace weft {
namespace {

TEST(NoMemory, ARuntimeIsMadeOrAnErrorSaysWhyNot) {
  (void)run([] { return 1; }, {.workers = 2});  // what is made once per process is there
  bool is_made = false;
  long refused = 0;
  for (long n = 0; !is_made; ++n) {
    ASSERT_LT(n, 1'000) << "it needs no end of memory";
    allowed = n;
    try {
      const runtime made({.workers = 2});
      allowed = none;
      is_made = true;
    } catch (const std::system_error& error) {
      EXPECT_EQ(error.code(), std::errc::not_enough_memory) << error.what();
      ++refused;
    }
  }
  EXPECT_GE(refused, 5) << "it allocates less than was thought, and this test shows nothing";
}

}  // namespace
}  // namespace weft
