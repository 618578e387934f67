// SPDX-License-Identifier: Apache-2.0

#include "event/timer_loop.hpp"

#include <array>
#include <atomic>
#include <chrono>
#include <gtest/gtest.h>
#include <thread>

namespace weft::impl {
namespace {

/// A timer that becomes a runnable when it is due; its address stands for a task.
struct alignas(64) test_timer : timer_node {
  bool is_dead = false;  // its wait has ended otherwise
};
runnable fire(timer_node& due) noexcept {
  auto& timer = static_cast<test_timer&>(due);
  return timer.is_dead ? runnable() : runnable(runnable::kind::fiber, &timer);
}

constexpr time_point at(std::int64_t ns) { return time_point(duration(ns)); }

class TimersTest : public ::testing::Test {
 protected:
  std::size_t expire(std::int64_t now, std::size_t most = 8) {
    ready_batch ready(std::span<runnable>(room).first(most));
    all.expire(at(now), ready);
    return ready.size();
  }

  timers all{3, at(0), &fire};
  std::array<runnable, 64> room;
};

TEST_F(TimersTest, TheEarliestOfAllShards) {
  test_timer a;
  test_timer b;
  EXPECT_EQ(all.earliest(), never);
  all.insert(0, a, at(2'000'000));
  all.insert(2, b, at(1'000'000));
  EXPECT_EQ(all.earliest(), at(1'000'000));
  EXPECT_EQ(all.earliest_of(0), at(2'000'000));
  EXPECT_EQ(all.earliest_of(1), never);
  EXPECT_EQ(expire(999'999), 0U);
  EXPECT_EQ(expire(1'000'000), 1U);
  EXPECT_EQ(all.earliest(), at(2'000'000));
  EXPECT_EQ(expire(2'000'000), 1U);
  EXPECT_EQ(all.earliest(), never);
}

TEST_F(TimersTest, WhatHasNoRoomComesNextTime) {
  std::array<test_timer, 40> many;
  for (auto& each : many) all.insert(1, each, at(100));
  std::size_t fired = 0;
  while (const std::size_t some = expire(100)) {
    EXPECT_LE(some, 8U);
    EXPECT_TRUE(fired + some == many.size() || all.earliest() <= at(100)) << "TM1";
    fired += some;
  }
  EXPECT_EQ(fired, many.size());
}

TEST_F(TimersTest, OneWhoseWaitIsOverTakesNoRoom) {
  std::array<test_timer, 40> many;
  for (auto& each : many) {
    each.is_dead = true;
    all.insert(1, each, at(100));
  }
  test_timer last;
  all.insert(1, last, at(101));
  EXPECT_EQ(expire(101), 1U);
}

TEST_F(TimersTest, OneThatIsRemovedDoesNotFire) {
  test_timer a;
  test_timer b;
  all.insert(0, a, at(1'000));
  all.insert(0, b, at(2'000));
  all.remove(0, a);
  EXPECT_EQ(expire(1'500), 0U);
  EXPECT_EQ(expire(2'000), 1U);
  all.remove(0, b);  // has fired: nothing happens
}

// -- The loop ----------------------------------------------------------------------------------------------------------------

class TimerLoopTest : public ::testing::Test {
 protected:
  loop_end wait(time_point deadline = never) {
    ready_batch ready(room);
    const loop_end end = loop.wait(deadline, ready);
    got = ready.size();
    return end;
  }
  static time_point in(duration wait) { return system_clock().now() + wait; }

  timer_loop loop{2, &fire};
  std::array<runnable, 8> room;
  std::size_t got = 0;
};

TEST_F(TimerLoopTest, AWaitEndsWithTheNextTimerAndNotBefore) {
  test_timer timer;
  const time_point deadline = in(std::chrono::milliseconds(3));
  loop.set(0, timer, deadline);
  loop_end end = wait();
  while (end == loop_end::interrupted) end = wait();
  EXPECT_EQ(end, loop_end::ready);
  EXPECT_EQ(got, 1U);
  EXPECT_GE(system_clock().now(), deadline);
}

TEST_F(TimerLoopTest, ADeadlineOfItsOwn) {
  EXPECT_EQ(wait(in(std::chrono::milliseconds(1))), loop_end::deadline);
  EXPECT_EQ(wait(time_point::min()), loop_end::deadline);
}

TEST_F(TimerLoopTest, AnInterruptIsKept) {
  loop.interrupt();
  EXPECT_EQ(wait(), loop_end::interrupted);
}

TEST_F(TimerLoopTest, AnEarlierTimerInterruptsASleeper) {
  test_timer late;
  test_timer early;
  loop.set(0, late, in(std::chrono::hours(1)));
  std::thread setter([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    loop.set(1, early, in(std::chrono::milliseconds(2)));
  });
  loop_end end = wait();
  while (end == loop_end::interrupted) end = wait();
  setter.join();
  EXPECT_EQ(end, loop_end::ready);
  EXPECT_EQ(room[0].address(), &early);
  loop.drop(0, late);
}

TEST_F(TimerLoopTest, PollTakesWhatIsDueAndNeverSleeps) {
  test_timer timer;
  loop.set(1, timer, time_point::min());
  ready_batch ready(room);
  loop.poll_of(0, ready);
  EXPECT_TRUE(ready.empty());
  loop.poll(ready);
  EXPECT_EQ(ready.size(), 1U);
}

}  // namespace
}  // namespace weft::impl
