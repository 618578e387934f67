// SPDX-License-Identifier: Apache-2.0
//
// Threads push into one global queue and take from it: each runnable comes out once, in order; and nobody who looks
// for the last time before going to sleep misses one.

#include "queue/global_queue.hpp"
#include "queue/inbox.hpp"
#include "support/flow.hpp"
#include "support/ledger.hpp"
#include "support/scale.hpp"
#include "support/seed.hpp"

#include <atomic>
#include <cstdio>
#include <gtest/gtest.h>
#include <list>
#include <thread>
#include <vector>

namespace weft::impl {
namespace {

using testing::ledger;
using testing::producer;
using testing::taker;

void storm(std::size_t producer_count, std::size_t taker_count, std::size_t stock, std::uint64_t pushes) {
  global_queue queue;
  ledger faults;
  xoshiro256ss random(testing::test_seed());
  std::list<producer> producers;
  std::list<taker> takers;
  for (std::size_t i = 0; i < producer_count; ++i) producers.emplace_back(i, stock, random());
  for (std::size_t i = 0; i < taker_count; ++i) takers.emplace_back(faults, producer_count);
  std::atomic<std::size_t> producing{producer_count};
  std::atomic<std::uint64_t> outcomes[3] = {};
  std::vector<std::thread> threads;
  for (producer& each : producers) {
    threads.emplace_back([&] {
      each.run(queue, pushes, 4, [] { return false; });
      producing.fetch_sub(1);
    });
  }
  for (taker& each : takers) {
    threads.emplace_back([&, mine = random.split()]() mutable {
      std::uint64_t seen[3] = {};
      for (;;) {
        const bool last_look = producing.load() == 0;
        const std::size_t most = 1 + mine.below(16);
        global_queue::taking got = queue.try_take(most);
        ++seen[static_cast<std::size_t>(got.outcome)];
        faults.check(got.items.size() <= most, "more were given than asked for");
        faults.check(got.items.empty() == (got.outcome != take_outcome::taken), "the outcome is not true");
        each.account(std::move(got.items));
        if (got.outcome == take_outcome::empty && last_look) break;
        if (got.outcome != take_outcome::taken) std::this_thread::yield();
      }
      for (std::size_t i = 0; i < 3; ++i) outcomes[i].fetch_add(seen[i]);
    });
  }
  for (std::thread& each : threads) each.join();
  EXPECT_TRUE(queue.empty()) << "all takers saw it empty after the last push";
  std::uint64_t sent = 0;
  std::uint64_t taken = 0;
  for (const producer& each : producers) sent += each.sent();
  for (const taker& each : takers) taken += each.taken();
  EXPECT_EQ(taken, sent);
  EXPECT_EQ(faults.faults(), 0) << faults.first();
  std::printf("%llu runnables; looks: %llu taken, %llu empty, %llu busy\n",
              static_cast<unsigned long long>(taken), static_cast<unsigned long long>(outcomes[0].load()),
              static_cast<unsigned long long>(outcomes[1].load()),
              static_cast<unsigned long long>(outcomes[2].load()));
}

TEST(GlobalQueueStorm, EverythingComesOutOnceAndInOrder) {
  storm(2, 2, 256,
        testing::storm_length{.usual = 10'000'000, .slow = 3'000'000, .long_run = 50'000'000}.now());
}

TEST(GlobalQueueStorm, AFewRunnablesThatComeByAllTheTime) {
  storm(3, 3, 2, testing::storm_length{.usual = 500'000, .slow = 300'000, .long_run = 3'000'000}.now());
}

// The idle protocol in small: a worker that finds nothing says that it will sleep, passes a heavy barrier, and looks
// once more; a pusher pushes, passes a light barrier, and looks for sleepers. Each pusher waits until its runnable has
// been taken, so the worker sleeps nearly every time. A push that is missed is never taken, and the test never ends.
template <class Queue, class Take, class Empty>
void sleep_storm(std::uint64_t pushes, Take&& take, Empty&& empty) {
  Queue queue;
  constexpr std::size_t pushers = 2;
  const barrier_kind barriers = default_platform::barriers();
  std::atomic<int> asleep{0};
  std::atomic<std::size_t> pushing{pushers};
  std::uint64_t slept = 0;
  std::uint64_t taken = 0;
  const auto wake = [&] {
    default_platform::light_barrier(barriers);
    if (asleep.load(std::memory_order_relaxed) == 0) return;
    asleep.store(0, std::memory_order_release);
    asleep.notify_one();
  };
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < pushers; ++i) {
    threads.emplace_back([&] {
      testing::flowing one;
      for (std::uint64_t n = 0; n < pushes; ++n) {
        one.number = n;
        one.on_its_way.store(true, std::memory_order_relaxed);
        queue.push(one.word());
        wake();
        while (one.on_its_way.load(std::memory_order_acquire)) std::this_thread::yield();
      }
      pushing.fetch_sub(1);
      wake();
    });
  }
  while (pushing.load() != 0) {
    run_batch some = take(queue);
    while (const runnable next = some.pop_front()) {
      ++taken;
      testing::flowing::of(next).on_its_way.store(false, std::memory_order_release);
    }
    asleep.store(1, std::memory_order_release);
    default_platform::heavy_barrier(barriers);
    if (empty(queue) && pushing.load() != 0) {
      ++slept;
      asleep.wait(1, std::memory_order_acquire);
    }
    asleep.store(0, std::memory_order_relaxed);
  }
  for (std::thread& each : threads) each.join();
  EXPECT_EQ(taken, pushers * pushes);
  EXPECT_TRUE(empty(queue));
  std::printf("slept %llu times\n", static_cast<unsigned long long>(slept));
  EXPECT_GT(slept, 0U) << "nothing was tested";
}

std::uint64_t sleeps() {
  return testing::storm_length{.usual = 20'000, .slow = 10'000, .long_run = 400'000}.now();
}

TEST(GlobalQueueStorm, TheLastLookBeforeSleepMissesNothing) {
  sleep_storm<global_queue>(
      sleeps(), [](global_queue& queue) { return queue.try_take(4).items; },
      [](const global_queue& queue) { return queue.empty(); });
}

TEST(InboxStorm, TheLastLookBeforeSleepMissesNothing) {
  sleep_storm<inbox>(
      sleeps(), [](inbox& box) { return box.drain(); },
      [](const inbox& box) { return box.empty_after_barrier(); });
}

}  // namespace
}  // namespace weft::impl
