// SPDX-License-Identifier: Apache-2.0

#include "sched/caretaker.hpp"

#include "stack/usage.hpp"
#include "support/residency.hpp"

#include <weft/runtime.hpp>
#include <weft/suspend.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <gtest/gtest.h>
#include <thread>

namespace weft::impl {
namespace {

constexpr time_point start{std::chrono::hours(1)};

TEST(Caretaker, ComesTwiceAfterSomethingHasRunAndThenNotAgain) {
  caretaker c;
  EXPECT_EQ(c.begin(false, start), never) << "nothing has run";
  const time_point first = c.begin(true, start);
  ASSERT_GT(first, start);
  EXPECT_EQ(c.end(true), chore::mark);
  const time_point second = c.begin(false, first);
  EXPECT_GE(second, first + std::chrono::seconds(1));
  EXPECT_EQ(c.end(true), chore::trim);
  EXPECT_EQ(c.begin(false, second), never);
}

TEST(Caretaker, OneIsOnDuty) {
  caretaker c;
  EXPECT_NE(c.begin(true, start), never);
  EXPECT_EQ(c.begin(true, start), never) << "CT1";
  EXPECT_EQ(c.end(false), chore::nothing) << "it was woken for something else";
  EXPECT_NE(c.begin(false, start), never) << "and the next one takes over";
}

TEST(Caretaker, BeginsAgainWhenSomethingRunsInBetween) {
  caretaker c;
  (void)c.begin(true, start);
  EXPECT_EQ(c.end(true), chore::mark);
  (void)c.begin(true, start);
  EXPECT_EQ(c.end(true), chore::mark);
}

// -- In a runtime ------------------------------------------------------------------------------------------------------------

/// Uses much of its stack.
[[gnu::noinline]] void touch_stack() {
  constexpr std::size_t much = 64 * 1024;
  char bytes[much];
  std::memset(bytes, 1, much);
  asm volatile("" : : "r"(bytes) : "memory");
}

TEST(CaretakerInARuntime, TheStackOfAFiberThatWaitsForLongIsTrimmed) {
  runtime one({.workers = 2});
  std::atomic<const char*> frame{nullptr};
  resumer by;
  auto waiting = one.spawn([&] {
    touch_stack();
    const char here = 0;
    suspend("until the test is over", [&](resumer mine) {
      by = mine;
      frame = &here;
    });
    return 1;
  });
  while (frame == nullptr) std::this_thread::yield();
  // The pages just below the frame are in use until somebody trims them, which takes a little more than a second; unless
  // other tests keep the machine busy.
  const std::size_t page = system_memory::page_size();
  char* const low =
      const_cast<char*>(frame.load()) - reinterpret_cast<std::uintptr_t>(frame.load()) % page - 8 * page;
  for (int i = 0; i < 600 && testing::lowest_resident(low, 4 * page) != nullptr; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  EXPECT_EQ(testing::lowest_resident(low, 4 * page), nullptr)
      << "the range begins at " << static_cast<const void*>(low);
  EXPECT_TRUE(by.resume());
  EXPECT_EQ(waiting.join(), 1);
}

}  // namespace
}  // namespace weft::impl
