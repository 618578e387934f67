// SPDX-License-Identifier: Apache-2.0
//
// In a ThreadSanitizer build: races between tasks are reported although their tasks run one after the other on one worker,
// and nothing is reported that is ordered by spawn, join or resume.

#include <weft/detail/sanitizers.hpp>
#include <weft/join.hpp>
#include <weft/runtime.hpp>
#include <weft/suspend.hpp>
#include <weft/this_fiber.hpp>

#include <cerrno>
#include <cstdlib>
#include <gtest/gtest.h>
#include <string>
#include <utility>
#include <vector>

#if WEFT_THREAD_SANITIZER

namespace weft {
namespace {

constexpr int exit_code_of_a_race = 66;  // as the tests' TSAN_OPTIONS say

template <class F>
void run_on_one_worker(F&& main) {
  weft::run(std::forward<F>(main), {.workers = 1, .seed = 1});
}

class IdentityDeathTest : public ::testing::Test {
 protected:
  void SetUp() override { ::testing::FLAGS_gtest_death_test_style = "threadsafe"; }
};

TEST_F(IdentityDeathTest, SiblingsThatRaceAreReported) {
  const auto race = [] {
    int shared = 0;
    run_on_one_worker([&] {
      auto one = spawn([&] { ++shared; });
      auto other = spawn([&] { ++shared; });
      one.join();
      other.join();
    });
    std::exit(shared == 2 ? 0 : 1);
  };
  EXPECT_EXIT(race(), ::testing::ExitedWithCode(exit_code_of_a_race), "data race");
}
TEST_F(IdentityDeathTest, AParentThatRacesWithItsChildIsReported) {
  const auto race = [] {
    int shared = 0;
    run_on_one_worker([&] {
      auto child = spawn([&] { ++shared; });
      ++shared;
      child.join();
    });
    std::exit(0);
  };
  EXPECT_EXIT(race(), ::testing::ExitedWithCode(exit_code_of_a_race), "data race");
}
TEST_F(IdentityDeathTest, HalvesOfAJoinThatRaceAreReported) {
  const auto race = [] {
    int shared = 0;
    run_on_one_worker([&] { join([&] { ++shared; }, [&] { ++shared; }); });
    std::exit(0);
  };
  EXPECT_EXIT(race(), ::testing::ExitedWithCode(exit_code_of_a_race), "data race");
}
TEST_F(IdentityDeathTest, ToYieldOrdersNothing) {
  const auto race = [] {
    int shared = 0;
    run_on_one_worker([&] {
      const auto body = [&] {
        this_fiber::yield();
        ++shared;
        this_fiber::yield();
      };
      auto one = spawn(body);
      auto other = spawn(body);
      one.join();
      other.join();
    });
    std::exit(0);
  };
  EXPECT_EXIT(race(), ::testing::ExitedWithCode(exit_code_of_a_race), "data race");
}

TEST(IdentityTest, SpawnAndJoinOrder) {
  run_on_one_worker([] {
    int shared = 0;
    for (int i = 0; i < 100; ++i) spawn([&] { ++shared; }).join();
    EXPECT_EQ(shared, 100);
  });
}
TEST(IdentityTest, AJoinOrdersBothHalves) {
  run_on_one_worker([] {
    int first = 0;
    int second = 0;
    for (int i = 0; i < 100; ++i) join([&] { ++first; }, [&] { ++second; });
    EXPECT_EQ(first + second, 200);
  });
}
thread_local int of_the_thread = 0;

TEST(IdentityTest, ThreadLocalVariablesDoNotRaceOnTheirThread) {
  run_on_one_worker([] {
    std::vector<handle<void>> tasks;
    for (int i = 0; i < 100; ++i) {
      tasks.push_back(spawn([] {
        errno = 0;
        ++of_the_thread;
      }));
    }
    for (auto& each : tasks) each.join();
    EXPECT_EQ(of_the_thread, 100);
  });
}
TEST(IdentityTest, AResumptionOrders) {
  run_on_one_worker([] {
    int shared = 0;
    handle<void> waker;
    auto waits = spawn([&] {
      suspend("test", [&](const resumer& mine) {
        waker = spawn([&shared, mine] {
          shared = 7;
          EXPECT_TRUE(mine.resume());
        });
      });
      return shared;
    });
    EXPECT_EQ(waits.join(), 7);
    waker.join();
  });
}
TEST(IdentityTest, StacksAndRecordsThatAreUsedAgainDoNotRace) {
  run_on_one_worker([] {
    for (int round = 0; round < 300; ++round) {
      std::vector<handle<std::size_t>> tasks;
      for (int i = 0; i < 5; ++i) {
        tasks.push_back(spawn([] {
          std::string text(100, 'x');  // on the stack and on the heap
          this_fiber::yield();
          return text.size();
        }));
      }
      for (auto& each : tasks) EXPECT_EQ(each.join(), 100U);
    }
  });
}

}  // namespace
}  // namespace weft

#endif
