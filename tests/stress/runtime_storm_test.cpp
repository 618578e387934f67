// SPDX-License-Identifier: Apache-2.0
//
// Waits that are woken, cancelled and timed out at the same moment, and trees of joins whose bodies do everything at once.
// Whatever happens, every wait is ended by one, and every task ends exactly once.

#include "base/rng.hpp"
#include "sched/runtime_core.hpp"
#include "sched/wait.hpp"
#include "support/scale.hpp"
#include "support/seed.hpp"

#include <weft/join.hpp>
#include <weft/runtime.hpp>
#include <weft/suspend.hpp>
#include <weft/this_fiber.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <gtest/gtest.h>
#include <memory>
#include <system_error>
#include <vector>

namespace weft {
namespace {

using impl::xoshiro256ss;

// A task that waits, one that resumes it and one that cancels it.
TEST(RuntimeStorm, WakersAndCancellersMeetAtOneWait) {
  const std::uint64_t rounds =
      testing::storm_length{.usual = 50'000, .slow = 2'000, .long_run = 1'000'000, .long_slow = 1'000'000}
          .now();
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

/// How a wait with four parties came out.
struct timed_wait {
  impl::wake_cause cause = impl::wake_cause::none;
  bool was_late = true;  ///< as to its deadline
};

// The running task waits for who is told its resumer, but not beyond the deadline. So will all that is to wait with a time limit.
template <class Publish>
timed_wait wait_until(impl::time_point deadline, Publish&& publish) {
  impl::task& self = *impl::current_task();
  impl::timer_loop& events = self.home().events();
  const std::size_t shard = impl::current_worker()->index();
  impl::one_wait wait(self);
  self.note_reason("storm");
  events.set(shard, self.timer, deadline);
  publish(resumer(detail::outside(self), wait.ticket().epoch));
  const impl::wake_cause cause = wait.leave();
  if (cause != impl::wake_cause::timed_out) events.drop(shard, self.timer);
  return {cause, impl::default_platform::clock().now() >= deadline};
}

// A task that waits, one that resumes it, one that cancels it, and a timer: all at the moment when it is due.
TEST(RuntimeStorm, WakersCancellersAndTimersMeetAtOneWait) {
  using impl::wake_cause;
  const std::uint64_t rounds =
      testing::storm_length{.usual = 50'000, .slow = 1'000, .long_run = 1'000'000, .long_slow = 100'000}
          .now();
  constexpr std::uint32_t longest = testing::scaled(20'000U, 400'000U);  // nanoseconds
  constexpr std::uint32_t spread = longest / 5;
  xoshiro256ss random(testing::test_seed());
  std::array<std::uint64_t, 4> ends{};
  weft::run(
      [&] {
        impl::default_platform::clock clock;
        for (std::uint64_t round = 0; round < rounds; ++round) {
          resumer by;
          std::atomic<bool> published{false};
          const impl::time_point due = clock.now() + std::chrono::nanoseconds(random.below(longest));
          auto waits = spawn([&] {
            return wait_until(due, [&](const resumer& mine) {
              by = mine;
              published.store(true, std::memory_order_release);
            });
          });
          while (!published.load(std::memory_order_acquire)) this_fiber::yield();
          // Each of the two comes a little before or after the time, or not at all.
          const auto about_then = [&] {
            return due + std::chrono::nanoseconds(random.below(spread)) -
                   std::chrono::nanoseconds(spread / 2);
          };
          const bool wakes_it = random.below(4) != 0;
          auto wakes = spawn([&, when = about_then()] {
            while (wakes_it && clock.now() < when) this_fiber::yield();
            return wakes_it && by.resume();
          });
          const bool cancels_it = random.below(4) != 0;
          auto cancels = spawn([&, when = about_then()] {
            while (cancels_it && clock.now() < when) this_fiber::yield();
            if (cancels_it) waits.request_cancel();
          });
          const bool was_resumed = wakes.join();
          cancels.join();
          try {
            const timed_wait end = waits.join();
            ++ends[static_cast<std::size_t>(end.cause)];
            EXPECT_EQ(end.cause == wake_cause::ready, was_resumed) << "one of them, and that one is told";
            if (end.cause == wake_cause::cancelled) {
              EXPECT_TRUE(cancels_it);
            }
            if (end.cause == wake_cause::timed_out) {
              EXPECT_TRUE(end.was_late) << "before its time";
            }
            EXPECT_NE(end.cause, wake_cause::none);
          } catch (const std::system_error&) {
            ADD_FAILURE() << "it had begun when it was cancelled";
          }
        }
      },
      {.workers = 3, .seed = random()});
  for (const wake_cause cause : {wake_cause::ready, wake_cause::cancelled, wake_cause::timed_out}) {
    EXPECT_GT(ends[static_cast<std::size_t>(cause)], 0U) << "never by " << static_cast<int>(cause);
  }
  std::printf("%llu were resumed, %llu cancelled, %llu timed out\n",
              static_cast<unsigned long long>(ends[static_cast<std::size_t>(wake_cause::ready)]),
              static_cast<unsigned long long>(ends[static_cast<std::size_t>(wake_cause::cancelled)]),
              static_cast<unsigned long long>(ends[static_cast<std::size_t>(wake_cause::timed_out)]));
}

// Sleeps, and then waits for something else: of the sleep nothing may be left that ends this wait.
void sleep_and_wait(std::chrono::nanoseconds length) {
  const auto begin = std::chrono::steady_clock::now();
  this_fiber::sleep_for(length);
  EXPECT_GE(std::chrono::steady_clock::now() - begin, length);
  const auto woken = std::make_shared<std::atomic<bool>>(false);
  handle<void> waker;
  suspend("storm", [&](const resumer& by) {
    waker = spawn([woken, by] {                         // which goes on by itself where this one is stopped
      for (int i = 0; i < 3; ++i) this_fiber::yield();  // time for whoever comes late
      *woken = true;
      by.resume();
    });
  });
  EXPECT_TRUE(*woken) << "woken from another wait than the one it was in";
  waker.join();
}

// By what users have: sleeps that are cancelled when they are over.
TEST(RuntimeStorm, SleepersAreCancelledWhenTheyAreDue) {
  const std::uint64_t rounds = testing::storm_length{.usual = 2'000, .slow = 100, .long_run = 62'500}.now();
  constexpr std::size_t at_once = 16;
  xoshiro256ss random(testing::test_seed());
  std::uint64_t slept = 0;
  std::uint64_t stopped = 0;
  weft::run(
      [&] {
        for (std::uint64_t round = 0; round < rounds; ++round) {
          const auto begin = std::chrono::steady_clock::now();
          std::vector<handle<void>> tasks;
          for (std::size_t i = 0; i < at_once; ++i) {
            const std::chrono::nanoseconds length(random.below(100'000));
            tasks.push_back(spawn([length] { sleep_and_wait(length); }));
          }
          const auto until = begin + std::chrono::nanoseconds(random.below(120'000));
          while (std::chrono::steady_clock::now() < until) this_fiber::yield();
          for (std::size_t i = 0; i < at_once; i += 2) tasks[i].request_cancel();
          for (std::size_t i = 0; i < at_once; ++i) {
            try {
              tasks[i].join();
              ++slept;
            } catch (const std::system_error& error) {
              EXPECT_EQ(error.code(), make_error_code(errc::cancelled));
              EXPECT_EQ(i % 2, 0U) << "nobody has cancelled it";
              ++stopped;
            }
          }
        }
      },
      {.workers = 3, .seed = random()});
  EXPECT_EQ(slept + stopped, rounds * at_once);
  EXPECT_GE(slept, rounds * at_once / 2);
  EXPECT_GT(stopped, 0U);
}

// Trees of joins whose bodies spawn, sleep, yield, throw and suspend, at random.
struct tree {
  bool may_throw = true;
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
        if (may_throw && random.below(8) == 0) throw random();
        break;
      case 4:
        if (random.below(4) == 0) this_fiber::sleep_for(std::chrono::microseconds(random.below(30)));
        break;
      case 5: {
        auto child = spawn([depth] { return depth; });
        EXPECT_EQ(child.join(), depth);
        break;
      }
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
  const std::uint64_t trees = testing::storm_length{.usual = 2'000, .slow = 20, .long_run = 6'000}.now();
  constexpr int depth = testing::scaled(10, 6);
  xoshiro256ss random(testing::test_seed());
  weft::run(
      [&] {
        for (std::uint64_t i = 0; i < trees; ++i) {
          tree one;
          one.may_throw = random.below(4) != 0;
          try {
            const std::uint64_t counted = one.grow(random.split(), depth);
            EXPECT_LE(counted, one.leaves.load());
            if (!one.may_throw) {
              EXPECT_EQ(counted, std::uint64_t{1} << depth);
              EXPECT_EQ(one.leaves, counted) << "every half has run, and once";
            }
          } catch (std::uint64_t) {
            EXPECT_TRUE(one.may_throw);
          }
          while (one.spawned_ran.load() != one.spawned.load()) this_fiber::yield();
        }
      },
      {.workers = 3, .seed = random()});
}

}  // namespace
}  // namespace weft
