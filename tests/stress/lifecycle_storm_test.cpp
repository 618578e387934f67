// SPDX-License-Identifier: Apache-2.0
//
// Runtimes that come and go, while threads and tasks spawn to the last moment and beyond. Each time the sum is drawn: whatever
// somebody wanted to spawn has finished, was cancelled, or was refused.

#include "base/rng.hpp"
#include "support/scale.hpp"
#include "support/seed.hpp"

#include <weft/runtime.hpp>
#include <weft/suspend.hpp>
#include <weft/this_fiber.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <gtest/gtest.h>
#include <iostream>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace weft {
namespace {

using impl::xoshiro256ss;
using std::chrono::microseconds;

/// What has become of all that somebody wanted to spawn in one runtime.
struct ledger {
  std::atomic<std::uint64_t> wanted{0};
  std::atomic<std::uint64_t> refused{0};
  std::atomic<std::uint64_t> finished{0};
  std::atomic<std::uint64_t> stopped{0};    // in a wait
  std::atomic<std::uint64_t> not_begun{0};  // but gone: cancelled before, or refused
};

/// Goes with a function from when somebody wants to spawn it to its end.
class ticket {
 public:
  explicit ticket(ledger& in) noexcept : in_(&in) { ++in.wanted; }
  ticket(ticket&& other) noexcept : in_(std::exchange(other.in_, nullptr)) {}
  ticket(const ticket&) = delete;
  ticket& operator=(const ticket&) = delete;
  ticket& operator=(ticket&&) = delete;
  ~ticket() {
    if (in_ != nullptr) ++in_->not_begun;
  }
  /// The function has begun.
  [[nodiscard]] ledger& use() noexcept { return *std::exchange(in_, nullptr); }

 private:
  ledger* in_;
};

void live(ledger& in, xoshiro256ss random, int depth);

void spawn_child(ledger& in, xoshiro256ss random, int depth) {
  spawn([mine = ticket(in), random, depth]() mutable { live(mine.use(), random, depth); }).detach();
}

// What a task does, at random.
void live_through(ledger& in, xoshiro256ss& random, int depth) {
  switch (random.below(8)) {
    case 0: this_fiber::yield(); break;
    case 1: suspend("storm", [](const resumer&) {}); break;
    case 2: this_fiber::sleep_for(microseconds(random.below(100))); break;
    case 3: this_fiber::sleep_for(std::chrono::hours(1)); break;
    case 4: {
      auto child = spawn(
          [mine = ticket(in), each = random.split(), depth]() mutable { live(mine.use(), each, depth - 1); });
      try {
        child.join();
      } catch (const std::system_error&) {  // it was asked to stop before we were
      }
      break;
    }
    case 5:
      try {
        for (int i = 0; i < 100; ++i) this_fiber::yield();
      } catch (const cancelled&) {
        if (depth > 0) spawn_child(in, random.split(), depth - 1);  // it goes on all the same
      }
      break;
    default: break;
  }
}

void live(ledger& in, xoshiro256ss random, int depth) {
  if (depth > 0 && random.below(3) == 0) spawn_child(in, random.split(), depth - 1);
  try {
    if (depth > 0) live_through(in, random, depth);
  } catch (const cancelled&) {
    ++in.stopped;
    throw;
  }
  ++in.finished;
}

/// Threads that spawn into one runtime after the other, each until it is refused.
class strangers {
 public:
  explicit strangers(xoshiro256ss random) {
    for (auto& each : threads_) each = std::thread([this, mine = random.split()]() mutable { run(mine); });
  }
  strangers(const strangers&) = delete;
  strangers& operator=(const strangers&) = delete;
  ~strangers() {
    stop_ = true;
    for (auto& each : threads_) each.join();
  }

  /// Sets them on a runtime.
  void begin(runtime& there, ledger& in) {
    there_ = &there;
    in_ = &in;
    at_work_ = static_cast<int>(threads_.size());
    ++turn_;
  }
  /// Returns when all have been refused, which is after somebody has shut it down.
  void await() const {
    while (at_work_ != 0) std::this_thread::yield();
  }

 private:
  void run(xoshiro256ss random) {
    for (std::uint64_t turn = 1;; ++turn) {
      while (turn_ < turn) {
        if (stop_) return;
        std::this_thread::yield();
      }
      spawn_until_refused(random);
      --at_work_;
    }
  }

