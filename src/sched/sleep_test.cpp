// SPDX-License-Identifier: Apache-2.0

#include "support/on_workers.hpp"
#include "support/sleeping_workers.hpp"

#include <weft/nursery.hpp>
#include <weft/runtime.hpp>
#include <weft/this_fiber.hpp>

#include <atomic>
#include <chrono>
#include <gtest/gtest.h>
#include <limits>
#include <system_error>
#include <thread>
#include <vector>

namespace weft {
namespace {

using std::chrono_literals::operator""h;
using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""ns;
using std::chrono_literals::operator""s;
using std::chrono::steady_clock;

class SleepTest : public testing::on_workers {};
INSTANTIATE_TEST_SUITE_P(, SleepTest, ::testing::Values(1U, 2U, 5U), testing::name_by_workers);

/// What the task is doing once it has begun to wait, or has ended.
task_state state_at_rest(const handle<void>& of) {
  for (;;) {
    const task_state now = of.state();
    if (now != task_state::ready && now != task_state::running) return now;
    this_fiber::yield();
  }
}

TEST_P(SleepTest, NeverEndsEarly) {
  run([] {
    for (const auto wait : {1ns, 1'000ns, 16'384ns, 100'000ns, 3'000'000ns}) {
      const auto begin = steady_clock::now();
      this_fiber::sleep_for(wait);
      EXPECT_GE(steady_clock::now() - begin, wait);
    }
  });
}

TEST_P(SleepTest, UntilATimeOfAnyClock) {
  run([] {
    const auto steady = steady_clock::now() + 2ms;
    this_fiber::sleep_until(steady);
    EXPECT_GE(steady_clock::now(), steady);
    const auto wall = std::chrono::system_clock::now() + 2ms;
    this_fiber::sleep_until(wall);
    EXPECT_GE(std::chrono::system_clock::now(), wall);
    this_fiber::sleep_until(steady_clock::time_point::min());
    this_fiber::sleep_until(std::chrono::system_clock::time_point::min());
  });
}

TEST_P(SleepTest, ManySleepersAllWake) {
  run([] {
    std::atomic<int> awake{0};
    nursery([&awake](nursery& n) {
      for (int i = 0; i < 5'000; ++i) {
        n.spawn([&awake, i] {
          this_fiber::sleep_for(std::chrono::microseconds(i * 7 % 20'000));
          awake.fetch_add(1);
        });
      }
    });
    EXPECT_EQ(awake.load(), 5'000);
  });
}

// [C-14] All workers are idle until the end of time when somebody comes with an earlier deadline.
TEST_P(SleepTest, AnEarlierDeadlineIsNotSleptThrough) {
  runtime one({.workers = GetParam()});
  auto for_ever = one.spawn([] { this_fiber::sleep_for(std::chrono::hours::max()); });
  EXPECT_EQ(state_at_rest(for_ever), task_state::blocked);
  testing::await_sleep(one);
  one.spawn([] { this_fiber::sleep_for(2ms); }).join();
  for_ever.request_cancel();
  EXPECT_THROW(for_ever.join(), std::system_error);
}

TEST_P(SleepTest, ASleeperCanBeCancelled) {
  run([] {
    std::vector<handle<void>> sleepers;
    for (int i = 0; i < 100; ++i) sleepers.push_back(spawn([] { this_fiber::sleep_for(1h); }));
    for (const auto& each : sleepers) EXPECT_EQ(state_at_rest(each), task_state::blocked);
    for (auto& each : sleepers) each.request_cancel();
    for (auto& each : sleepers) EXPECT_THROW(each.join(), std::system_error);
  });
}

// The timer and the canceller come at the same time, in all orders.
TEST_P(SleepTest, CancelledJustWhenItIsOver) {
  run([] {
    for (int i = 0; i < 500; ++i) {
      auto sleeper = spawn([i] {
        this_fiber::sleep_for(std::chrono::microseconds(i % 50));
        return 1;
      });
      const auto begin = steady_clock::now();
      while (steady_clock::now() - begin < std::chrono::microseconds(i % 50)) this_fiber::yield();
      sleeper.request_cancel();
      try {
        EXPECT_EQ(sleeper.join(), 1);
      } catch (const std::system_error& error) {
        EXPECT_EQ(error.code(), make_error_code(errc::cancelled));
      }
    }
  });
}

TEST_P(SleepTest, AnyDurationIsLegal) {
  run([] {
    this_fiber::sleep_for(0s);
    this_fiber::sleep_for(-1h);
    this_fiber::sleep_for(std::chrono::hours::min());
    this_fiber::sleep_for(std::chrono::nanoseconds::min());
    this_fiber::sleep_for(std::chrono::duration<double>(-std::numeric_limits<double>::infinity()));
    std::vector<handle<void>> for_ever;
    for_ever.push_back(spawn([] { this_fiber::sleep_for(std::chrono::nanoseconds::max()); }));
    for_ever.push_back(spawn([] { this_fiber::sleep_for(std::chrono::hours::max()); }));
    for_ever.push_back(spawn([] {
      this_fiber::sleep_for(std::chrono::duration<double>(std::numeric_limits<double>::infinity()));
    }));
    for_ever.push_back(spawn([] { this_fiber::sleep_until(steady_clock::time_point::max()); }));
    for_ever.push_back(spawn([] { this_fiber::sleep_until(std::chrono::system_clock::time_point::max()); }));
    for (const auto& each : for_ever) EXPECT_EQ(state_at_rest(each), task_state::blocked);
    for (auto& each : for_ever) each.request_cancel();
    for (auto& each : for_ever) EXPECT_THROW(each.join(), std::system_error);
  });
}

TEST(Sleep, APlainThreadSleepsAsWell) {
  const auto begin = steady_clock::now();
  this_fiber::sleep_for(2ms);
  EXPECT_GE(steady_clock::now() - begin, 2ms);
}

// Others sleep while one is always busy: it looks after the timers between its tasks.
TEST(Sleep, ABusyWorkerSeesToTheTimers) {
  run(
      [] {
        std::atomic<bool> awake{false};
        auto sleeper = spawn([&awake] {
          this_fiber::sleep_for(1ms);
          awake = true;
        });
        while (!awake) this_fiber::yield();
        sleeper.join();
      },
      {.workers = 1});
}

// -- Durations -----------------------------------------------------------------------------------------------------------

TEST(Duration, IsRoundedUpAndNeverWraps) {
  using detail::to_nanoseconds;
  using ns = std::chrono::nanoseconds;
  EXPECT_EQ(to_nanoseconds(1s), ns(1'000'000'000));
  EXPECT_EQ(to_nanoseconds(std::chrono::duration<double>(1e-9 / 3)), ns(1));
  EXPECT_EQ(to_nanoseconds(std::chrono::hours::max()), ns::max());
  EXPECT_EQ(to_nanoseconds(std::chrono::hours::min()), ns::min());
  EXPECT_EQ(to_nanoseconds(ns(123)), ns(123));
  EXPECT_EQ(to_nanoseconds(std::chrono::duration<double>(std::numeric_limits<double>::quiet_NaN())),
            ns::max());
}

TEST(Duration, ADifferenceNeverWraps) {
  using detail::difference;
  using ns = std::chrono::nanoseconds;
  using point = steady_clock::time_point;
  EXPECT_EQ(difference(point(ns(7)), point(ns(5))), ns(2));
  EXPECT_EQ(difference(point::max(), point(ns(-5))), ns::max());
  EXPECT_EQ(difference(point::min(), point(ns(5))), ns::min());
}

}  // namespace
}  // namespace weft
