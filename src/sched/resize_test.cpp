// SPDX-License-Identifier: Apache-2.0
//
// Contexts that are made larger and smaller while they run.

#include "base/rng.hpp"
#include "support/scale.hpp"
#include "support/seed.hpp"

#include <weft/execution_context.hpp>
#include <weft/join.hpp>
#include <weft/nursery.hpp>
#include <weft/pin_guard.hpp>
#include <weft/runtime.hpp>
#include <weft/suspend.hpp>
#include <weft/this_fiber.hpp>

#include <atomic>
#include <chrono>
#include <gtest/gtest.h>
#include <poll.h>
#include <sched.h>
#include <set>
#include <stdexcept>
#include <string>
#include <sys/resource.h>
#include <system_error>
#include <thread>
#include <unistd.h>
#include <vector>

namespace weft {
namespace {

using namespace std::chrono_literals;

constexpr autoscale never_more{.is_on = false};

/// Waits until the context has so many threads: they come and go by themselves.
void await_threads(const execution_context& of, std::uint32_t threads) {
  while (of.threads() != threads) std::this_thread::sleep_for(1ms);
}

/// Returns once so many tasks have run at the same time: more than there are workers never do.
void run_side_by_side(parallel_context& in, std::uint32_t count) {
  std::atomic<std::uint32_t> begun{0};
  std::vector<handle<void>> all;
  for (std::uint32_t i = 0; i < count; ++i) {
    all.push_back(in.spawn([&] {
      begun.fetch_add(1);
      while (begun.load() < count) std::this_thread::yield();
    }));
  }
  for (auto& each : all) each.join();
}

TEST(Resize, ToMoreTheyComeWhenThereIsWorkForThem) {
  runtime one({.workers = 1});
  parallel_context growing(one, "growing", {.workers = 1, .autoscale = never_more});
  growing.resize({1, 6});
  EXPECT_EQ(growing.workers(), 6U);
  EXPECT_EQ(growing.threads(), 1U);
  run_side_by_side(growing, 6);  // else this hangs
  EXPECT_EQ(growing.threads(), 6U);
}

TEST(Resize, ToMoreAtOnce) {
  runtime one({.workers = 1});
  parallel_context growing(one, "growing", {.workers = {1, 4}, .autoscale = never_more});
  growing.resize({3, 8});  // of these, some could be called already
  await_threads(growing, 3);
  growing.resize(7);
  await_threads(growing, 7);
}

TEST(Resize, ToFewerTheOthersGoThoughThereIsWork) {
  runtime one({.workers = 1});
  parallel_context shrinking(one, "shrinking", {.workers = 4, .autoscale = never_more});
  std::atomic<bool> stop{false};
  std::vector<handle<void>> busy;
  for (int i = 0; i < 16; ++i) {
    busy.push_back(shrinking.spawn([&] {
      while (!stop.load()) this_fiber::yield();
    }));
  }
  run_side_by_side(shrinking, 4);
  shrinking.resize(1);
  await_threads(shrinking, 1);  // else this hangs
  stop.store(true);
  for (auto& each : busy) each.join();
}

TEST(Resize, ToOneNothingRunsAtTheSameTime) {
  runtime one({.workers = 1});
  parallel_context shrinking(one, "shrinking", {.workers = 4});
  run_side_by_side(shrinking, 4);
  shrinking.resize(1);
  await_threads(shrinking, 1);
  std::atomic<int> count{0};  // since ThreadSanitizer reports tasks that race even on one worker
  std::vector<handle<void>> all;
  for (int i = 0; i < 100; ++i) {
    all.push_back(shrinking.spawn([&] {
      for (int k = 0; k < 10; ++k) {
        count.store(count.load() + 1);
        this_fiber::yield();
      }
    }));
  }
  for (auto& each : all) each.join();
  EXPECT_EQ(count.load(), 1000);
}

// One that has much to do when it is told to go leaves it to the others.
TEST(Resize, WhatIsQueuedIsNotLost) {
  constexpr int tasks = 2000;
  runtime one({.workers = 1});
  parallel_context shrinking(one, "shrinking", {.workers = 4, .autoscale = never_more});
  std::atomic<int> done{0};
  std::vector<handle<void>> parents;
  for (int p = 0; p < 4; ++p) {
    parents.push_back(shrinking.spawn([&] {
      for (int i = 0; i < tasks; ++i) {
        spawn([&] {
          this_fiber::yield();
          done.fetch_add(1);
        }).detach();
      }
    }));
  }
  shrinking.resize(1);
  for (auto& each : parents) each.join();
  while (done.load() < 4 * tasks) std::this_thread::sleep_for(1ms);  // else this hangs
  await_threads(shrinking, 1);
}

std::uint64_t fib(std::uint64_t n) {
  if (n < 2) return n;
  const auto [a, b] = join([n] { return fib(n - 1); }, [n] { return fib(n - 2); });
  return a + b;
}

TEST(Resize, InTheMidstOfJoins) {
  runtime one({.workers = 1});
  parallel_context changing(one, "changing", {.workers = 4, .steal = true});
  handle<std::uint64_t> result = changing.spawn([] { return fib(testing::scaled(27, 20)); });
  for (std::uint32_t i = 0; i < 50; ++i) {
    changing.resize(1 + i % 4);
    std::this_thread::sleep_for(200us);
  }
  EXPECT_EQ(result.join(), testing::scaled<std::uint64_t>(196418, 6765));
}

// Halves of joins lie in the deque of a worker that goes, and nobody may steal: it runs them itself before.
TEST(Resize, InTheMidstOfJoinsThatNobodyMaySteal) {
  runtime one({.workers = 1});
  parallel_context changing(one, "changing", {.workers = 2, .steal = false, .autoscale = never_more});
  std::atomic<bool> is_waiting{false};
  std::atomic<bool> go{false};
  const auto wait = [&] {
    is_waiting.store(true);
    while (!go.load()) this_fiber::sleep_for(1ms);
  };
  std::vector<handle<void>> all;
  for (int i = 0; i < 4; ++i) {
    all.push_back(changing.spawn([&] { (void)join([&] { wait(); }, [&] { this_fiber::yield(); }); }));
  }
  while (!is_waiting.load()) std::this_thread::yield();
  changing.resize(1);
  go.store(true);
  for (auto& each : all) each.join();  // else this hangs
}

TEST(Resize, ATaskThatIsPinnedKeepsItsWorker) {
  runtime one({.workers = 1});
  parallel_context shrinking(one, "shrinking", {.workers = 4, .autoscale = never_more});
  std::atomic<std::uint32_t> begun{0};
  std::atomic<bool> go{false};
  std::vector<handle<void>> pinned;
  for (int i = 0; i < 4; ++i) {
    pinned.push_back(shrinking.spawn([&] {
      const pin_guard pinned_here;
      begun.fetch_add(1);
      while (begun.load() < 4) std::this_thread::yield();  // one on each
      const std::thread::id before = std::this_thread::get_id();
      while (!go.load()) {
        this_fiber::sleep_for(1ms);
        ASSERT_EQ(std::this_thread::get_id(), before);
      }
    }));
  }
  while (begun.load() < 4) std::this_thread::yield();
  shrinking.resize(1);
  for (int i = 0; i < 20; ++i) shrinking.spawn([] {}).join();
  EXPECT_EQ(shrinking.threads(), 4U);
  go.store(true);
  for (auto& each : pinned) each.join();
  await_threads(shrinking, 1);
}

// Also those go that sysmon has added.
TEST(Resize, ToOneThoseThatWereAddedGoAsWell) {
  runtime one({.workers = 1});
  parallel_context changing(one, "changing", {.workers = 2});
  std::atomic<bool> go{false};
  std::atomic<bool> stop{false};
  std::vector<handle<void>> all;
  for (int i = 0; i < 2; ++i)
    all.push_back(changing.spawn([&] {
      while (!go.load()) ::poll(nullptr, 0, 1);
    }));
  for (int i = 0; i < 8; ++i)
    all.push_back(changing.spawn([&] {
      while (!stop.load()) this_fiber::yield();
    }));
  while (changing.threads() < 4) std::this_thread::sleep_for(1ms);
  go.store(true);
  changing.resize(1);
  while (changing.threads() > 1) std::this_thread::sleep_for(1ms);  // else this hangs
  stop.store(true);
  for (auto& each : all) each.join();
}

TEST(Resize, ByATaskOfItsOwn) {
  run(
      [] {
        auto& mine = dynamic_cast<parallel_context&>(*execution_context::current());
        mine.resize(4);
        mine.resize(1);
        for (int i = 0; i < 10; ++i) this_fiber::yield();
        mine.resize({2, 3});
        EXPECT_EQ(mine.workers(), 3U);
      },
      {.workers = 2});
}

TEST(Resize, WhatCannotBeIsNamed) {
  runtime one({.workers = 1});
  parallel_context changing(one, "changing", {.workers = 2});
  const auto message = [&](worker_count wished) -> std::string {
    try {
      changing.resize(wished);
    } catch (const std::invalid_argument& error) {
      return error.what();
    }
    return "none";
  };
  EXPECT_EQ(
      message(300),
      "resize(): workers is 300; there are 1 to 256, or 0 for as many as this process may use processors");
  EXPECT_EQ(message({300, 0}), message(300));
  EXPECT_EQ(message({3, 2}), "resize(): workers is 3 to 2; no more are there at first than at most");
  EXPECT_EQ(changing.workers(), 2U);
}

// Those who come late are asked to stop as those who were there.
TEST(LazyWorkers, WhoComesAfterACancelIsAskedToStop) {
  runtime one({.workers = 1});
  parallel_context cancelled(one, "cancelled", {.workers = {1, 4}, .autoscale = never_more});
  cancelled.request_cancel();
  std::atomic<int> ran{0};
  std::vector<handle<void>> all;
  for (int i = 0; i < 1000; ++i) all.push_back(cancelled.spawn([&] { ran.fetch_add(1); }));
  for (auto& each : all) EXPECT_THROW(each.join(), std::system_error);
  cancelled.resize(4);
  for (auto& each : all) each = cancelled.spawn([&] { ran.fetch_add(1); });
  for (auto& each : all) EXPECT_THROW(each.join(), std::system_error);
  EXPECT_EQ(ran.load(), 0);
}

// -- Where the threads run ------------------------------------------------------------------------------------------------------

std::set<std::uint32_t> processors_here() {
  cpu_set_t mask;
  EXPECT_EQ(::sched_getaffinity(0, sizeof mask, &mask), 0);
  std::set<std::uint32_t> found;
  for (std::uint32_t i = 0; i < CPU_SETSIZE; ++i) {
    if (CPU_ISSET(i, &mask)) found.insert(i);
  }
  return found;
}
int niceness_here() { return ::getpriority(PRIO_PROCESS, static_cast<id_t>(::gettid())); }

TEST(Place, AContextsThreadsRunOnItsProcessors) {
  const std::uint32_t last = *processors_here().rbegin();
  runtime one({.workers = 1});
  parallel_context bound(one, "bound", {.workers = 3, .processors = {last}});
  concurrent_context turns(one, "turns", {.processors = {last}});
  for (int i = 0; i < 10; ++i) EXPECT_EQ(bound.spawn(processors_here).join(), std::set{last});
  EXPECT_EQ(turns.spawn(processors_here).join(), std::set{last});
  EXPECT_EQ(one.spawn(processors_here).join(), processors_here());
  std::set<std::uint32_t> seen;
  isolated_context alone(one, "alone", [&] { seen = processors_here(); }, {.processors = {last}});
  alone.join();
  EXPECT_EQ(seen, std::set{last});
}

TEST(Place, ItHasAsManyWorkersAsProcessors) {
  runtime one({.workers = 1});
  parallel_context bound(one, "bound", {.processors = {*processors_here().begin()}});
  EXPECT_EQ(bound.workers(), 1U);
}

// Made by a task that is bound itself, a context is not.
TEST(Place, IsNotInherited) {
  const std::set<std::uint32_t> all = processors_here();
  runtime one({.workers = 1});
  isolated_context alone(one, "alone",
                         [&] {
                           parallel_context made("made", {.workers = 1});
                           EXPECT_EQ(made.spawn(processors_here).join(), all);
                           parallel_context chosen("chosen");
                           EXPECT_EQ(chosen.workers(),
                                     one.spawn([] { return parallel_context("like").workers(); }).join());
                         },
                         {.processors = {*all.begin()}});
  alone.join();
}

TEST(Place, AContextsThreadsMayBeNicer) {
  runtime one({.workers = 1});
  const int usual = niceness_here();
  parallel_context nicer(one, "nicer", {.workers = 2, .niceness = usual + 2});
  EXPECT_EQ(nicer.spawn(niceness_here).join(), usual + 2);
  EXPECT_EQ(one.spawn(niceness_here).join(), usual);
}

TEST(Place, WhatCannotBeIsNamed) {
  runtime one({.workers = 1});
  const auto message = [&](const context_options& how) -> std::string {
    try {
      parallel_context(one, "wrong", how);
    } catch (const std::invalid_argument& error) {
      return error.what();
    }
    return "none";
  };
  EXPECT_EQ(
      message({.processors = {5000}}),
      "context_options::processors is one with the number 5000; this process may not use that: `taskset -p` "
      "shows which it may");
  EXPECT_EQ(message({.niceness = 20}), "context_options::niceness is 20; it is from -20 to 19");
}

// -- All of it at once ----------------------------------------------------------------------------------------------------------

TEST(ResizeStorm, NothingIsLostOrDelayed) {
  const int rounds = testing::scaled(300, 40) * testing::repetitions(10);
  runtime one({.workers = 2, .seed = testing::test_seed()});
  parallel_context changing(one, "changing", {.workers = 2});
  std::atomic<bool> stop{false};
  std::atomic<std::uint64_t> spawned{0};
  std::atomic<std::uint64_t> done{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      while (!stop.load()) {
        std::vector<handle<void>> some;
        for (int i = 0; i < 16; ++i) {
          spawned.fetch_add(1);
          some.push_back(changing.spawn([&, i] {
            if (i % 3 == 0) this_fiber::yield();
            if (i % 5 == 0) this_fiber::sleep_for(10us);
            if (i % 4 == 0) nursery([](nursery& n) { n.spawn([] { this_fiber::yield(); }); });
            done.fetch_add(1);
          }));
        }
        for (auto& each : some) each.join();
      }
    });
  }
  impl::xoshiro256ss random(testing::test_seed());
  for (int i = 0; i < rounds; ++i) {
    changing.resize({1, 1 + static_cast<std::uint32_t>(random.below(6))});
    if (i % 7 == 0) changing.resize(1 + static_cast<std::uint32_t>(random.below(4)));
    std::this_thread::sleep_for(300us);
  }
  stop.store(true);
  for (auto& each : threads) each.join();
  EXPECT_EQ(done.load(), spawned.load());
  changing.resize(3);
  run_side_by_side(changing, 3);
}

}  // namespace
}  // namespace weft
