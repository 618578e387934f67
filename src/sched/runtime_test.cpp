// SPDX-License-Identifier: Apache-2.0

#include "support/on_workers.hpp"

#include <weft/runtime.hpp>
#include <weft/suspend.hpp>
#include <weft/this_fiber.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <gtest/gtest.h>
#include <memory>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

namespace weft {
namespace {

/// Every test with one worker, where all is in turn, and with more than there are processors.
class RuntimeTest : public testing::on_workers {};
INSTANTIATE_TEST_SUITE_P(, RuntimeTest, ::testing::Values(1U, 2U, 5U), testing::name_by_workers);

/// Counts how many of it are alive.
class alive {
 public:
  explicit alive(std::atomic<int>& count) noexcept : count_(&count) { count_->fetch_add(1); }
  alive(const alive& other) noexcept : alive(*other.count_) {}
  alive& operator=(const alive&) = delete;
  ~alive() { count_->fetch_sub(1); }

 private:
  std::atomic<int>* count_;
};

void suspend_for_ever() {
  suspend("for ever", [](const resumer&) {});
}

// -- run --------------------------------------------------------------------------------------------------------------

TEST_P(RuntimeTest, RunGivesWhatMainReturns) {
  EXPECT_EQ(run([] { return std::string("42"); }), "42");
}
TEST_P(RuntimeTest, AMainThatReturnsNothingGivesZero) {
  EXPECT_EQ(run([] {}), 0);
}
TEST_P(RuntimeTest, RunThrowsWhatMainThrows) {
  EXPECT_THROW(run([] { throw std::out_of_range("main"); }), std::out_of_range);
}
TEST_P(RuntimeTest, MainIsTaskZero) {
  EXPECT_EQ(run([] { return this_fiber::id(); }), 0U);
}
TEST_P(RuntimeTest, NoTwoTasksHaveOneNumber) {
  run([] {
    std::vector<std::uint64_t> seen(1, 0);
    std::vector<handle<std::uint64_t>> tasks;
    for (int i = 0; i < 200; ++i) tasks.push_back(spawn([] { return this_fiber::id(); }));
    for (auto& each : tasks) {
      const std::uint64_t promised = each.id();
      const std::uint64_t id = each.join();
      EXPECT_EQ(id, promised);
      EXPECT_EQ(std::count(seen.begin(), seen.end(), id), 0);
      seen.push_back(id);
    }
  });
}
TEST_P(RuntimeTest, WhatIsAliveWhenMainEndsIsStoppedAndWaitedFor) {
  std::atomic<int> count{0};
  run([&] {
    for (int i = 0; i < 20; ++i) {
      spawn([mine = alive(count)] { suspend_for_ever(); }).detach();
      spawn([mine = alive(count)] {
        for (;;) this_fiber::yield();
      }).detach();
    }
    this_fiber::yield();
  });
  EXPECT_EQ(count.load(), 0);
}
TEST_P(RuntimeTest, TasksThatAreSpawnedByThoseThatAreStoppedAreStoppedToo) {
  std::atomic<int> count{0};
  run([&] {
    spawn([&count] {
      struct spawns_at_the_end {
        std::atomic<int>& tasks;
        ~spawns_at_the_end() {
          spawn([mine = alive(tasks)] {
            for (;;) this_fiber::yield();
          }).detach();
        }
      } last{count};
      suspend_for_ever();
    }).detach();
    this_fiber::yield();
  });
  EXPECT_EQ(count.load(), 0);
}
TEST_P(RuntimeTest, MainsErrorStopsTheOthers) {
  std::atomic<int> count{0};
  const auto main = [&] {
    spawn([mine = alive(count)] { suspend_for_ever(); }).detach();
    throw std::runtime_error("main");
  };
  EXPECT_THROW(run(main), std::runtime_error);
  EXPECT_EQ(count.load(), 0);
}

TEST(RuntimeOptionsTest, TooManyWorkersAreRefusedInASentence) {
  try {
    runtime(runtime_options{.workers = 257});
    FAIL() << "257 workers";
  } catch (const std::invalid_argument& error) {
    EXPECT_STREQ(error.what(),
                 "runtime_options::workers is 257; there are 1 to 256, or 0 for as many as this process may "
                 "use processors");
  }
}
TEST(RuntimeOptionsTest, HasAsManyWorkersAsAskedFor) {
  EXPECT_EQ(runtime(runtime_options{.workers = 3}).workers(), 3U);
  EXPECT_GE(runtime().workers(), 1U);
}

// -- spawn and join -----------------------------------------------------------------------------------------------------

TEST_P(RuntimeTest, AValueComesBack) {
  EXPECT_EQ(run([] { return spawn([] { return 7; }).join(); }), 7);
}
TEST_P(RuntimeTest, AReferenceComesBackAsOne) {
  int there = 1;
  run([&] { spawn([&]() -> int& { return there; }).join() = 5; });
  EXPECT_EQ(there, 5);
}
TEST_P(RuntimeTest, WhatCanOnlyBeMovedIsMoved) {
  const auto got =
      run([] { return spawn([in = std::make_unique<int>(3)]() mutable { return std::move(in); }).join(); });
  EXPECT_EQ(*got, 3);
}
TEST_P(RuntimeTest, AClosureMayBeLarge) {
  const std::array<std::uint64_t, 100> numbers{1, 2, 3};
  EXPECT_EQ(run([numbers] { return spawn([numbers] { return numbers[2]; }).join(); }), 3U);
}
TEST_P(RuntimeTest, AResultMayBeLarge) {
  EXPECT_EQ(run([] { return spawn([] { return std::array<std::uint64_t, 100>{1, 2, 3}; }).join()[1]; }), 2U);
}
TEST_P(RuntimeTest, AnErrorComesBackAsItself) {
  run([] {
    try {
      spawn([]() -> int { throw std::system_error(make_error_code(errc::closed)); }).join();
      ADD_FAILURE() << "nothing was thrown";
    } catch (const std::system_error& error) {
      EXPECT_EQ(error.code(), errc::closed);
    }
  });
}
TEST_P(RuntimeTest, WhatATaskHoldsIsGoneWhenItHasEnded) {
  std::atomic<int> count{0};
  run([&] {
    spawn([mine = alive(count)] {}).join();
    EXPECT_EQ(count.load(), 0);
    auto kept = spawn([&] { return alive(count); });
    while (!kept.is_done()) this_fiber::yield();
    EXPECT_EQ(count.load(), 1) << "the result is kept for whoever joins";
    kept = {};
    EXPECT_EQ(count.load(), 0);
    EXPECT_THROW(spawn([mine = alive(count)] { throw 1; }).join(), int);
    EXPECT_EQ(count.load(), 0);
  });
}
TEST_P(RuntimeTest, ADroppedHandleLetsItsTaskGoOn) {
  std::atomic<bool> ran{false};
  run([&] {
    {
      auto dropped = spawn([&] { ran = true; });
    }
    while (!ran) this_fiber::yield();
  });
  EXPECT_TRUE(ran);
}
TEST_P(RuntimeTest, TasksSpawnTasks) {
  std::atomic<int> count{0};
  run([&] {
    const auto grow = [&](const auto& self, int depth) -> void {
      ++count;
      if (depth == 0) return;
      auto left = spawn([&, depth] { self(self, depth - 1); });
      auto right = spawn([&, depth] { self(self, depth - 1); });
      left.join();
      right.join();
    };
    grow(grow, 10);
  });
  EXPECT_EQ(count.load(), (1 << 11) - 1);
}
TEST_P(RuntimeTest, APlainThreadSpawnsAndJoins) {
  runtime there({.workers = GetParam()});
  std::vector<handle<int>> tasks;
  for (int i = 0; i < 100; ++i) tasks.push_back(there.spawn([i] { return i; }));
  int sum = 0;
  for (auto& each : tasks) sum += each.join();
  EXPECT_EQ(sum, 99 * 100 / 2);
}
TEST_P(RuntimeTest, RuntimesStandSideBySide) {
  runtime one({.workers = GetParam()});
  runtime other({.workers = GetParam()});
  auto outer = one.spawn([&] {
    auto inner = other.spawn([] { return this_fiber::id() * 0 + 5; });
    return inner.join();
  });
  EXPECT_EQ(outer.join(), 5U);
}

TEST(RuntimeDeathTest, AFailureThatNobodyLooksAtEndsTheProcess) {
  const auto fail = [] {
    weft::run([] {
      spawn([] { throw std::runtime_error("the disk is full"); }).detach();
      for (;;) this_fiber::yield();
    });
  };
  EXPECT_DEATH(fail(),
               "task [0-9]+ \\(spawned at .*runtime_test.cpp:[0-9]+\\) failed and nobody looked at it: the "
               "disk is full");
}
TEST(RuntimeDeathTest, ItDoesSoAlsoWhenTheHandleIsDroppedAfterwards) {
  const auto fail = [] {
    weft::run([] {
      auto kept = spawn([] { throw 5; });
      while (!kept.is_done()) this_fiber::yield();
    });
  };
  EXPECT_DEATH(fail(), "failed and nobody looked at it: an exception that is no std::exception");
}

// -- cancellation -------------------------------------------------------------------------------------------------------

TEST_P(RuntimeTest, ACancelledWaitThrowsAndUnwinds) {
  std::atomic<int> count{0};
  run([&] {
    std::atomic<bool> waits{false};
    auto sleeper = spawn([&] {
      const alive mine(count);
      suspend("test", [&](const resumer&) { waits = true; });
    });
    while (!waits) this_fiber::yield();
    sleeper.request_cancel();
    try {
      sleeper.join();
      ADD_FAILURE() << "it was not stopped";
    } catch (const std::system_error& error) {
      EXPECT_EQ(error.code(), errc::cancelled);
    }
    EXPECT_EQ(count.load(), 0);
  });
}
TEST_P(RuntimeTest, CancellationIsALevel) {
  run([] {
    std::atomic<int> times{0};
    auto stubborn = spawn([&] {
      for (int i = 0; i < 3; ++i) {
        try {
          suspend_for_ever();
        } catch (...) {
          ++times;
        }
      }
      return 1;
    });
    stubborn.request_cancel();
    try {
      EXPECT_EQ(stubborn.join(), 1) << "whoever catches it may still return";
      EXPECT_EQ(times.load(), 3);
    } catch (const std::system_error& error) {
      EXPECT_EQ(error.code(), errc::cancelled) << "cancelled before it began";
      EXPECT_EQ(times.load(), 0);
    }
  });
}
TEST_P(RuntimeTest, ATaskThatIsCancelledBeforeItBeginsDoesNotRun) {
  runtime one({.workers = 1});
  std::atomic<bool> go{false};
  std::atomic<int> count{0};
  auto busy = one.spawn([&] {
    while (!go) {
    }
  });
  auto late = one.spawn([mine = alive(count)] { ADD_FAILURE() << "it ran"; });
  late.request_cancel();
  go = true;
  EXPECT_THROW(late.join(), std::system_error);
  EXPECT_EQ(count.load(), 0);
  busy.join();
}
TEST_P(RuntimeTest, WhoIsCancelledInAJoinKeepsTheHandle) {
  run([] {
    std::atomic<bool> go{false};
    auto slow = spawn([&] {
      while (!go) this_fiber::yield();
      return 3;
    });
    auto joiner = spawn([&] { (void)slow.join(); });
    for (int i = 0; i < 10; ++i) this_fiber::yield();
    joiner.request_cancel();
    EXPECT_THROW(joiner.join(), std::system_error);
    go = true;
    EXPECT_EQ(slow.join(), 3) << "cancelled in the join, or before it began";
  });
}
TEST_P(RuntimeTest, YieldIsACancellationPoint) {
  run([] {
    auto spins = spawn([] {
      for (;;) this_fiber::yield();
    });
    this_fiber::yield();
    spins.request_cancel();
    EXPECT_THROW(spins.join(), std::system_error);
  });
}
TEST_P(RuntimeTest, ATaskKnowsThatItWasCancelled) {
  run([] {
    std::atomic<bool> began{false};
    auto asks = spawn([&] {
      began = true;
      while (!this_fiber::is_cancelled()) {
      }
      return 8;
    });
    if (GetParam() == 1) {
      asks.request_cancel();
      EXPECT_THROW((void)asks.join(), std::system_error) << "it never began";
      return;
    }
    while (!began) this_fiber::yield();
    asks.request_cancel();
    EXPECT_EQ(asks.join(), 8);
  });
}

}  // namespace
}  // namespace weft

// -- the examples of the guide ------------------------------------------------------------------------------------------

namespace {

// [first-tasks]
int main_of_the_example() {
  return weft::run([] {  // task 0, on as many workers as there are processors
    weft::handle<int> six = weft::spawn([] { return 6; });
    weft::handle<int> seven = weft::spawn([] { return 7; });
    return six.join() * seven.join();
  });
}
// [first-tasks]

TEST(RuntimeGuideTest, TheFirstTasksMultiply) { EXPECT_EQ(main_of_the_example(), 42); }

}  // namespace
