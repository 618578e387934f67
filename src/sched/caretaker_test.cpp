// SPDX-License-Identifier: Apache-2.0

#include "sched/caretaker.hpp"

#include "support/stack_user.hpp"

#include <weft/runtime.hpp>
#include <weft/suspend.hpp>

#include <atomic>
#include <chrono>
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

TEST(CaretakerInARuntime, TheStackOfAFiberThatWaitsForLongIsTrimmed) {
  runtime one({.workers = 2});
  std::atomic<const char*> frame{nullptr};
  resumer by;
  auto waiting = one.spawn([&] {
    (void)testing::use_stack(64 * 1024);
    const char* const here = testing::stack_here();
    suspend("until the test is over", [&](resumer mine) {
      by = mine;
      frame = here;
    });
    return 1;
  });
  while (frame == nullptr) std::this_thread::yield();
  EXPECT_EQ(testing::wait_until_trimmed(frame), nullptr);
  EXPECT_TRUE(by.resume());
  EXPECT_EQ(waiting.join(), 1);
}

}  // namespace
}  // namespace weft::impl
