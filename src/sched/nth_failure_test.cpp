// SPDX-License-Identifier: Apache-2.0
//
// Whatever the system may refuse, at each single place where it can: then that is an error, or it goes on otherwise; nothing is lost, nothing
// hangs, and afterwards all is well. On the interposed platform.

#include "sched/runtime_core.hpp"
#include "sys/platform_interposed.hpp"

#include <weft/blocking.hpp>
#include <weft/custom_context.hpp>
#include <weft/error.hpp>
#include <weft/execution_context.hpp>
#include <weft/join.hpp>
#include <weft/nursery.hpp>
#include <weft/runtime.hpp>
#include <weft/this_fiber.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <gtest/gtest.h>
#include <iostream>
#include <mutex>
#include <new>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace weft {
namespace {

using impl::door;
using impl::doors;
using namespace std::chrono_literals;

/// What was spawned and what has run, of all attempts.
struct counts {
  std::atomic<std::uint64_t> begun{0};
  std::atomic<std::uint64_t> ended{0};
};

class ended_here {
 public:
  explicit ended_here(counts& in) noexcept : in_(in) { ++in_.begun; }
  ended_here(const ended_here&) = delete;
  ended_here& operator=(const ended_here&) = delete;
  ~ended_here() { ++in_.ended; }

