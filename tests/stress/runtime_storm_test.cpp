// SPDX-License-Identifier: Apache-2.0
//
// Everything at once: spawns from outside and inside, waits that are woken and cancelled at the same moment, trees of joins
// whose bodies wait, runtimes that come and go. Whatever happens, every task ends exactly once.

#include "base/rng.hpp"
#include "support/scale.hpp"
#include "support/seed.hpp"

#include <weft/join.hpp>
#include <weft/runtime.hpp>
#include <weft/suspend.hpp>
#include <weft/this_fiber.hpp>

#include <atomic>
#include <cstdint>
#include <gtest/gtest.h>
#include <optional>
#include <stdexcept>
#include <system_error>
#include <thread>
#include <vector>

namespace weft {
namespace {

using impl::xoshiro256ss;

// Threads that are no workers spawn; some handles are joined, some dropped.
TEST(RuntimeStorm, EverySpawnFromOutsideRunsOnce) {
  constexpr int threads = 8;
  const std::uint64_t each =
      testing::storm_length{.usual = 100'000, .slow = 3'000, .long_run = 1'250'000}.now();
  runtime there({.workers = 4, .seed = testing::test_seed()});
  xoshiro256ss random(testing::test_seed());
  std::atomic<std::uint64_t> ran{0};
  std::vector<std::thread> spawners;
  for (int i = 0; i < threads; ++i) {
    spawners.emplace_back([&, mine = random.split()]() mutable {
      std::vector<handle<std::uint64_t>> held;
      for (std::uint64_t n = 0; n < each; ++n) {
        auto task = there.spawn([&ran, n] {
          ran.fetch_add(1, std::memory_order_relaxed);
          return n;
        });
        if (mine.below(4) == 0) continue;  // dropped
        held.push_back(std::move(task));
        if (held.size() < 100) continue;
        for (auto& each_held : held) (void)each_held.join();
        held.clear();
      }
      for (auto& task : held) (void)task.join();
    });
  }
  for (std::thread& thread : spawners) thread.join();
  while (ran.load() != threads * each) std::this_thread::yield();
}

// A task that waits, one that resumes it and one that cancels it.
TEST(RuntimeStorm, WakersAndCancellersMeetAtOneWait) {
  const std::uint64_t rounds =
      testing::storm_length{.usual = 50'000, .slow = 2'000, .long_run = 1'000'000}.now();
  std::uint64_t woken = 0;
  std::uint64_t stopped = 0;
  weft::run(
      [&] {
        for (std::uint64_t round = 0; round < rounds; ++round) {
          resumer by;
          std::atomic<bool> published{false};
          auto waits = spawn([&] {
            suspend("storm", [&](const resumer& mine) {
              by = mine;
              published.store(true, std::memory_order_release);
            });
          });
          while (!published.load(std::memory_order_acquire)) this_fiber::yield();
          auto wakes = spawn([&by] { return by.resume(); });
          auto cancels = spawn([&waits] { waits.request_cancel(); });
          const bool was_resumed = wakes.join();
          cancels.join();
          try {
            waits.join();
            EXPECT_TRUE(was_resumed);
            ++woken;
          } catch (const std::system_error&) {
            EXPECT_FALSE(was_resumed) << "resumed, and stopped all the same";
            ++stopped;
          }
        }
      },
      {.workers = 3, .seed = testing::test_seed()});
  EXPECT_EQ(woken + stopped, rounds);
}

// Trees of joins whose bodies spawn, yield, throw and suspend, at random.
struct tree {
  std::atomic<std::uint64_t> leaves{0};
  std::atomic<std::uint64_t> spawned{0};
  std::atomic<std::uint64_t> spawned_ran{0};

  // Returns how many leaves it has; throws std::uint64_t with the seed that did.
  std::uint64_t grow(xoshiro256ss random, int depth) {
    switch (random.below(12)) {
      case 0: this_fiber::yield(); break;
      case 1:
        ++spawned;
        spawn([this] { ++spawned_ran; }).detach();
        break;
      case 2: {
        handle<void> waker;
        suspend("storm", [&](const resumer& by) { waker = spawn([by] { by.resume(); }); });
        waker.join();
        break;
      }
      case 3:
        if (random.below(8) == 0) throw random();
        break;
      default: break;
    }
    if (depth == 0) {
      ++leaves;
      return 1;
    }
    try {
      const auto [a, b] = join([&, mine = random.split()] { return grow(mine, depth - 1); },
                               [&, mine = random.split()] { return grow(mine, depth - 1); });
      return a + b;
    } catch (std::uint64_t) {
      if (random.below(2) == 0) throw;
      return 0;
    }
  }
};

TEST(RuntimeStorm, TreesOfJoinsThatDoEverything) {
  const std::uint64_t trees = testing::storm_length{.usual = 300, .slow = 5, .long_run = 6'000}.now();
  constexpr int depth = testing::scaled(10, 6);
  xoshiro256ss random(testing::test_seed());
  weft::run(
      [&] {
        for (std::uint64_t i = 0; i < trees; ++i) {
          tree one;
          try {
            const std::uint64_t counted = one.grow(random.split(), depth);
            EXPECT_LE(counted, one.leaves.load());
          } catch (std::uint64_t) {
          }
          while (one.spawned_ran.load() != one.spawned.load()) this_fiber::yield();
        }
      },
      {.workers = 3, .seed = testing::test_seed()});
}

// Runtimes come and go with tasks in all states, and strangers that spawn to the last moment: what was begun has ended.
TEST(RuntimeStorm, RuntimesComeAndGo) {
  const std::uint64_t rounds = testing::storm_length{.usual = 3'000, .slow = 200, .long_run = 100'000}.now();
  xoshiro256ss random(testing::test_seed());
  for (std::uint64_t round = 0; round < rounds; ++round) {
    std::atomic<int> begun{0};
    std::atomic<int> ended{0};
    struct counted {
      explicit counted(std::atomic<int>& count) noexcept : ends(count) {}
      counted(const counted&) = delete;
      counted& operator=(const counted&) = delete;
      ~counted() { ++ends; }
      std::atomic<int>& ends;
    };
    {
      runtime one({.workers = 1 + random.below(3), .seed = random()});
      const std::uint32_t tasks = random.below(10);
      for (std::uint32_t i = 0; i < tasks; ++i) {
        const std::uint32_t kind = random.below(4);
        one.spawn([&, kind] {
             ++begun;
             const counted at_end(ended);
             if (kind == 0) this_fiber::yield();
             if (kind == 1) suspend("storm", [](const resumer&) {});
             if (kind == 2) spawn([] { this_fiber::yield(); }).detach();
           })
            .detach();
      }
      if (random.below(4) == 0) std::this_thread::yield();
    }
    ASSERT_EQ(begun.load(), ended.load());
  }
}

}  // namespace
}  // namespace weft
