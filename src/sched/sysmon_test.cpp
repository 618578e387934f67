// SPDX-License-Identifier: Apache-2.0
//
// Workers that come when they are needed, and go when they are not.

#include "sched/runtime_core.hpp"
#include "support/scale.hpp"

#include <weft/execution_context.hpp>
#include <weft/join.hpp>
#include <weft/nursery.hpp>
#include <weft/pin_guard.hpp>
#include <weft/runtime.hpp>
#include <weft/this_fiber.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <gtest/gtest.h>
#include <poll.h>
#include <sched.h>
#include <thread>
#include <vector>

namespace weft {
namespace {

using namespace std::chrono_literals;

impl::pool& pool_of(runtime& of) { return *detail::context_of(of); }
std::uint32_t threads_of(runtime& of) { return pool_of(of).workers().there(); }

/// Blocks its thread in the kernel until it is told.
void block_until(const std::atomic<bool>& told) {
  while (!told.load()) ::poll(nullptr, 0, 1);
}
void compute_until(const std::atomic<bool>& told) {
  while (!told.load()) {
  }
}

TEST(LazyWorkers, OneIsThereAtFirst) {
  runtime one({.workers = {1, 8}});
  EXPECT_EQ(one.workers(), 8U);
  EXPECT_EQ(threads_of(one), 1U);
  one.spawn([] {}).join();
}

TEST(LazyWorkers, AsManyAsWereAskedForAreThereAtFirst) {
  runtime one({.workers = {3, 8}});
  EXPECT_EQ(threads_of(one), 3U);
  runtime exactly({.workers = 4});
  EXPECT_EQ(threads_of(exactly), 4U);
}

// Each of the tasks ends when all of them have begun: so they need a worker each.
TEST(LazyWorkers, TheOthersComeWhenThereIsWorkForThem) {
  constexpr std::uint32_t count = 8;
  runtime one({.workers = {1, count}, .autoscale = {.is_on = false}});
  std::atomic<std::uint32_t> begun{0};
  nursery(one, [&](nursery& n) {
    for (std::uint32_t i = 0; i < count; ++i) {
      n.spawn([&] {
        begun.fetch_add(1);
        while (begun.load() < count) std::this_thread::yield();
      });
    }
  });
  EXPECT_EQ(threads_of(one), count);
}

TEST(LazyWorkers, ManyTimesFromTheBeginning) {
  for (int i = 0; i < 200; ++i) {
    runtime one({.workers = {1, 4}});
    std::atomic<int> done{0};
    nursery(one, [&](nursery& n) {
      for (int k = 0; k < 16; ++k) n.spawn([&] { done.fetch_add(1); });
    });
    ASSERT_EQ(done.load(), 16);
  }
}

// -- Workers that are blocked ---------------------------------------------------------------------------------------------------

// All but one are blocked; then all of them are: the rest is served all the same.
TEST(BlockedWorkers, AreReplaced) {
  constexpr std::uint32_t count = 3;
  runtime one({.workers = count});
  std::atomic<bool> go{false};
  std::vector<handle<void>> blocked;
  for (std::uint32_t i = 0; i < 3 * count; ++i) blocked.push_back(one.spawn([&] { block_until(go); }));
  for (int i = 0; i < 100; ++i) EXPECT_EQ(one.spawn([i] { return i; }).join(), i);
  EXPECT_GE(threads_of(one), 3 * count);
  EXPECT_GE(pool_of(one).scaled().replaced.load(), 2 * count);
  go.store(true);
  for (auto& each : blocked) each.join();
}

TEST(BlockedWorkers, WhatLiesInTheirQueuesIsRunByOthers) {
  runtime one({.workers = 2});
  std::atomic<bool> go{false};
  std::atomic<int> done{0};
  constexpr int children = 100;
  const auto block_with_children = [&] {
    for (int i = 0; i < children; ++i) spawn([&] { done.fetch_add(1); }).detach();
    block_until(go);
  };
  handle<void> first = one.spawn(block_with_children);
  handle<void> second = one.spawn(block_with_children);
  while (done.load() < 2 * children) std::this_thread::sleep_for(1ms);  // else this hangs
  go.store(true);
  first.join();
  second.join();
}

TEST(BlockedWorkers, TimersGoOffMeanwhile) {
  runtime one({.workers = 2});
  std::atomic<bool> go{false};
  std::atomic<int> ticks{0};
  handle<void> clock = one.spawn([&] {
    for (int i = 0; i < 20; ++i) {
      this_fiber::sleep_for(1ms);
      ticks.fetch_add(1);
    }
  });
  std::vector<handle<void>> blocked;
  for (int i = 0; i < 4; ++i) blocked.push_back(one.spawn([&] { block_until(go); }));
  clock.join();
  EXPECT_EQ(ticks.load(), 20);
  go.store(true);
  for (auto& each : blocked) each.join();
}

TEST(BlockedWorkers, ThoseThatWereAddedGoWhenThereIsNothingToDo) {
  runtime one({.workers = 2});
  std::atomic<bool> go{false};
  std::vector<handle<void>> blocked;
  for (int i = 0; i < 8; ++i) blocked.push_back(one.spawn([&] { block_until(go); }));
  for (int i = 0; i < 100; ++i) one.spawn([] {}).join();
  EXPECT_GT(threads_of(one), 2U);
  go.store(true);
  for (auto& each : blocked) each.join();
  while (threads_of(one) > 2) std::this_thread::sleep_for(1ms);  // else this hangs
  for (int i = 0; i < 100; ++i) one.spawn([] {}).join();
}

// A task that is pinned to a worker keeps it.
TEST(BlockedWorkers, OneThatWasAddedStaysWhileATaskIsPinnedToIt) {
  runtime one({.workers = 2});
  std::atomic<bool> go{false};
  std::vector<handle<void>> blocked;
  for (int i = 0; i < 2; ++i) blocked.push_back(one.spawn([&] { block_until(go); }));
  handle<bool> pinned = one.spawn([] {
    const pin_guard stay;
    const std::thread::id here = std::this_thread::get_id();
    this_fiber::sleep_for(400ms);
    return std::this_thread::get_id() == here;
  });
  EXPECT_TRUE(pinned.join());
  go.store(true);
  for (auto& each : blocked) each.join();
}

// They have sat in the event loop, and sysmon sleeps while somebody does.
TEST(BlockedWorkers, TimersGoOffWhenThoseThatWereAddedHaveGone) {
  runtime one({.workers = 2});
  std::atomic<bool> go{false};
  std::vector<handle<void>> blocked;
  for (int i = 0; i < 2; ++i) blocked.push_back(one.spawn([&] { block_until(go); }));
  handle<void> sleeper = one.spawn([] { this_fiber::sleep_for(500ms); });
  while (threads_of(one) < 3) std::this_thread::sleep_for(1ms);
  sleeper.join();  // else this hangs
  go.store(true);
  for (auto& each : blocked) each.join();
}

/// Blocks its thread until the flag is set, without looking up in between.
void block_on(const std::atomic<bool>& told) { told.wait(false); }
void tell(std::atomic<bool>& told) {
  told.store(true);
  told.notify_all();
}

// sysmon sleeps, and the workers of a new context have never slept: they tell it that they are there.
TEST(BlockedWorkers, OfANewContextAreReplaced) {
  runtime one({.workers = 1});
  for (int i = 0; i < 5; ++i) {
    std::this_thread::sleep_for(100ms);  // nothing runs
    parallel_context fresh(one, "fresh", {.workers = 2});
    std::atomic<bool> go{false};
    std::vector<handle<void>> blocked;
    for (int k = 0; k < 2; ++k) blocked.push_back(fresh.spawn([&] { block_on(go); }));
    fresh.spawn([&] { tell(go); }).join();  // else this hangs
    for (auto& each : blocked) each.join();
  }
}

TEST(BlockedWorkers, OfAContextThatHasJustGrownAreReplaced) {
  runtime one({.workers = 1});
  parallel_context grown(one, "grown", {.workers = 1});
  std::atomic<bool> go{false};
  std::atomic<int> begun{0};
  std::vector<handle<void>> blocked;
  const auto block = [&] {
    begun.fetch_add(1);
    block_on(go);
  };
  blocked.push_back(grown.spawn(block));
  while (begun.load() < 1) std::this_thread::yield();
  std::this_thread::sleep_for(100ms);  // a context of one worker gets no other: so there is nothing to watch
  blocked.push_back(grown.spawn(block));
  handle<void> last = grown.spawn([&] { tell(go); });
  grown.resize(2);
  last.join();  // else this hangs
  for (auto& each : blocked) each.join();
}

// Whoever sat in the event loop is blocked, the other one sleeps, and so does sysmon: somebody has sat down before that.
TEST(BlockedWorkers, WhatBecomesDueIsSeenThoughTheOthersSleep) {
  runtime one({.workers = 2, .autoscale = {.is_on = false}});
  std::atomic<bool> go{false};
  handle<void> blocked = one.spawn([&] {
    this_fiber::sleep_for(1500ms);  // by then memory has been given back, which wakes workers
    block_on(go);
  });
  one.spawn([&] {
       this_fiber::sleep_for(1900ms);
       tell(go);
     })
      .join();  // else this hangs
  blocked.join();
}

// sysmon has gone to sleep over a worker that was blocked. When that goes on and has not slept, it says so.
TEST(BlockedWorkers, WhoComesBackIsWatchedAgain) {
  runtime one({.workers = 1});
  std::atomic<bool> go{false};
  std::atomic<bool> other_ran{false};
  std::atomic<bool> begun{false};
  handle<void> first = one.spawn([&] {
    begun.store(true);
    block_on(go);
    while (!other_ran.load()) this_fiber::checkpoint();  // else this hangs
  });
  while (!begun.load()) std::this_thread::yield();
  std::this_thread::sleep_for(200ms);
  handle<void> other = one.spawn([&] { other_ran.store(true); });
  tell(go);
  first.join();
  other.join();
}

// Where workers take nothing from each other, another one would find nothing to do.
TEST(BlockedWorkers, NobodyComesForWhatCannotBeTaken) {
  runtime one({.workers = 2, .steal = false});
  std::atomic<bool> go{false};
  std::atomic<int> begun{0};
  std::atomic<int> done{0};
  const auto block_with_child = [&] {
    spawn([&] { done.fetch_add(1); }).detach();
    begun.fetch_add(1);
    block_until(go);
  };
  handle<void> first = one.spawn(block_with_child);  // they go to the workers in turn
  handle<void> second = one.spawn(block_with_child);
  while (begun.load() < 2) std::this_thread::yield();
  std::this_thread::sleep_for(50ms);
  EXPECT_EQ(pool_of(one).scaled().replaced.load(), 0U);
  EXPECT_EQ(done.load(), 0);
  go.store(true);
  first.join();
  second.join();
  while (done.load() < 2) std::this_thread::yield();
}

TEST(BlockedWorkers, ASingleWorkerIsNotReplaced) {
  runtime one({.workers = 1});
  std::atomic<bool> go{false};
  handle<void> blocked = one.spawn([&] { block_until(go); });
  handle<void> other = one.spawn([] {});
  std::this_thread::sleep_for(20ms);
  EXPECT_FALSE(other.is_done()) << "tasks of a single worker take turns";
  EXPECT_EQ(threads_of(one), 1U);
  go.store(true);
  blocked.join();
  other.join();
}

// -- Workers that are busy --------------------------------------------------------------------------------------------------------

// crystal#12392: tasks that compute for ever do not keep the others from running.
TEST(BusyWorkers, DoNotStopTheOthers) {
  runtime one({.workers = 2});
  std::atomic<bool> go{false};
  std::vector<handle<void>> busy;
  for (int i = 0; i < 2; ++i) busy.push_back(one.spawn([&] { compute_until(go); }));
  for (int i = 0; i < 10; ++i) EXPECT_EQ(one.spawn([i] { return i; }).join(), i);
  const auto& scaled = pool_of(one).scaled();
  EXPECT_GE(scaled.joined.load() + scaled.replaced.load(), 1U);
  EXPECT_LE(threads_of(one), 4U + scaled.replaced.load()) << "one may have seemed to be blocked";
  go.store(true);
  for (auto& each : busy) each.join();
}

TEST(BusyWorkers, AreNotMoreThanTwiceAsMany) {
  runtime one({.workers = 2, .autoscale = {.busy_after = 0ns}});
  std::atomic<bool> go{false};
  std::vector<handle<void>> busy;
  for (int i = 0; i < 20; ++i) busy.push_back(one.spawn([&] { compute_until(go); }));
  while (threads_of(one) < 4) std::this_thread::sleep_for(1ms);
  std::this_thread::sleep_for(50ms);
  EXPECT_LE(threads_of(one), 4U + pool_of(one).scaled().replaced.load())
      << "some may have seemed to be blocked";
  go.store(true);
  for (auto& each : busy) each.join();
}

TEST(BusyWorkers, AreLeftAloneIfNothingWaits) {
  runtime one({.workers = 2, .autoscale = {.busy_after = 0ns}});
  std::atomic<bool> go{false};
  std::atomic<int> begun{0};
  std::vector<handle<void>> busy;
  for (int i = 0; i < 2; ++i) {
    busy.push_back(one.spawn([&] {
      begun.fetch_add(1);
      compute_until(go);
    }));
  }
  while (begun.load() < 2) std::this_thread::yield();
  const std::uint64_t before = pool_of(one).scaled().joined.load();  // while the second one had to wait
  std::this_thread::sleep_for(50ms);
  EXPECT_LE(pool_of(one).scaled().joined.load(), before + 1)
      << "no more than may have been decided just before";
  go.store(true);
  for (auto& each : busy) each.join();
}

// Whoever sat in the event loop computes, and the other one sleeps: neither comes for what is due next, but that it is called.
TEST(BusyWorkers, WhatBecomesDueIsSeenThoughTheOthersSleep) {
  runtime one({.workers = 2, .autoscale = {.is_on = false}});
  for (int i = 0; i < 20; ++i) {
    std::atomic<bool> go{false};
    handle<void> first = one.spawn([&] {
      this_fiber::sleep_for(2ms);
      compute_until(go);  // for ever, if nobody comes
    });
    one.spawn([&] {
         this_fiber::sleep_for(6ms);
         go.store(true);
       })
        .join();
    first.join();
  }
}

// What is due comes after the task that runs then, and not after as many as come before the oldest has its turn.
TEST(BusyWorkers, WhatBecomesDueComesAfterTheTaskThatRuns) {
  constexpr int tasks = 50;
  runtime one({.workers = 1});
  std::atomic<int> ended{0};
  int ended_before = tasks;
  one.spawn([&] {
       std::vector<handle<void>> all;
       handle<void> sleeper = spawn([&] {
         this_fiber::sleep_for(10ms);
         ended_before = ended.load();
       });
       this_fiber::yield();
       for (int i = 0; i < tasks; ++i) {
         all.push_back(spawn([&] {
           const auto until = std::chrono::steady_clock::now() + 5ms;
           while (std::chrono::steady_clock::now() < until) {
           }
           ended.fetch_add(1);
         }));
       }
       sleeper.join();
       for (auto& each : all) each.join();
     })
      .join();
  EXPECT_LT(ended_before, tasks / 2);
}

// As it is asked to look around before each pick: that counts as a pick.
TEST(BusyWorkers, TheOldestHasItsTurnThoughMoreComesAllTheTime) {
  runtime one({.workers = 1});
  std::atomic<bool> stop{false};
  std::atomic<int> ran{0};
  handle<void> patient;
  one.spawn([&] { patient = spawn({.priority = priority::low}, [&] { stop.store(true); }); }).join();
  const auto compute = [&] {
    const auto until = std::chrono::steady_clock::now() + 400us;
    while (std::chrono::steady_clock::now() < until) {
    }
    ran.fetch_add(1);
  };
  for (int sent = 0; !stop.load() && sent < 20000; ++sent) {
    while (sent - ran.load() > 8 && !stop.load()) std::this_thread::yield();
    one.spawn(compute).detach();
  }
  EXPECT_TRUE(stop.load()) << "not after " << ran.load() << " others";
  patient.join();
}

// The same where each takes so long that sysmon asks several times while it runs.
TEST(BusyWorkers, TheOldestHasItsTurnThoughEachTaskTakesLong) {
  constexpr int most = 2000;
  std::atomic<bool> stop{false};
  std::atomic<int> ran{0};
  std::function<void()> compute;
  runtime one({.workers = 1});
  compute = [&] {
    const auto until = std::chrono::steady_clock::now() + 2ms;
    while (std::chrono::steady_clock::now() < until) {
    }
    if (ran.fetch_add(1) < most && !stop.load()) spawn(compute).detach();
  };
  handle<void> patient;
  one.spawn([&] {
       for (int i = 0; i < 2; ++i) spawn(compute).detach();
       patient = spawn({.priority = priority::low}, [&] { stop.store(true); });
     })
      .join();
  patient.join();
  EXPECT_LT(ran.load(), most);
}

// One is woken for what is due, and on its way: not another one at each look.
TEST(BusyWorkers, OneComesForWhatIsDue) {
  runtime one({.workers = {1, 16}, .autoscale = {.is_on = false}});
  for (int i = 0; i < 5; ++i) {
    handle<void> sleeper = one.spawn([] { this_fiber::sleep_for(1ms); });
    one.spawn([] {
         const auto until = std::chrono::steady_clock::now() + 30ms;
         while (std::chrono::steady_clock::now() < until) {
         }
       })
        .join();
    sleeper.join();
  }
  EXPECT_LE(threads_of(one), 8U);  // one a round, where the machine is busy otherwise
}

// Also in the midst of a yield: the number of picks that are left until then never runs below 0.
TEST(BusyWorkers, MayBeAskedToLookAroundAtAnyMoment) {
  runtime one({.workers = 1, .autoscale = {.is_on = false}});
  std::atomic<bool> stop{false};
  std::vector<handle<void>> yielding;
  for (int i = 0; i < 2; ++i) {
    yielding.push_back(one.spawn([&] {
      while (!stop.load(std::memory_order_relaxed)) this_fiber::yield();
    }));
  }
  impl::worker& only = detail::context_of(one)->workers()[0];
  std::uint32_t most = 0;
  for (int i = 0; i < testing::scaled(2'000'000, 50'000); ++i) {
    impl::worker_progress seen = only.progress();
    most = std::max(most, seen.picks);
    (void)only.ask_to_look(seen);
  }
  stop.store(true);
  for (handle<void>& each : yielding) each.join();
  EXPECT_LE(most, 1'000U);
}

// It forks and joins all the time, and makes progress; but the other one does not.
TEST(BusyWorkers, WhoForksAndJoinsGivesWay) {
  runtime one({.workers = 1});
  std::atomic<bool> other_ran{false};
  handle<void> busy = one.spawn([&] {
    while (!other_ran.load()) {
      for (int i = 0; i < 100; ++i) (void)join([] { return 1; }, [] { return 2; });
      this_fiber::checkpoint();  // else this hangs
    }
  });
  one.spawn([&] { other_ran.store(true); }).join();
  busy.join();
}

TEST(Autoscale, ThoseThatWereAddedGoAlsoWhereWorkersWakeByThemselves) {
  runtime one({.workers = 2, .idle_poll = 1ms});
  std::atomic<bool> go{false};
  std::vector<handle<void>> blocked;
  for (int i = 0; i < 4; ++i) blocked.push_back(one.spawn([&] { block_until(go); }));
  one.spawn([] {}).join();
  EXPECT_GT(threads_of(one), 2U);
  go.store(true);
  for (auto& each : blocked) each.join();
  while (threads_of(one) > 2) std::this_thread::sleep_for(1ms);  // else this hangs
}

// Nobody has asked for a single worker there, so that tasks would take turns.
TEST(Autoscale, ASingleProcessorIsNoWishForASingleWorker) {
  cpu_set_t allowed;
  ASSERT_EQ(::sched_getaffinity(0, sizeof allowed, &allowed), 0);
  std::uint32_t processor = 0;
  while (!CPU_ISSET(processor, &allowed)) ++processor;
  runtime one({.workers = 1});
  parallel_context bound(one, "bound", {.processors = {processor}});
  EXPECT_EQ(bound.workers(), 1U);
  std::atomic<bool> go{false};
  handle<void> blocked = bound.spawn([&] { block_until(go); });
  bound.spawn([&] { go.store(true); }).join();  // else this hangs
  blocked.join();
}

TEST(Autoscale, CanBeSwitchedOff) {
  runtime one({.workers = 2, .autoscale = {.is_on = false}});
  std::atomic<bool> go{false};
  std::vector<handle<void>> blocked;
  for (int i = 0; i < 4; ++i) blocked.push_back(one.spawn([&] { block_until(go); }));
  std::this_thread::sleep_for(50ms);
  EXPECT_EQ(threads_of(one), 2U);
  go.store(true);
  for (auto& each : blocked) each.join();
}

TEST(Autoscale, WhatCannotBeIsNamed) {
  const auto message = [](const autoscale& how) -> std::string {
    try {
      const runtime bad({.workers = 2, .autoscale = how});
    } catch (const std::invalid_argument& error) {
      return error.what();
    }
    return "none";
  };
  EXPECT_EQ(message({.growth = 0.0}),
            "runtime_options::autoscale.growth is 0.000000; it is above 0, and at most 16");
  EXPECT_EQ(message({.growth = 1e30}).substr(0, 36), "runtime_options::autoscale.growth is");
  EXPECT_EQ(message({.most = 0.5}), "runtime_options::autoscale.most is 0.500000; it is from 1 to 16");
  EXPECT_EQ(message({.most = 17.0}), "runtime_options::autoscale.most is 17.000000; it is from 1 to 16");
  EXPECT_EQ(message({.stuck_after = -1ns}),
            "runtime_options::autoscale.stuck_after is -1 ns; it is 0 or more");
}

}  // namespace
}  // namespace weft
