// SPDX-License-Identifier: Apache-2.0

#include "base/rng.hpp"
#include "sched/runtime_core.hpp"
#include "support/on_workers.hpp"
#include "support/seed.hpp"

#include <weft/join.hpp>
#include <weft/nursery.hpp>
#include <weft/runtime.hpp>
#include <weft/this_fiber.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <gtest/gtest.h>
#include <mutex>
#include <numeric>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace weft {
namespace {

std::uint64_t total(const runtime& of, std::uint64_t worker_statistics::*what) {
  std::uint64_t sum = 0;
  for (const runtime_statistics all = of.statistics();
       const worker_statistics& each : all.contexts.front().workers)
    sum += each.*what;
  return sum;
}

long fib(int n) {
  if (n < 2) return n;
  const auto [a, b] = join([n] { return fib(n - 1); }, [n] { return fib(n - 2); });
  return a + b;
}

/// The same work, whoever is robbed, and wherever tasks are put.
class StealingTest : public ::testing::TestWithParam<std::tuple<victim_order, placement, std::uint32_t>> {
 protected:
  static runtime_options options() {
    const auto [victims, fresh, attempts] = GetParam();
    return {.workers = 4,
            .seed = 1,
            .victims = victims,
            .fresh = fresh,
            .steal_attempts = attempts,
            .autoscale = testing::never_more};
  }
};
INSTANTIATE_TEST_SUITE_P(, StealingTest,
                         ::testing::Combine(::testing::Values(victim_order::random, victim_order::round_robin,
                                                              victim_order::most_loaded),
                                            ::testing::Values(placement::local, placement::round_robin),
                                            ::testing::Values(1U, 4U)));

TEST_P(StealingTest, EverythingIsRunOnce) {
  runtime one(options());
  std::atomic<int> ran{0};
  nursery(one, [&ran](nursery& n) {
    for (int i = 0; i < 200; ++i) {
      n.spawn([&ran, &n] {
        ran.fetch_add(1);
        for (int child = 0; child < 3; ++child) {
          n.spawn([&ran] {
            this_fiber::yield();
            ran.fetch_add(1);
          });
        }
      });
    }
  });
  EXPECT_EQ(ran.load(), 800);
  EXPECT_EQ(one.spawn([] { return fib(18); }).join(), 2584);
  EXPECT_GE(total(one, &worker_statistics::tasks), 800U);
}

// Two that wait for each other, spawned by one task, need two workers: somebody must come for the second.
TEST_P(StealingTest, WhatOneWorkerHasOthersGet) {
  runtime one(options());
  one.spawn([] {
       std::atomic<int> met{0};
       nursery([&met](nursery& n) {
         for (int i = 0; i < 2; ++i) {
           n.spawn([&met] {
             met.fetch_add(1);
             while (met.load() < 2) std::this_thread::yield();  // keeps its worker
           });
         }
       });
     })
      .join();
}

TEST(Stealing, WithoutItEachWorkerKeepsWhatItsTasksSpawn) {
  runtime one({.workers = 3, .steal = false, .autoscale = testing::never_more});
  one.spawn([] {
       const auto here = std::this_thread::get_id();
       std::atomic<int> elsewhere{0};
       nursery([&](nursery& n) {
         for (int i = 0; i < 100; ++i) {
           n.spawn([&] {
             if (std::this_thread::get_id() != here) elsewhere.fetch_add(1);
           });
         }
       });
       EXPECT_EQ(elsewhere.load(), 0);
     })
      .join();
  EXPECT_EQ(total(one, &worker_statistics::stolen), 0U);
  EXPECT_EQ(one.spawn([] { return fib(15); }).join(), 610);
}

// What comes from outside finds a worker also then, again and again, though all of them sleep in between.
TEST(Stealing, WithoutItStrangersAreServed) {
  runtime one({.workers = 3, .steal = false, .autoscale = testing::never_more});
  for (int i = 0; i < 200; ++i) EXPECT_EQ(one.spawn([i] { return i; }).join(), i);
}

// One that sleeps is not woken for what another spawns, but looks around by itself.
TEST(Stealing, WithoutWakingNobodyIsTold) {
  runtime one({.workers = 2,
               .idle_poll = std::chrono::hours(1),
               .wake_on_spawn = false,
               .autoscale = testing::never_more});
  const auto wakes = [&one] { return one.statistics().contexts.front().wakes; };
  one.spawn([&wakes] {
       std::this_thread::sleep_for(
           std::chrono::milliseconds(50));  // keeps its worker; the other one falls asleep
       const std::uint64_t before = wakes();
       handle<void> child = spawn([] {});
       std::this_thread::sleep_for(std::chrono::milliseconds(20));
       EXPECT_EQ(wakes(), before);
       child.join();
     })
      .join();
}

TEST(Stealing, WithoutWakingOthersComeByThemselves) {
  runtime one({.workers = 2,
               .idle_poll = std::chrono::milliseconds(1),
               .wake_on_spawn = false,
               .autoscale = testing::never_more});
  one.spawn([] {
       std::this_thread::sleep_for(std::chrono::milliseconds(20));
       std::atomic<bool> has_begun{false};
       handle<void> child = spawn([&has_begun] { has_begun.store(true); });
       while (!has_begun.load()) std::this_thread::yield();  // keeps its worker
       child.join();
     })
      .join();
}

TEST(Stealing, CanBeSwitchedOffAndOn) {
  runtime one({.workers = 2, .autoscale = testing::never_more});
  for (int i = 0; i < 20; ++i) {
    one.set_stealing(i % 2 == 0);
    std::atomic<int> ran{0};
    nursery(one, [&ran](nursery& n) {
      for (int child = 0; child < 100; ++child) {
        n.spawn([&ran] {
          this_fiber::yield();
          ran.fetch_add(1);
        });
      }
    });
    EXPECT_EQ(ran.load(), 100);
  }
}

TEST(Stealing, AnImpossibleNumberOfAttemptsIsRefused) {
  try {
    const runtime none({.steal_attempts = 0});
    ADD_FAILURE();
  } catch (const std::invalid_argument& error) {
    EXPECT_NE(std::string(error.what()).find("runtime_options::steal_attempts is 0"), std::string::npos);
  }
}

// A thief that has found out how small these tasks are leaves the next ones alone; one that comes while another stands there goes
// away again. Either is an attempt in vain.
TEST(Stealing, AttemptsThatGiveNothingAreCounted) {
  runtime one({.workers = 4, .autoscale = testing::never_more});
  one.spawn([&one] {
       std::atomic<int> left{0};
       nursery([&](nursery& n) {
         while (total(one, &worker_statistics::failed_steals) == 0) {
           while (left < 8) {
             left.fetch_add(1);
             n.spawn([&left] { left.fetch_sub(1); });
           }
           std::this_thread::yield();  // keeps its worker
         }
       });
     })
      .join();
}

// -- Who is robbed --------------------------------------------------------------------------------------------------------

/// Four workers that are held: each by a task that does not end, but spawns others if it is told to. Then one of them is let go,
/// and steals. So each of its attempts meets somebody who has something, and gets it.
class heist {
 public:
  static constexpr std::uint32_t workers = 4;

