// SPDX-License-Identifier: Apache-2.0
//
// Runtimes beside and within each other.

#include "support/scale.hpp"

#include <weft/runtime.hpp>
#include <weft/suspend.hpp>
#include <weft/this_fiber.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <gtest/gtest.h>
#include <thread>

namespace weft {
namespace {

using namespace std::chrono_literals;

const runtime_options one_worker{.workers = 1, .at_end = leftovers::awaited};

// Whatever the inner one waits for at its end, the worker of the outer one goes on: else this hangs.
TEST(SeveralRuntimes, TheEndOfAnInnerOneLeavesTheWorkerToOthers) {
  std::atomic<bool> joined{false};
  run(
      [&] {
        auto outer = spawn([] {
          this_fiber::sleep_for(1ms);
          return 1;
        });
        run([&] { spawn([&] { joined = outer.join() == 1; }).detach(); }, one_worker);
        EXPECT_TRUE(joined);
      },
      one_worker);
}

TEST(SeveralRuntimes, ATaskThatShutsAnotherOneDownLeavesItsWorkerToOthers) {
  run(
      [] {
        runtime inner(one_worker);
        std::atomic<bool> begun{false};
        std::atomic<bool> go{false};
        inner
            .spawn([&] {
              begun = true;
              while (!go) std::this_thread::yield();  // it does not listen
            })
            .detach();
        while (!begun) this_fiber::yield();
        auto other = spawn([&] { go = true; });
        EXPECT_TRUE(inner.shutdown(std::chrono::hours(1)).is_complete());
        other.join();
      },
      one_worker);
}

TEST(SeveralRuntimes, ADeadlineHoldsForATaskThatShutsAnotherOneDown) {
  run(
      [] {
        runtime inner(one_worker);
        std::atomic<bool> begun{false};
        std::atomic<bool> go{false};
        inner
            .spawn([&] {
              begun = true;
              while (!go) std::this_thread::yield();
            })
            .detach();
        while (!begun) this_fiber::yield();
        const shutdown_report report = inner.shutdown(5ms);
        EXPECT_EQ(report.still_alive.size(), 1U);
        go = true;
        EXPECT_TRUE(inner.shutdown(std::chrono::hours(1)).is_complete());
      },
      one_worker);
}

TEST(SeveralRuntimesDeathTest, ATaskThatShutsItsOwnDown) {
  const auto shuts_down = [] {
    runtime one({.workers = 1});
    one.spawn([&] { (void)one.shutdown(1ms); }).join();
  };
  EXPECT_DEATH(shuts_down(), "shut down or destroyed by one of its own tasks");
}

// A task of one waits for a task of the other, and its runtime ends as soon as it was woken: by somebody who has hardly let go of it.
TEST(SeveralRuntimes, WhoEndsATaskThatAnotherOneWaitsForIsDoneWithThatOneBeforeItEnds) {
  runtime other({.workers = 2});
  for (int i = 0; i < testing::scaled(2'000, 200); ++i) {
    run(
        [&] {
          std::atomic<bool> done{false};
          auto awake = spawn([&] {
            while (!done) this_fiber::yield();
          });
          other.spawn([] {}).join();
          done = true;
          awake.join();
        },
        {.workers = 1});
  }
}

}  // namespace
}  // namespace weft
