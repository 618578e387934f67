// SPDX-License-Identifier: Apache-2.0

#include "event/parker.hpp"

#include "event/futex_loop.hpp"
#include "sys/clock.hpp"
#include "sys/platform_interposed.hpp"

#include <array>
#include <gtest/gtest.h>
#include <optional>
#include <thread>

namespace weft::impl {
namespace {

using platform_at_hand = interposed_platform;
using test_parker = basic_parker<platform_at_hand>;
using test_seat = basic_event_seat<platform_at_hand>;

time_point soon() { return system_clock().now() + std::chrono::milliseconds(2); }

// An event loop that counts its waits and hands out what a test put there.
class scripted_loop final : public event_loop {
 public:
  loop_end wait(time_point deadline, ready_batch& ready) noexcept override {
    ++waits;
    if (script == nullptr) return inner_.wait(deadline, ready);
    return script(*this, ready);
  }
  void poll(ready_batch& /*ready*/) noexcept override {}
  void interrupt() noexcept override {
    ++interrupts;
    inner_.interrupt();
  }

  std::atomic<int> waits{0};
  std::atomic<int> interrupts{0};
  loop_end (*script)(scripted_loop&, ready_batch&) = nullptr;
  test_parker* target = nullptr;

 private:
  basic_futex_loop<platform_at_hand> inner_;
};

struct ParkerTest : ::testing::Test {
  void SetUp() override { doors.reset(); }
  void TearDown() override { doors.reset(); }

  park_end park_until(test_parker& p, time_point deadline) {
    ready.emplace(room);
    return p.park_until(deadline, *ready);
  }

  std::array<runnable, 4> room;
  std::optional<ready_batch> ready;
  scripted_loop loop;
  test_seat seat{loop};
  test_parker alone;
  test_parker seated{seat};
  std::atomic<bool> merged{false};
};

TEST_F(ParkerTest, ATokenGivenBeforeIsNotLost) {
  alone.unpark();
  alone.park();
  seated.unpark();
  EXPECT_EQ(park_until(seated, never), park_end::notified);
  EXPECT_EQ(loop.waits, 0) << "a token is there: nothing to wait for";
  EXPECT_EQ(doors.calls(door::sleep) + doors.calls(door::wake), 0U) << "nobody slept: no system call";
}

TEST_F(ParkerTest, OneTokenIsKeptNotMore) {
  for (int i = 0; i < 3; ++i) alone.unpark();
  EXPECT_TRUE(alone.park_until(soon()));
  EXPECT_FALSE(alone.park_until(soon()));
}

TEST_F(ParkerTest, ADeadlineEndsAParkAnywhere) {
  const time_point deadline = soon();
  EXPECT_FALSE(alone.park_until(deadline));
  EXPECT_GE(system_clock().now(), deadline);
  EXPECT_EQ(park_until(seated, deadline), park_end::deadline);
  EXPECT_EQ(loop.waits, 1);
}

TEST_F(ParkerTest, ASleeperIsWokenByOneSystemCall) {
  std::thread sleeper([&] { alone.park(); });
  while (!alone.is_asleep_approx()) std::this_thread::yield();
  alone.unpark();
  alone.unpark();  // a second token, for a thread that is awake or about to be
  sleeper.join();
  EXPECT_EQ(doors.calls(door::wake), 1U);
}

TEST_F(ParkerTest, TheFirstSitsInTheLoopTheOthersSleepOnTheirOwn) {
  test_parker second(seat);
  std::thread first_thread([&] {
    std::array<runnable, 1> own;
    ready_batch batch(own);
    EXPECT_EQ(seated.park_until(never, batch), park_end::notified);
  });
  while (!seated.is_in_loop_approx()) std::this_thread::yield();
  std::thread second_thread([&] {
    std::array<runnable, 1> own;
    ready_batch batch(own);
    EXPECT_EQ(second.park_until(never, batch), park_end::notified);
  });
  while (!second.is_asleep_approx()) std::this_thread::yield();
  EXPECT_FALSE(second.is_in_loop_approx());
  second.unpark();
  second_thread.join();
  EXPECT_EQ(loop.interrupts, 0) << "the loop was none of its business";
  seated.unpark();
  first_thread.join();
  EXPECT_EQ(loop.interrupts, 1);
  EXPECT_TRUE(seat.try_sit()) << "the seat is free again";
}

TEST_F(ParkerTest, WhatBecomesReadyEndsThePark) {
  loop.script = [](scripted_loop& self, ready_batch& batch) {
    batch.push(runnable(runnable::kind::completion, &self));
    return loop_end::ready;
  };
  EXPECT_EQ(park_until(seated, never), park_end::ready);
  EXPECT_EQ(ready->size(), 1U);
  EXPECT_TRUE(seat.try_sit());
}

TEST_F(ParkerTest, ATokenAndSomethingReadyAtOnceAreBothDelivered) {
  loop.target = &seated;
  loop.script = [](scripted_loop& self, ready_batch& batch) {
    batch.push(runnable(runnable::kind::completion, &self));
    self.target->unpark();
    return loop_end::ready;
  };
  EXPECT_EQ(park_until(seated, never), park_end::notified);
  EXPECT_EQ(ready->size(), 1U);
}

TEST_F(ParkerTest, AnInterruptMeantForAnEarlierSitterIsNoToken) {
  loop.interrupt();
  EXPECT_EQ(park_until(seated, soon()), park_end::deadline);
  EXPECT_EQ(loop.waits, 2) << "it went back to sleep";
}

TEST_F(ParkerTest, ASleepThatEndsForNothingGoesOn) {
  doors.fail_nth(door::sleep, 1);
  EXPECT_FALSE(alone.park_until(soon()));
  EXPECT_EQ(doors.calls(door::sleep), 2U);
}

TEST_F(ParkerTest, WhatCameBeforeAnyOfTheTokensIsVisible) {
  int first = 0;
  int second = 0;
  alone.unpark();
  std::thread other([&] {
    second = 2;
    alone.unpark();  // merges with the token that is there, and still hands over `second`
    merged.store(true, std::memory_order_relaxed);
  });
  first = 1;
  while (!merged.load(std::memory_order_relaxed)) std::this_thread::yield();
  alone.park();
  EXPECT_EQ(first + second, 3);
  other.join();
}

}  // namespace
}  // namespace weft::impl