  struct report {
    std::vector<std::uint32_t> victims;         // whose the tasks were, one after the other
    std::vector<worker_statistics> statistics;  // when the last of them was there
  };

  heist(std::uint32_t thief, const std::array<int, workers>& tasks, victim_order order,
        std::uint64_t seed = 1)
      : thief_(thief),
        one_({.workers = workers,
              .seed = seed,
              .victims = order,
              .steal = false,
              .autoscale = testing::never_more}) {
    for (std::size_t i = 0; i < workers; ++i) wanted_[i] = tasks[i];
  }

  /// Lets the thief go on until it has got so many tasks.
  report steal(std::size_t count) {
    count_ = count;
    std::vector<handle<void>> holders;
    for (std::uint32_t i = 0; i < workers; ++i) holders.push_back(one_.spawn([this] { hold(here()); }));
    while (held_ != workers) std::this_thread::yield();
    one_.set_stealing(true);  // not before: in vain nobody chooses a victim
    may_steal_ = true;
    for (auto& each : holders) each.join();
    const std::scoped_lock hold(lock_);
    return found_;
  }

 private:
  [[gnu::noinline]] static std::uint32_t here() { return impl::current_worker()->index(); }

  void hold(std::uint32_t worker) {
    held_.fetch_add(1);
    while (worker == thief_ ? !may_steal_ || !all_have_theirs() : !is_over_) {
      if (worker == thief_ || wanted_[worker] == 0) {
        std::this_thread::yield();
        continue;
      }
      spawn([this, worker] { be_stolen(worker); }).detach();
      wanted_[worker].fetch_sub(1);
    }
  }
  void be_stolen(std::uint32_t from) {
    const auto begin = std::chrono::steady_clock::now();
    if (is_over_ || note(from)) return;
    wanted_[from].fetch_add(1);
    // Long enough that it was worth the price.
    while (!all_have_theirs() || std::chrono::steady_clock::now() - begin < std::chrono::microseconds(50)) {
      std::this_thread::yield();
    }
  }
  /// Returns whether that was the last.
  bool note(std::uint32_t victim) {
    const std::scoped_lock hold(lock_);
    found_.victims.push_back(victim);
    if (found_.victims.size() != count_) return false;
    found_.statistics = one_.statistics().contexts.front().workers;
    is_over_ = true;
    return true;
  }
  [[nodiscard]] bool all_have_theirs() const {
    return std::accumulate(wanted_.begin(), wanted_.end(), 0) == 0;
  }

