// SPDX-License-Identifier: Apache-2.0

#include "support/on_workers.hpp"
#include "support/own_process.hpp"
#include "support/where.hpp"

#include <weft/cancelled.hpp>
#include <weft/custom_context.hpp>
#include <weft/execution_context.hpp>
#include <weft/join.hpp>
#include <weft/nursery.hpp>
#include <weft/pin_guard.hpp>
#include <weft/runtime.hpp>
#include <weft/suspend.hpp>
#include <weft/this_fiber.hpp>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <gtest/gtest.h>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace weft {
namespace {

using namespace std::chrono_literals;

using testing::error_of;
using testing::here;

/// Tasks in a queue, which threads of its own, or of a test, run in any number.
class queue_context final : public custom_context {
 public:
  explicit queue_context(runtime& in, std::uint32_t runners = 1)
      : custom_context(in, "queue", {.runners = runners}) {}
  explicit queue_context(std::uint32_t runners = 1) : custom_context("queue", {.runners = runners}) {}
  queue_context(const queue_context&) = delete;
  queue_context& operator=(const queue_context&) = delete;
  ~queue_context() override {
    if (is_left_open_) return;
    close();
    if (!is_over()) {
      runner here(*this);
      while (!is_over()) (void)run_one(here);
    }
  }

  bool run_one(runner& by) {
    ready_task next = take();
    if (!next) return false;
    ++runs_;
    by.run(std::move(next));
    return true;
  }
  /// Until the tasks have done something.
  template <class Done>
  void run_until(Done&& done) {
    runner here(*this);
    while (!done()) {
      if (!run_one(here)) std::this_thread::yield();
    }
  }

  ready_task take() {
    const std::lock_guard hold(lock_);
    if (queue_.empty()) return {};
    ready_task first = std::move(queue_.front());
    queue_.pop_front();
    return first;
  }
  [[nodiscard]] int runs() const { return runs_.load(); }
  [[nodiscard]] int fresh() const { return fresh_.load(); }
  void leave_open() { is_left_open_ = true; }
  void end_all() { close(); }
  [[nodiscard]] bool has_ended() { return is_over(); }

 private:
  void enqueue(ready_task ready) noexcept override {
    if (ready.is_fresh()) ++fresh_;
    const std::lock_guard hold(lock_);
    queue_.push_back(std::move(ready));
  }

