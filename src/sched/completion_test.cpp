// SPDX-License-Identifier: Apache-2.0

#include "sched/completion.hpp"

#include "support/broken_waits.hpp"
#include "support/stepped_platform.hpp"

#include <gtest/gtest.h>
#include <optional>

namespace weft::impl {
namespace {

using testing::for_each_step;
using testing::looks_back;
using testing::stepped_platform;
using testing::steps;

struct waiting_thing {
  int id = 0;
};

using test_completion = basic_completion<real_platform, waiting_thing>;

TEST(Completion, WhoeverComesAfterTheEndNeedNotWait) {
  test_completion child;
  waiting_thing waiter;
  EXPECT_FALSE(child.is_done());
  EXPECT_EQ(child.finish(), nullptr);
  EXPECT_TRUE(child.is_done());
  EXPECT_EQ(child.begin_wait(waiter), wait_duty::none);
}

TEST(Completion, WhoeverWaitsIsHandedToTheFinisher) {
  test_completion child;
  waiting_thing waiter;
  EXPECT_EQ(child.begin_wait(waiter), wait_duty::wait);
  EXPECT_FALSE(child.is_done());
  EXPECT_EQ(child.finish(), &waiter);
  EXPECT_TRUE(child.is_done());
}

// The finisher comes in at each step of the wait: the waiter is told that the child is done, or the finisher of it.
TEST(CompletionSteps, EitherTheWaiterKnowsOrTheFinisherDoes) {
  const int runs = for_each_step([&](int n) {
    basic_completion<stepped_platform, waiting_thing> child;
    waiting_thing waiter;
    waiting_thing* told = nullptr;
    steps::interrupt_at(n, [&] { told = child.finish(); });
    const wait_duty duty = child.begin_wait(waiter);
    if (!steps::end()) told = child.finish();
    EXPECT_EQ(told == &waiter, duty == wait_duty::wait) << "step " << n;
  });
  EXPECT_GE(runs, 1);
}

// Whether the finisher touches a record that its waiter frees as soon as it may, at each step of the end.
template <class Rules>
bool touches_freed_record() {
  bool touched = false;
  (void)for_each_step([&](int n) {
    using completion = basic_completion<stepped_platform, waiting_thing, Rules>;
    std::optional<completion> record(std::in_place);
    steps::interrupt_at(n, [&] {
      if (record->is_done()) record.reset();
    });
    (void)record->finish();
    touched = touched || steps::touched_dead();
  });
  return touched;
}

TEST(CompletionSteps, TheFinishersLastTouchIsItsExchange) {
  EXPECT_FALSE(touches_freed_record<completion_rules>());
  EXPECT_TRUE(touches_freed_record<looks_back>()) << "a finisher that looks back is seen by this test";
}

#ifndef NDEBUG
TEST(CompletionDeathTest, MisuseIsNamed) {
  test_completion child;
  waiting_thing one;
  waiting_thing two;
  (void)child.begin_wait(one);
  EXPECT_DEATH((void)child.begin_wait(two), "two wait for one completion");
  (void)child.finish();
  EXPECT_DEATH((void)child.finish(), "CO1: a child ends twice");
}
#endif

}  // namespace
}  // namespace weft::impl