 private:
  counts& in_;
};

void spawn_some(execution_context& in, counts& all) {
  std::vector<handle<void>> held;
  for (int i = 0; i < 8; ++i)
    held.push_back(in.spawn([&all, i] {
      const ended_here noted(all);
      if (i % 2 == 0) this_fiber::yield();
      if (i % 4 == 0) this_fiber::sleep_for(10us);
    }));
  held.push_back(in.spawn({.name = "large", .stack_bytes = 1U << 20U}, [&all] {
    const ended_here noted(all);
    this_fiber::yield();
  }));
  for (auto& each : held) each.join();
}

// Start, spawn, resize, blocking calls, shutdown.
void live(counts& all) {
  runtime one({.workers = {1, 2}});
  execution_context& first = *one.spawn([] { return execution_context::current(); }).join();
  spawn_some(first, all);
  parallel_context other(one, "other", {.workers = {1, 3}});
  spawn_some(other, all);
  other.resize(3);
  spawn_some(other, all);
  other.resize(1);
  const concurrent_context turns(one, "turns");
  one.spawn([&] {
       blocking([&all] { const ended_here noted(all); });
       nursery([&](nursery& n) {
         for (int i = 0; i < 8; ++i)
           n.spawn([&all] {
             const ended_here noted(all);
             this_fiber::yield();
           });
       });
       (void)join(
           [] {
             this_fiber::yield();
             return 1;
           },
           [] { return 2; });
     })
      .join();
  isolated_context only(one, "only", [&all] { const ended_here noted(all); });
  only.join();
  EXPECT_TRUE(one.shutdown(1min).is_complete());
}

/// Returns whether all went well, or an error has said why not.
bool try_to_live(counts& all) {
  try {
    live(all);
    return true;
  } catch (const std::system_error&) {
  } catch (const std::bad_alloc&) {
  }
  return false;
}

struct hard_day {
  const char* name;
  door at;
};
void PrintTo(const hard_day& day, std::ostream* to) { *to << day.name; }

class NthFailureTest : public ::testing::TestWithParam<hard_day> {
 protected:
  void TearDown() override { doors.reset(); }
};
INSTANTIATE_TEST_SUITE_P(
    , NthFailureTest,
    ::testing::Values(hard_day{"Reserve", door::reserve}, hard_day{"GuardLight", door::guard_light},
                      hard_day{"GuardLightEach", door::guard_light_each},
                      hard_day{"GuardByProtection", door::guard_by_protection},
                      hard_day{"GuardHolds", door::guard_holds}, hard_day{"Discard", door::discard},
                      hard_day{"Residency", door::residency}, hard_day{"MappingLimit", door::mapping_limit},
                      hard_day{"ThreadStart", door::thread_start}, hard_day{"Allocate", door::allocate},
                      hard_day{"Sleep", door::sleep}),
    [](const auto& of) { return std::string(of.param.name); });

// How often a door is used is a little different each time; so until one attempt has not come as far.
TEST_P(NthFailureTest, IsAnErrorOrGoesOnOtherwise) {
  constexpr std::uint64_t most = 400;
  counts all;
  live(all);
  std::uint64_t errors = 0;
  std::uint64_t n = 1;
  for (;; ++n) {
    doors.reset();
    doors.fail_nth(GetParam().at, n);
    if (!try_to_live(all)) ++errors;
    if (doors.calls(GetParam().at) < n || n == most) break;
  }
  doors.reset();
  live(all);
  EXPECT_EQ(all.begun.load(), all.ended.load());
  std::cout << n << " times something was refused, and " << errors << " times that was an error\n";
}

// A system that has no more threads at all: who is there does the work.
TEST(NoMoreThreads, AreAnErrorOrFewer) {
  counts all;
  live(all);
  std::uint64_t errors = 0;
  for (std::uint64_t n = 1; n <= 12; ++n) {
    doors.reset();
    doors.fail_from(door::thread_start, n);
    if (!try_to_live(all)) ++errors;
  }
  doors.reset();
  live(all);
  EXPECT_GT(errors, 0U) << "a runtime without a thread was made";
  EXPECT_EQ(all.begun.load(), all.ended.load());
}

// Calls that need a thread, from several workers at the same time: each is made, on a thread that is there or where it was asked for.
TEST(NoMoreThreads, BlockingCallsAreMadeAllTheSame) {
  constexpr int callers = 4;
  for (int round = 0; round < 200; ++round) {
    runtime one({.workers = callers, .autoscale = {.is_on = false}});
    doors.reset();
    doors.fail_from(door::thread_start, 1 + static_cast<std::uint64_t>(round % 3));
    std::atomic<int> ready{0};
    std::atomic<int> made{0};
    nursery(one, [&](nursery& n) {
      for (int i = 0; i < callers; ++i) {
        n.spawn([&] {
          ready.fetch_add(1);
          while (ready.load() < callers) {
          }
          for (int k = 0; k < 4; ++k) blocking([&] { made.fetch_add(1); });
        });
      }
    });
    doors.reset();
    ASSERT_EQ(made.load(), 4 * callers);
  }
}

// What one does may wait for what another one does.
TEST(NoMoreThreads, ABlockingCallDoesNotWaitBehindAnother) {
  runtime one({.workers = 2, .autoscale = {.is_on = false}});
  std::atomic<bool> is_in{false};
  std::atomic<bool> go{false};
  handle<void> first = one.spawn([&] {
    blocking([&] {
      is_in.store(true);
      go.wait(false);
    });
  });
  while (!is_in.load()) std::this_thread::yield();
  doors.reset();
  doors.fail_from(door::thread_start, 1);
  handle<void> second = one.spawn([&] {
    blocking([&] {
      go.store(true);
      go.notify_all();
    });
  });
  second.join();  // else this hangs
  first.join();
  doors.reset();
}

// Who is there always has something to do, and never looks for what was left for somebody else.
TEST(NoMoreThreads, WhatWasLeftForOneThatCannotComeIsRun) {
  runtime one({.workers = {1, 2}, .autoscale = {.is_on = false}});
  doors.reset();
  doors.fail_from(door::thread_start, 1);
  std::atomic<bool> stop{false};
  std::vector<handle<void>> busy;
  for (int i = 0; i < 2; ++i) {
    busy.push_back(one.spawn([&] {
      while (!stop.load()) this_fiber::yield();
    }));
  }
  for (int i = 0; i < 20; ++i) one.spawn([] {}).join();  // else this hangs
  stop.store(true);
  for (handle<void>& each : busy) each.join();
  doors.reset();
}

// All are blocked, and the system has no other thread: that is tried again now and then, and not all the time or in all places.
TEST(NoMoreThreads, AreNotAskedForAllTheTime) {
  runtime one({.workers = 2});
  std::atomic<bool> go{false};
  std::atomic<int> begun{0};
  std::vector<handle<void>> blocked;
  for (int i = 0; i < 2; ++i) {
    blocked.push_back(one.spawn([&] {
      begun.fetch_add(1);
      go.wait(false);
    }));
  }
  while (begun.load() < 2) std::this_thread::yield();
  doors.reset();
  doors.fail_from(door::thread_start, 1);
  handle<void> waits = one.spawn([] {});
  while (doors.calls(door::thread_start) == 0) std::this_thread::yield();
  std::this_thread::sleep_for(150ms);
  EXPECT_LE(doors.calls(door::thread_start), 4U);
  EXPECT_LE(detail::context_of(one)->workers().size(), 4U);
  doors.reset();
  waits.join();  // else this hangs
  go.store(true);
  go.notify_all();
  for (auto& each : blocked) each.join();
}

/// Runs its tasks when it is told to.
class patient_context final : public custom_context {
 public:
  explicit patient_context(runtime& in) : custom_context(in, "patient") {}
  patient_context(const patient_context&) = delete;
  patient_context& operator=(const patient_context&) = delete;
  ~patient_context() override {
    close();
    while (!is_over()) run_one();
  }

  void run_one() {
    ready_task next;
    {
      const std::lock_guard hold(lock_);
      if (queue_.empty()) return;
      next = std::move(queue_.front());
      queue_.pop_front();
    }
    here_.run(std::move(next));
  }

 private:
  void enqueue(ready_task ready) noexcept override {
    const std::lock_guard hold(lock_);
    queue_.push_back(std::move(ready));
  }

  std::mutex lock_;
  std::deque<ready_task> queue_;
  runner here_{*this};
};

// There is no stack for a task when its turn comes: it comes again later.
TEST(NoMoreStacks, ATaskOfACustomContextComesAgain) {
  runtime one({.workers = 1});
  patient_context mine(one);
  bool has_run = false;
  handle<void> large = mine.spawn({.stack_bytes = 4U << 20U}, [&] { has_run = true; });
  doors.reset();
  doors.fail_from(door::reserve, 1);
  for (int i = 0; i < 3; ++i) mine.run_one();
  EXPECT_FALSE(has_run);
  doors.reset();
  while (!large.is_done()) mine.run_one();  // else this hangs
  large.join();
  EXPECT_TRUE(has_run);
}

}  // namespace
}  // namespace weft