  std::mutex lock_;
  std::deque<ready_task> queue_;
  std::atomic<int> runs_{0};
  std::atomic<int> fresh_{0};
  bool is_left_open_ = false;
};

TEST(CustomContext, ItsTasksRunWhenAndWhereItSays) {
  runtime rt({.workers = 2});
  queue_context mine(rt);
  EXPECT_EQ(mine.name(), "queue");
  EXPECT_EQ(mine.workers(), 1U);
  EXPECT_EQ(mine.threads(), 0U);
  auto where = mine.spawn([] { return std::pair(here(), std::this_thread::get_id()); });
  std::this_thread::sleep_for(2ms);
  EXPECT_FALSE(where.is_done());
  mine.run_until([&] { return where.is_done(); });
  EXPECT_EQ(where.join(), std::pair(std::string("queue"), std::this_thread::get_id()));
  EXPECT_EQ(mine.fresh(), 1);
  EXPECT_EQ(mine.runs(), 1);
}

TEST(CustomContext, EachWaitAndEachYieldIsAnotherRun) {
  runtime rt({.workers = 1});
  queue_context mine(rt);
  auto done = mine.spawn([] {
    this_fiber::yield();
    this_fiber::yield();
    this_fiber::sleep_for(1ms);
    return std::this_thread::get_id();
  });
  mine.run_until([&] { return done.is_done(); });
  EXPECT_EQ(done.join(), std::this_thread::get_id());
  EXPECT_EQ(mine.fresh(), 1);
  EXPECT_EQ(mine.runs(), 4);
}

TEST(CustomContext, WhatItsTasksSpawnComesToItAsWell) {
  runtime rt({.workers = 1});
  queue_context mine(rt);
  auto all = mine.spawn([] {
    std::string found = spawn(here).join();
    nursery([&](nursery& n) { n.spawn([&] { found += here(); }); });
    found += spawn({.name = "named"}, here).join();
    return found;
  });
  mine.run_until([&] { return all.is_done(); });
  EXPECT_EQ(all.join(), "queuequeuequeue");
  EXPECT_EQ(mine.fresh(), 4);
}

TEST(CustomContext, TellsWhatIsReady) {
  runtime rt({.workers = 1});
  queue_context mine(rt);
  auto done = mine.spawn({.name = "somebody", .priority = priority::high}, [] { this_fiber::yield(); });
  ready_task first = mine.take();
  ASSERT_TRUE(first);
  EXPECT_TRUE(first.is_fresh());
  EXPECT_EQ(first.name(), "somebody");
  EXPECT_EQ(first.id(), done.id());
  EXPECT_EQ(first.priority(), priority::high);
  custom_context::runner here(mine);
  EXPECT_EQ(mine.threads(), 1U);
  here.run(std::move(first));
  EXPECT_FALSE(first);  // NOLINT(bugprone-use-after-move): that is what is looked at
  ready_task second = mine.take();
  ASSERT_TRUE(second);
  EXPECT_FALSE(second.is_fresh());
  EXPECT_EQ(second.id(), done.id());
  here.run(std::move(second));
  done.join();
}

TEST(CustomContext, WakesComeFromOthersAndGoToOthers) {
  runtime rt({.workers = 2});
  queue_context mine(rt);
  constexpr int rounds = 200;
  auto done = mine.spawn([&] {
    int sum = 0;
    for (int i = 0; i < rounds; ++i) {
      sum += rt.spawn([i] { return i; }).join();
      EXPECT_EQ(here(), "queue");
    }
    return sum;
  });
  mine.run_until([&] { return done.is_done(); });
  EXPECT_EQ(done.join(), rounds * (rounds - 1) / 2);
}

int fib(int n) {
  if (n < 2) return n;
  const auto [a, b] = join([n] { return fib(n - 1); }, [n] { return fib(n - 2); });
  return a + b;
}

TEST(CustomContext, JoinsEndAlsoWhereAHalfWaits) {
  runtime rt({.workers = 1});
  queue_context mine(rt);
  auto done = mine.spawn([] {
    const auto [a, b] = join(
        [] {
          this_fiber::sleep_for(1ms);
          return fib(8);
        },
        [] {
          this_fiber::yield();
          return fib(9);
        });
    return a + b;
  });
  mine.run_until([&] { return done.is_done(); });
  EXPECT_EQ(done.join(), 21 + 34);
}

TEST(CustomContext, FailuresTravelAsTheyDoElsewhere) {
  runtime rt({.workers = 1});
  queue_context mine(rt);
  auto failed = mine.spawn([]() -> int { throw std::runtime_error("on purpose"); });
  mine.run_until([&] { return failed.is_done(); });
  EXPECT_THROW((void)failed.join(), std::runtime_error);
}

TEST(CustomContext, ATaskMayComeAndGo) {
  runtime rt({.workers = 1});
  queue_context mine(rt);
  parallel_context other(rt, "other", {.workers = 1});
  auto path = rt.spawn([&] {
    std::string found = here();
    move_to(mine);
    found += " " + here();
    this_fiber::yield();
    found += " " + here();
    move_to(other);
    return found + " " + here();
  });
  mine.run_until([&] { return path.is_done(); });
  EXPECT_EQ(path.join(), "DEFAULT queue queue other");
}

TEST(CustomContext, SeveralThreadsMayRunItsTasks) {
  constexpr std::uint32_t runners = 4;
  constexpr int tasks = 500;
  runtime rt({.workers = 1});
  queue_context mine(rt, runners);
  std::atomic<int> ended{0};
  std::vector<handle<void>> all;
  for (int i = 0; i < tasks; ++i)
    all.push_back(mine.spawn([&ended, i] {
      if (i % 3 == 0) this_fiber::yield();
      if (i % 7 == 0) this_fiber::sleep_for(100us);
      if (i % 5 == 0) {
        EXPECT_EQ(fib(5), 5);
      }
      ended.fetch_add(1);
    }));
  std::vector<std::thread> threads;
  for (std::uint32_t i = 0; i < runners; ++i)
    threads.emplace_back([&] { mine.run_until([&] { return ended.load() == tasks; }); });
  for (std::thread& each : threads) each.join();
  // The last ones have said so, but may not have ended.
  mine.run_until([&] {
    for (const auto& each : all) {
      if (!each.is_done()) return false;
    }
    return true;
  });
  for (auto& each : all) each.join();
}

TEST(CustomContext, HasNoMoreRunnersThanItSays) {
  runtime rt({.workers = 1});
  queue_context mine(rt, 2);
  const custom_context::runner one(mine);
  {
    const custom_context::runner two(mine);
    EXPECT_EQ(mine.threads(), 2U);
    EXPECT_EQ(error_of([&] { const custom_context::runner three(mine); }), errc::would_block);
  }
  EXPECT_EQ(mine.threads(), 1U);
  const custom_context::runner again(mine);
}

TEST(CustomContext, OptionsThatCannotBeAreRefused) {
  runtime rt({.workers = 1});
  for (const std::uint32_t bad : {0U, 257U}) {
    try {
      const queue_context mine(rt, bad);
      ADD_FAILURE() << bad << " was taken";
    } catch (const std::invalid_argument& error) {
      EXPECT_EQ(std::string(error.what()),
                "custom_options::runners is " + std::to_string(bad) + "; there are 1 to 256");
    }
  }
}

TEST(CustomContext, WhatIsAliveIsAskedToStopAtTheEnd) {
  runtime rt({.workers = 1});
  std::atomic<int> cancelled_ones{0};
  std::atomic<int> begun{0};
  {
    queue_context mine(rt);
    for (int i = 0; i < 3; ++i)
      mine.spawn([&] {
            begun.fetch_add(1);
            try {
              this_fiber::sleep_for(1h);
            } catch (const cancelled&) {
              cancelled_ones.fetch_add(1);
              throw;
            }
          })
          .detach();
    mine.run_until([&] { return begun.load() == 3; });
    mine.spawn([&] { begun.fetch_add(1); }).detach();  // never begins
    mine.end_all();
    EXPECT_EQ(error_of([&] { mine.spawn([] {}).detach(); }), errc::shut_down);
    EXPECT_FALSE(mine.has_ended());
  }
  EXPECT_EQ(cancelled_ones.load(), 3);
  EXPECT_EQ(begun.load(), 3);
}

TEST(CustomContext, MayBeMadeInATaskAndInTheDefaultRuntime) {
  run([] {
    queue_context mine;
    auto value = mine.spawn([] { return 42; });
    std::thread([&] { mine.run_until([&] { return value.is_done(); }); }).join();
    EXPECT_EQ(value.join(), 42);
  });
  queue_context outside;  // in the default runtime
  auto value = outside.spawn([] { return 43; });
  outside.run_until([&] { return value.is_done(); });
  EXPECT_EQ(value.join(), 43);
  testing::await_those_that_go();
}

using CustomContextDeathTest = ::testing::Test;

TEST(CustomContextDeathTest, ALostTaskIsNamed) {
  WEFT_NEEDS_OWN_PROCESS();
  EXPECT_DEATH(
      {
        runtime rt({.workers = 1});
        queue_context mine(rt);
        mine.spawn({.name = "forgotten"}, [] {}).detach();
        (void)mine.take();
      },
      "a ready_task was destroyed, and so would never run: .*'forgotten'.*; a context runs what it is given");
}

TEST(CustomContextDeathTest, WhoForgetsToEndItIsTold) {
  WEFT_NEEDS_OWN_PROCESS();
  EXPECT_DEATH(
      {
        runtime rt({.workers = 1});
        std::vector<ready_task> kept;
        queue_context mine(rt);
        mine.spawn([] {}).detach();
        kept.push_back(mine.take());
        mine.leave_open();
        mine.~queue_context();
      },
      "execution context 'queue' was destroyed with tasks in it; in the destructor of its class call "
      "close\\(\\)");
}

TEST(CustomContextDeathTest, ARunnerRunsNoTaskOfAnother) {
  WEFT_NEEDS_OWN_PROCESS();
  EXPECT_DEATH(
      {
        runtime rt({.workers = 1});
        queue_context mine(rt);
        queue_context other(rt);
        other.spawn([] {}).detach();
        custom_context::runner here(mine);
        here.run(other.take());
      },
      "a runner of a custom_context is given a task of another context");
}

TEST(CustomContextDeathTest, ItsTasksCannotBePinned) {
  WEFT_NEEDS_OWN_PROCESS();
  EXPECT_DEATH(
      {
        runtime rt({.workers = 1});
        queue_context mine(rt);
        auto pinned = mine.spawn([] { const pin_guard fast; });
        mine.run_until([&] { return pinned.is_done(); });
      },
      "a task of a custom_context is pinned");
}

}  // namespace
}  // namespace weft
