// SPDX-License-Identifier: Apache-2.0
//
// A runtime that is made and used where there is no memory: whichever allocation fails, that is an error and nothing else.
//
// A program of its own, since it replaces operator new.

#include <weft/blocking.hpp>
#include <weft/error.hpp>
#include <weft/execution_context.hpp>
#include <weft/nursery.hpp>
#include <weft/runtime.hpp>
#include <weft/statistics.hpp>
#include <weft/this_fiber.hpp>

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <gtest/gtest.h>
#include <limits>
#include <new>
#include <system_error>
#include <utility>

namespace {

constexpr long none = std::numeric_limits<long>::max();
thread_local long allowed = none;        // allocations of this thread, before one that fails
std::atomic<long> allowed_in_all{none};  // the same of all threads
std::atomic<long> lives{0};              // what was allocated and not given back

// Not inlined, both: or a compiler sees new meet free, and complains.
[[gnu::noinline]] void* allocate(std::size_t bytes, std::size_t alignment) {
  if (allowed != none && allowed-- == 0) {
    allowed = none;
    throw std::bad_alloc();
  }
  if (allowed_in_all.load() != none && allowed_in_all.fetch_sub(1) == 0) throw std::bad_alloc();
  const std::size_t rounded = (bytes + alignment - 1) / alignment * alignment;
  void* const made = std::aligned_alloc(alignment, rounded == 0 ? alignment : rounded);
  if (made == nullptr) throw std::bad_alloc();
  lives.fetch_add(1);
  return made;
}
[[gnu::noinline]] void give_back(void* at) noexcept {
  if (at != nullptr) lives.fetch_sub(1);
  std::free(at);
}

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
  bool was_enough = false;
  long refused = 0;
  for (long n = 0; !was_enough; ++n) {
    ASSERT_LT(n, 1'000) << "it needs no end of memory";
    allowed = n;
    try {
      const runtime made({.workers = 2});
      was_enough = std::exchange(allowed, none) != none;  // otherwise it did without something
    } catch (const std::system_error& error) {
      EXPECT_EQ(error.code(), std::errc::not_enough_memory) << error.what();
      ++refused;
    }
  }
  EXPECT_GE(refused, 5) << "it allocates less than was thought, and this test shows nothing";
}

// Contexts that are made, resized and used; any thread may be the one that finds no memory.
void live() {
  runtime one({.workers = {1, 2}});
  parallel_context other(one, "other", {.workers = {1, 3}});
  concurrent_context turns(one, "turns");
  other.spawn([] { this_fiber::yield(); }).join();
  other.resize(3);
  other.spawn({.name = "somebody", .stack_bytes = 1U << 20U}, [] { this_fiber::yield(); }).join();
  other.resize(1);
  turns
      .spawn([] {
        blocking([] {});
        nursery([](nursery& n) {
          for (int i = 0; i < 4; ++i) n.spawn({.name = "child"}, [] { this_fiber::yield(); });
        });
      })
      .join();
  isolated_context only(one, "only", [] {});
  only.join();
  (void)one.statistics();
}

TEST(NoMemory, ContextsWorkOrAnErrorSaysWhyNot) {
  for (int i = 0; i < 3; ++i) live();  // what is made once per process, or once in a while, is there
  const long before = lives.load();
  long errors = 0;
  bool was_enough = false;
  long n = 0;
  for (; !was_enough; ++n) {
    ASSERT_LT(n, 5'000) << "it needs no end of memory";
    allowed_in_all.store(n);
    try {
      live();
    } catch (const std::system_error& error) {
      EXPECT_EQ(error.code(), std::errc::not_enough_memory) << error.what();
      ++errors;
    } catch (const std::bad_alloc&) {
      ++errors;
    }
    was_enough = allowed_in_all.exchange(none) > 0;
  }
  live();
  EXPECT_GE(errors, 10) << "it allocates less than was thought, and this test shows nothing";
  EXPECT_LE(lives.load(), before + 8) << "something was left behind";
}

}  // namespace
}  // namespace weft
