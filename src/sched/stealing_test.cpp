// SPDX-License-Identifier: Apache-2.0

#include <weft/join.hpp>
#include <weft/nursery.hpp>
#include <weft/runtime.hpp>
#include <weft/this_fiber.hpp>

#include <atomic>
#include <cstdint>
#include <gtest/gtest.h>
#include <numeric>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace weft {
namespace {

std::uint64_t total(const runtime& of, std::uint64_t worker_statistics::*what) {
  std::uint64_t sum = 0;
  for (const worker_statistics& each : of.statistics()) sum += each.*what;
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
    return {.workers = 4, .seed = 1, .victims = victims, .fresh = fresh, .steal_attempts = attempts};
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
  runtime one({.workers = 3, .steal = false});
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
  runtime one({.workers = 3, .steal = false});
  for (int i = 0; i < 200; ++i) EXPECT_EQ(one.spawn([i] { return i; }).join(), i);
}

TEST(Stealing, CanBeSwitchedOffAndOn) {
  runtime one({.workers = 2});
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

}  // namespace
}  // namespace weft
