// SPDX-License-Identifier: Apache-2.0

#include "support/on_workers.hpp"
#include "support/scale.hpp"

#include <weft/join.hpp>
#include <weft/runtime.hpp>
#include <weft/suspend.hpp>
#include <weft/this_fiber.hpp>

#include <atomic>
#include <cstdint>
#include <gtest/gtest.h>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

namespace weft {
namespace {

class JoinTest : public testing::on_workers {};
INSTANTIATE_TEST_SUITE_P(, JoinTest, ::testing::Values(1U, 2U, 5U), testing::name_by_workers);

std::uint64_t fib(unsigned n) {
  if (n < 2) return n;
  const auto [a, b] = join([n] { return fib(n - 1); }, [n] { return fib(n - 2); });
  return a + b;
}

TEST_P(JoinTest, GivesWhatBothReturn) {
  run([] {
    const auto [number, text] = join([] { return 1; }, [] { return std::string("two"); });
    EXPECT_EQ(number, 1);
    EXPECT_EQ(text, "two");
  });
}
TEST_P(JoinTest, GivesReferencesAndWhatCanOnlyBeMoved) {
  run([] {
    int there = 0;
    auto [reference, moved] = join([&]() -> int& { return there; }, [] { return std::make_unique<int>(2); });
    reference = 5;
    EXPECT_EQ(there, 5);
    EXPECT_EQ(*moved, 2);
  });
}
TEST_P(JoinTest, FunctionsThatReturnNothing) {
  run([] {
    std::atomic<int> ran{0};
    join([&] { ++ran; }, [&] { ++ran; });
    const auto [first, second] = join([&] { ++ran; }, [] { return 3; });
    (void)first;
    EXPECT_EQ(second, 3);
    EXPECT_EQ(ran.load(), 3);
  });
}
TEST_P(JoinTest, ATreeOfThem) {
  EXPECT_EQ(run([] { return fib(testing::scaled(25U, 18U)); }), testing::scaled(75025U, 2584U));
}
TEST(JoinOnAThreadTest, RunsOneAfterTheOther) { EXPECT_EQ(fib(15), 610U); }

TEST_P(JoinTest, WhatTheFirstThrowsComesOut) {
  run([] {
    bool began = false;
    EXPECT_THROW(join([] { throw std::runtime_error("first"); }, [&] { began = true; }), std::runtime_error);
    if (GetParam() == 1) {
      EXPECT_FALSE(began) << "the second is not begun after the first has failed";
    }
  });
}
TEST_P(JoinTest, WhatTheSecondThrowsComesOut) {
  run([] {
    EXPECT_THROW(join([] {}, [] { throw std::runtime_error("second"); }), std::runtime_error);
    EXPECT_THROW(join([] { this_fiber::yield(); }, []() -> int { throw std::runtime_error("second"); }),
                 std::runtime_error);
  });
}
TEST_P(JoinTest, IfBothThrowTheFirstComesOut) {
  run([] {
    EXPECT_THROW(join([]() -> int { throw 1; }, []() -> int { throw std::string("second"); }), int);
    EXPECT_THROW(join(
                     []() -> int {
                       this_fiber::yield();
                       throw 1;
                     },
                     []() -> int { throw std::string("second"); }),
                 int);
  });
}
TEST_P(JoinTest, NothingIsLeftOfResultsThatNobodyGets) {
  run([] {
    const auto counted = std::make_shared<int>(0);
    for (int i = 0; i < 100; ++i) {
      EXPECT_THROW(join(
                       []() -> int {
                         this_fiber::yield();
                         throw 1;
                       },
                       [&] { return counted; }),
                   int);
    }
    EXPECT_EQ(counted.use_count(), 1);
  });
}

// The first half waits, so that the second is run by somebody else, as a task of its own.
TEST_P(JoinTest, TheSecondRunsWhileTheFirstWaits) {
  run([] {
    resumer by;
    std::atomic<bool> published{false};
    const auto [mine, other] = join(
        [&] {
          suspend("test", [&](const resumer& self) {
            by = self;
            published = true;
          });
          return this_fiber::id();
        },
        [&] {
          while (!published) this_fiber::yield();
          EXPECT_TRUE(by.resume());
          return this_fiber::id();
        });
    EXPECT_NE(mine, other);
  });
}
TEST_P(JoinTest, BothHalvesMayWaitForTasks) {
  run([] {
    const auto [a, b] = join(
        [] {
          auto child = spawn([] { return 1; });
          this_fiber::yield();
          return child.join();
        },
        [] {
          auto child = spawn([] { return 2; });
          this_fiber::yield();
          return child.join();
        });
    EXPECT_EQ(a + b, 3);
  });
}
TEST_P(JoinTest, TasksSpawnedInsideAreNeverLost) {
  run([] {
    std::atomic<int> ran{0};
    constexpr int rounds = 1000;
    for (int i = 0; i < rounds; ++i) {
      join([&] { spawn([&] { ++ran; }).detach(); }, [&] { spawn([&] { ++ran; }).detach(); });
    }
    while (ran.load() != 2 * rounds) this_fiber::yield();
  });
}
TEST_P(JoinTest, AMillionDeep) {
  struct tree {
    static std::uint64_t descend(std::uint32_t depth) {
      if (depth == 0) return 0;
      const auto [below, here] =
          join([depth] { return descend(depth - 1); }, [] { return std::uint64_t{1}; });
      return below + here;
    }
  };
  constexpr std::uint32_t depth = testing::scaled(1'000'000U, 8'000U);
  EXPECT_EQ(run([] { return tree::descend(depth); }), depth);
}
TEST_P(JoinTest, AnExceptionComesUpFromTheDeep) {
  struct tree {
    static void descend(std::uint32_t depth) {
      if (depth == 0) throw std::runtime_error("ground");
      join([depth] { descend(depth - 1); }, [] {});
    }
  };
  EXPECT_THROW(run([] { tree::descend(5000); }), std::runtime_error);
}

}  // namespace
}  // namespace weft

// -- the example of the guide -------------------------------------------------------------------------------------------

namespace {

// [sum]
double sum(const double* first, const double* last) {
  if (last - first < 1000) return std::accumulate(first, last, 0.0);
  const double* const middle = first + (last - first) / 2;
  const auto [left, right] =
      weft::join([=] { return sum(first, middle); }, [=] { return sum(middle, last); });
  return left + right;
}
// [sum]

TEST(JoinGuideTest, TheSumAddsUp) {
  const std::vector<double> ones(100'000, 1.0);
  EXPECT_EQ(weft::run([&] { return sum(ones.data(), ones.data() + ones.size()); }), 100'000.0);
}

}  // namespace
