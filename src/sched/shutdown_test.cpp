// SPDX-License-Identifier: Apache-2.0

#include "support/on_workers.hpp"

#include <weft/cancelled.hpp>
#include <weft/join.hpp>
#include <weft/nursery.hpp>
#include <weft/runtime.hpp>
#include <weft/suspend.hpp>
#include <weft/this_fiber.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <gtest/gtest.h>
#include <string>
#include <system_error>
#include <thread>

namespace weft {
namespace {

using std::chrono::milliseconds;

class ShutdownTest : public ::testing::TestWithParam<std::uint32_t> {};
INSTANTIATE_TEST_SUITE_P(, ShutdownTest, ::testing::Values(1U, 3U), testing::name_by_workers);

TEST_P(ShutdownTest, AllTasksStop) {
  runtime one({.workers = GetParam()});
  for (int i = 0; i < 20; ++i) {
    one.spawn([] { this_fiber::sleep_for(std::chrono::hours(1)); }).detach();
  }
  EXPECT_TRUE(one.shutdown(std::chrono::hours::max()).is_complete());
  EXPECT_THROW((void)one.spawn([] {}), std::system_error) << "nobody is let in any more";
  EXPECT_TRUE(one.shutdown(milliseconds(0)).is_complete()) << "once more does no harm";
}

TEST_P(ShutdownTest, ReportsWhoHasNotStopped) {
  std::atomic<bool> stop{false};
  std::atomic<bool> begun{false};
  runtime one({.workers = GetParam()});
  one.spawn({.name = "the stubborn"},
            [&] {
              begun = true;
              while (!stop) std::this_thread::yield();  // waits for nothing that weft could end
            })
      .detach();
  while (!begun) std::this_thread::yield();
  const shutdown_report report = one.shutdown(milliseconds(5));
  ASSERT_FALSE(report.is_complete());
  const task_info& alive = report.still_alive.front();
  EXPECT_EQ(report.still_alive.size(), 1U);
  EXPECT_EQ(alive.name, "the stubborn");
  EXPECT_EQ(alive.state, task_state::running);
  EXPECT_NE(alive.file.find("shutdown_test.cpp"), std::string::npos);
  EXPECT_GT(alive.line, 0U);
  stop = true;
  EXPECT_TRUE(one.shutdown(std::chrono::hours(1)).is_complete());
}

TEST_P(ShutdownTest, LeftoversMayBeAwaitedInstead) {
  std::atomic<int> ended{0};
  run(
      [&ended] {
        for (int i = 0; i < 20; ++i) {
          spawn([&ended] {
            this_fiber::sleep_for(milliseconds(2));
            ended.fetch_add(1);
          }).detach();
        }
      },
      {.workers = GetParam(), .at_end = leftovers::awaited});
  EXPECT_EQ(ended.load(), 20);
}

/// Each task begins the next and ends: a walk over all of them sees now one, now the other, or none.
struct chain_link {
  std::atomic<int>& links;

  void operator()() const {
    links.fetch_add(1, std::memory_order_relaxed);
    spawn(*this).detach();
  }
};
TEST_P(ShutdownTest, AChainOfTasksStops) {
  for (int round = 0; round < 50; ++round) {
    std::atomic<int> links{0};
    runtime one({.workers = GetParam()});
    one.spawn(chain_link{links}).detach();
    while (links < 100) std::this_thread::yield();
    // One that has escaped goes on for ever.
    EXPECT_TRUE(one.shutdown(std::chrono::hours::max()).is_complete());
  }
}

TEST(StoppedJoin, AnArmThatAnotherWorkerTakesIsRunAndItsWaitsEnd) {
  runtime one({.workers = 2});
  std::atomic<bool> is_taken{false};
  bool has_stopped = false;
  auto caller = one.spawn([&] {
    one.request_cancel();
    join(
        [&] {
          while (!is_taken) std::this_thread::yield();
        },
        [&] {
          is_taken = true;
          try {
            this_fiber::sleep_for(std::chrono::hours(1));
          } catch (const cancelled&) {
            has_stopped = true;
          }
        });
  });
  caller.join();
  EXPECT_TRUE(has_stopped);
}

// -- States [S2-51] ---------------------------------------------------------------------------------------------------------

TEST(TaskState, FromTheFirstToTheLast) {
  runtime one({.workers = 1});
  std::atomic<int> step{0};
  resumer by;
  std::atomic<bool> is_waiting{false};
  auto busy = one.spawn([&step] {
    while (step < 1) std::this_thread::yield();
  });
  auto watched = one.spawn([&] {
    while (step < 2) std::this_thread::yield();
    suspend("the test", [&](resumer mine) {
      by = mine;
      is_waiting = true;
    });
    while (step < 3) std::this_thread::yield();
  });
  EXPECT_EQ(watched.state(), task_state::ready) << "the only worker is busy";
  step = 1;
  while (watched.state() != task_state::running) std::this_thread::yield();
  step = 2;
  while (watched.state() != task_state::blocked) std::this_thread::yield();
  while (!is_waiting) std::this_thread::yield();
  EXPECT_TRUE(by.resume());
  while (watched.state() != task_state::running) std::this_thread::yield();
  step = 3;
  while (watched.state() != task_state::completed) std::this_thread::yield();
  watched.join();
  busy.join();

  auto stopped = one.spawn([] { this_fiber::sleep_for(std::chrono::hours(1)); });
  stopped.request_cancel();
  while (stopped.state() != task_state::cancelled) std::this_thread::yield();
  EXPECT_STREQ(to_string(stopped.state()), "cancelled");
}

TEST(TaskState, WhoYieldsIsReadyInBetween) {
  run(
      [] {
        auto other = spawn([] {
          for (int i = 0; i < 3; ++i) this_fiber::yield();
        });
        this_fiber::yield();
        EXPECT_EQ(other.state(), task_state::ready);
        other.join();
      },
      {.workers = 1});
}

}  // namespace
}  // namespace weft
