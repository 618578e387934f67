// SPDX-License-Identifier: Apache-2.0

#include "event/futex_loop.hpp"

#include "event/seat.hpp"
#include "sys/clock.hpp"
#include "sys/platform_interposed.hpp"

#include <array>
#include <gtest/gtest.h>
#include <thread>

namespace weft::impl {
namespace {

struct FutexLoopTest : ::testing::Test {
  void SetUp() override { doors.reset(); }
  void TearDown() override { doors.reset(); }

  std::array<runnable, 2> room;
  ready_batch ready{room};
  basic_futex_loop<interposed_platform> loop;
  int plain_seen = 0;
};

TEST_F(FutexLoopTest, AnInterruptThatComesFirstIsNotLost) {
  loop.interrupt();
  EXPECT_EQ(loop.wait(never, ready), loop_end::interrupted);
  EXPECT_TRUE(ready.empty());
  EXPECT_EQ(doors.calls(door::sleep), 0U);
  EXPECT_EQ(doors.calls(door::wake), 0U) << "nobody slept";
}

TEST_F(FutexLoopTest, OneInterruptIsKeptNotMore) {
  loop.interrupt();
  loop.interrupt();
  EXPECT_EQ(loop.wait(never, ready), loop_end::interrupted);
  EXPECT_EQ(loop.wait(time_point(), ready), loop_end::deadline);
}

TEST_F(FutexLoopTest, ADeadlineEndsTheWait) {
  const time_point deadline = system_clock().now() + std::chrono::milliseconds(5);
  EXPECT_EQ(loop.wait(deadline, ready), loop_end::deadline);
  EXPECT_GE(system_clock().now(), deadline);
}

TEST_F(FutexLoopTest, AnInterruptEndsAWaitThatIsGoingOn) {
  plain_seen = 0;
  std::thread waiter([&] {
    EXPECT_EQ(loop.wait(never, ready), loop_end::interrupted);
    EXPECT_EQ(plain_seen, 42) << "what came before the interrupt is visible";
  });
  while (doors.calls(door::sleep) == 0) std::this_thread::yield();
  plain_seen = 42;
  loop.interrupt();
  waiter.join();
  EXPECT_EQ(doors.calls(door::wake), 1U);
}

TEST_F(FutexLoopTest, ASleepThatEndsForNothingGoesOn) {
  doors.fail_nth(door::sleep, 1);
  EXPECT_EQ(loop.wait(system_clock().now() + std::chrono::milliseconds(1), ready), loop_end::deadline);
  EXPECT_EQ(doors.calls(door::sleep), 2U);
}

TEST_F(FutexLoopTest, HasNothingToHandOut) {
  loop.poll(ready);
  EXPECT_TRUE(ready.empty());
}

TEST(ReadyBatch, HoldsWhatItHasRoomFor) {
  std::array<runnable, 2> room;
  alignas(8) char things[16];
  ready_batch ready(room);
  EXPECT_TRUE(ready.empty());
  ready.push(runnable(runnable::kind::fiber, &things[0]));
  ready.push(runnable(runnable::kind::task, &things[8]));
  EXPECT_TRUE(ready.full());
  EXPECT_EQ(ready.size(), 2U);
  EXPECT_EQ(ready.begin()->address(), &things[0]);
  EXPECT_EQ((ready.end() - 1)->what(), runnable::kind::task);
}

TEST(ReadyBatchDeathTest, ABackendThatHandsOutTooMuchIsNamed) {
  ready_batch none{std::span<runnable>()};
  EXPECT_DEATH(none.push(runnable()), "a backend hands out more than it was given room for");
}

// An event loop that has something ready whenever it is polled.
struct full_loop final : event_loop {
  loop_end wait(time_point /*deadline*/, ready_batch& ready) noexcept override {
    poll(ready);
    return loop_end::ready;
  }
  void poll(ready_batch& ready) noexcept override { ready.push(runnable(runnable::kind::completion, this)); }
  void interrupt() noexcept override {}
};

TEST(EventSeat, IsForOneAtATime) {
  full_loop loop;
  event_seat seat(loop);
  std::array<runnable, 2> room;
  ready_batch ready(room);
  ASSERT_TRUE(seat.try_sit());
  EXPECT_FALSE(seat.try_sit());
  EXPECT_FALSE(seat.try_poll(ready)) << "whoever sits sees to it";
  EXPECT_TRUE(ready.empty());
  seat.leave();
  EXPECT_TRUE(seat.try_poll(ready));
  EXPECT_EQ(ready.size(), 1U);
  EXPECT_TRUE(seat.try_sit()) << "a poll gets up again";
}

}  // namespace
}  // namespace weft::impl