  const std::uint32_t thief_;
  std::size_t count_ = 0;
  std::array<std::atomic<int>, workers> wanted_{};  // that the worker is still to spawn
  std::atomic<std::uint32_t> held_{0};
  std::atomic<bool> may_steal_{false};
  std::atomic<bool> is_over_{false};
  std::mutex lock_;  // one task after the other has it, but tasks are ordered by nothing else
  report found_;
  runtime one_;
};

// [S2-70, S2-85, S2-88] Of the generators that are split from the runtime's, the one of the thief says whom it robs: the same
// for the same seed, another for each worker, and never itself.
TEST(Victims, AreChosenByTheSeededGeneratorOfTheThief) {
  constexpr std::size_t count = 12;
  const std::uint64_t seed = testing::test_seed();
  impl::xoshiro256ss of_all(seed);
  for (std::uint32_t thief = 0; thief < heist::workers; ++thief) {
    std::array<int, heist::workers> tasks{1, 1, 1, 1};
    tasks[thief] = 0;
    impl::xoshiro256ss random = of_all.split();
    std::vector<std::uint32_t> expected;
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint32_t other = random.below(heist::workers - 1);
      expected.push_back(other < thief ? other : other + 1);
    }
    EXPECT_EQ(heist(thief, tasks, victim_order::random, seed).steal(count).victims, expected) << thief;
  }
}

TEST(Victims, InTurnAreRobbedOneAfterTheOther) {
  EXPECT_EQ(heist(1, {1, 0, 1, 1}, victim_order::round_robin).steal(7).victims,
            (std::vector<std::uint32_t>{0, 2, 3, 0, 2, 3, 0}));
}

TEST(Victims, ByLoadTheOneWithMostIsRobbed) {
  EXPECT_EQ(heist(0, {0, 2, 9, 4}, victim_order::most_loaded).steal(1).victims.front(), 2U);
  EXPECT_EQ(heist(3, {9, 2, 4, 0}, victim_order::most_loaded).steal(1).victims.front(), 0U);
}

TEST(Victims, WhatIsTakenIsCountedByTheThief) {
  const std::vector<worker_statistics> seen =
      heist(2, {1, 1, 0, 1}, victim_order::random).steal(10).statistics;
  ASSERT_EQ(seen.size(), heist::workers);
  for (std::uint32_t i = 0; i < heist::workers; ++i) EXPECT_EQ(seen[i].stolen, i == 2 ? 10U : 0U) << i;
}

// -- Where tasks are put ----------------------------------------------------------------------------------------------------

/// What waits for workers that are all busy, when one has been spawned for each of them. [S3-12, S3-14]
class PlacementTest : public ::testing::TestWithParam<placement> {
 protected:
  static constexpr std::uint32_t workers = 4;

  /// Keeps all workers busy. One of them, and then this thread, calls the functions.
  template <class OnWorker, class OnThread>
  void with_all_busy(OnWorker&& on_worker, OnThread&& on_thread) {
    std::atomic<std::uint32_t> busy{0};
    std::atomic<bool> is_over{false};
    std::atomic<bool> has_called{false};
    const auto hold = [&](bool calls) {
      busy.fetch_add(1);
      while (busy < workers) std::this_thread::yield();
      if (calls) {
        on_worker();
        has_called = true;
      }
      while (!is_over) std::this_thread::yield();
    };
    nursery all(one, [&](nursery& n) {
      for (std::uint32_t i = 0; i < workers; ++i) n.spawn([&hold, i] { hold(i == 0); });
      while (!has_called) std::this_thread::yield();
      on_thread();
      is_over = true;
    });
  }
  [[nodiscard]] std::uint32_t with_mail() {
    std::uint32_t count = 0;
    for (const impl::worker& each : detail::context_of(one)->workers())
      count += each.has_mail_approx() ? 1U : 0U;
    return count;
  }

  runtime one{{.workers = workers, .fresh = GetParam(), .autoscale = testing::never_more}};
};
INSTANTIATE_TEST_SUITE_P(, PlacementTest, ::testing::Values(placement::local, placement::round_robin),
                         [](const auto& how) {
                           return std::string(how.param == placement::local ? "Local" : "RoundRobin");
                         });

TEST_P(PlacementTest, WhatAThreadSpawnsGoesToAllWorkersInTurn) {
  with_all_busy([] {},
                [this] {
                  EXPECT_EQ(with_mail(), 0U);
                  for (std::uint32_t i = 0; i < workers; ++i) {
                    EXPECT_EQ(with_mail(), i);
                    one.spawn([] {}).detach();
                  }
                  EXPECT_EQ(with_mail(), workers);
                });
}

TEST_P(PlacementTest, WhatATaskSpawnsGoesWhereItIsToGo) {
  with_all_busy(
      [this] {
        for (std::uint32_t i = 0; i < workers; ++i) {
          EXPECT_EQ(with_mail(), GetParam() == placement::local ? 0 : i);
          spawn([] {}).detach();
        }
      },
      [this] { EXPECT_EQ(with_mail(), GetParam() == placement::local ? 0 : workers); });
}

}  // namespace
}  // namespace weft