  void spawn_until_refused(xoshiro256ss& random) {
    constexpr int at_once = 10;
    std::vector<handle<void>> held;
    try {
      for (int spawned = 0;; ++spawned) {
        auto task = there_->spawn(
            [mine = ticket(*in_), each = random.split()]() mutable { live(mine.use(), each, 2); });
        if (random.below(2) == 0) held.push_back(std::move(task));
        // The runtime should come to an end, and need not end so many.
        if (spawned >= at_once) std::this_thread::sleep_for(microseconds(10));
      }
    } catch (const std::system_error& error) {
      EXPECT_EQ(error.code(), make_error_code(errc::shut_down));
      ++in_->refused;
    }
    for (auto& each : held) {
      try {
        each.join();
      } catch (const std::system_error& error) {
        EXPECT_EQ(error.code(), make_error_code(errc::cancelled));
      }
    }
  }

  runtime* there_ = nullptr;
  ledger* in_ = nullptr;
  std::atomic<std::uint64_t> turn_{0};
  std::atomic<int> at_work_{0};
  std::atomic<bool> stop_{false};
  std::array<std::thread, 2> threads_;
};

void shut_down(runtime& one, const ledger& all, xoshiro256ss& random) {
  // At once, while the first come in, or when some have come through.
  const std::uint32_t come_in = random.below(2) * random.below(20);
  const std::uint32_t come_through = random.below(8) == 0 ? 1 : 0;
  while (all.wanted < come_in || all.finished < come_through) std::this_thread::yield();
  switch (random.below(3)) {
    case 0: break;
    case 1: one.request_cancel(); break;
    default: (void)one.shutdown(microseconds(random.below(50)));
  }
  EXPECT_TRUE(one.shutdown(std::chrono::hours(1)).is_complete());
}

TEST(LifecycleStorm, WhateverIsSpawnedFinishesOrIsCancelledOrRefused) {
  const std::uint64_t rounds =
      testing::storm_length{.usual = 3'000, .slow = 100, .long_run = 100'000, .long_slow = 100'000}.now();
  xoshiro256ss random(testing::test_seed());
  strangers outside(random.split());
  std::uint64_t cancelled_ones = 0;
  std::uint64_t finished_ones = 0;
  for (std::uint64_t round = 0; round < rounds; ++round) {
    ledger all;
    std::uint64_t ended = 0;
    {
      runtime one({.workers = 1 + random.below(3), .seed = random()});
      outside.begin(one, all);
      shut_down(one, all, random);
      outside.await();
      const runtime_statistics counts = one.statistics();
      for (const worker_statistics& each : counts.contexts.front().workers) ended += each.tasks;
    }
    const std::uint64_t cancelled_here = all.stopped + all.not_begun - all.refused;
    ASSERT_EQ(all.refused, 2U) << "each thread goes on until it is refused";
    ASSERT_EQ(all.finished + cancelled_here + all.refused, all.wanted)
        << "somebody was lost, or is there twice";
    ASSERT_EQ(ended + all.refused, all.wanted) << "as the workers count";
    cancelled_ones += cancelled_here;
    finished_ones += all.finished;
  }
  std::cout << finished_ones << " finished, " << cancelled_ones << " were cancelled, " << 2 * rounds
            << " refused\n";
  EXPECT_GT(finished_ones, 0U);
  EXPECT_GT(cancelled_ones, 0U);
}

// A runtime that is destroyed, and not shut down before: what was begun has ended then.
TEST(LifecycleStorm, RuntimesComeAndGo) {
  const std::uint64_t rounds = testing::storm_length{.usual = 3'000, .slow = 100, .long_run = 100'000}.now();
  xoshiro256ss random(testing::test_seed());
  for (std::uint64_t round = 0; round < rounds; ++round) {
    ledger all;
    {
      runtime one({.workers = 1 + random.below(3), .seed = random()});
      for (std::uint32_t i = random.below(10); i > 0; --i) {
        one.spawn([mine = ticket(all), each = random.split()]() mutable { live(mine.use(), each, 2); })
            .detach();
      }
      if (random.below(4) == 0) std::this_thread::yield();
    }
    ASSERT_EQ(all.finished + all.stopped + all.not_begun, all.wanted);
  }
}

}  // namespace
}  // namespace weft
