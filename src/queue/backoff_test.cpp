// SPDX-License-Identifier: Apache-2.0

#include <weft/backoff.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <thread>
#include <utility>
#include <vector>

namespace weft {
namespace {

using ::testing::ElementsAre;
using namespace std::chrono_literals;

// What a backoff did to its thread, instead of doing it.
struct deeds {
  int pauses = 0;
  int yields = 0;
  std::vector<std::chrono::nanoseconds> sleeps;
  std::vector<std::chrono::nanoseconds> waits;
};

struct counting_waiter {
  deeds* done;

  void pause() const { ++done->pauses; }
  void yield() const { ++done->yields; }
  void sleep_for(std::chrono::nanoseconds time) const { done->sleeps.push_back(time); }
  void wait_for(std::chrono::nanoseconds time) const { done->waits.push_back(time); }
};

TEST(Backoff, ModesAreTheOnesOfLoom) {
  EXPECT_EQ(backoff_limits::of(backoff_mode::low_latency), (backoff_limits{64, 128, 512, 100us}));
  EXPECT_EQ(backoff_limits::of(backoff_mode::balanced), (backoff_limits{32, 64, 128, 1ms}));
  EXPECT_EQ(backoff_limits::of(backoff_mode::power_saving), (backoff_limits{8, 16, 32, 10ms}));
  EXPECT_EQ(backoff().limits(), backoff_limits::of(backoff_mode::balanced)) << "idle threads cost little";
}

// Each mode goes through its four phases, each for as many rounds as it should, and does in each what it should.
TEST(Backoff, GoesThroughFourPhases) {
  for (const backoff_mode mode :
       {backoff_mode::low_latency, backoff_mode::balanced, backoff_mode::power_saving}) {
    const backoff_limits limits = backoff_limits::of(mode);
    deeds done;
    basic_backoff<counting_waiter> pause(mode, {&done});
    for (std::uint32_t i = 0; i < limits.spin; ++i) {
      ASSERT_EQ(pause.phase(), backoff_phase::spinning);
      pause.snooze();
    }
    EXPECT_EQ(std::exchange(done.pauses, 0), static_cast<int>(limits.spin));
    for (std::uint32_t i = limits.spin; i < limits.multi_spin; ++i) {
      ASSERT_EQ(pause.phase(), backoff_phase::multi_spinning);
      pause.snooze();
    }
    EXPECT_EQ(std::exchange(done.pauses, 0), static_cast<int>(limits.multi_spin - limits.spin) * 4);
    EXPECT_EQ(done.yields, 0);
    for (std::uint32_t i = limits.multi_spin; i < limits.sleep_limit; ++i) {
      ASSERT_EQ(pause.phase(), backoff_phase::yielding);
      ASSERT_FALSE(pause.is_sleeping());
      pause.snooze();
    }
    EXPECT_EQ(done.yields, static_cast<int>(limits.sleep_limit - limits.multi_spin));
    EXPECT_TRUE(done.sleeps.empty());
    for (int i = 0; i < 3; ++i) {
      ASSERT_EQ(pause.phase(), backoff_phase::sleeping);
      ASSERT_TRUE(pause.is_sleeping());
      pause.snooze();
    }
    EXPECT_THAT(done.sleeps, ElementsAre(limits.sleep, limits.sleep, limits.sleep));
    EXPECT_EQ(done.pauses, 0);
  }
}

TEST(Backoff, BeginsAnewAfterAReset) {
  deeds done;
  basic_backoff<counting_waiter> pause(backoff_mode::power_saving, {&done});
  for (int i = 0; i < 40; ++i) pause.snooze();
  ASSERT_TRUE(pause.is_sleeping());
  pause.reset();
  EXPECT_EQ(pause.phase(), backoff_phase::spinning);
  for (int i = 0; i < 32; ++i) pause.snooze();
  EXPECT_TRUE(pause.is_sleeping()) << "after a reset it takes as long as at first";
}

TEST(Backoff, LeavesOutPhasesThatHaveNoRounds) {
  deeds done;
  basic_backoff<counting_waiter> pause(backoff_limits{0, 0, 1, 5us}, {&done});
  EXPECT_EQ(pause.phase(), backoff_phase::yielding);
  pause.snooze();
  pause.snooze();
  EXPECT_EQ(done.pauses, 0);
  EXPECT_EQ(done.yields, 1);
  EXPECT_THAT(done.sleeps, ElementsAre(5us));
}

TEST(ExponentialBackoff, DoublesFromOneMicrosecondToOneMillisecond) {
  deeds done;
  basic_exponential_backoff<counting_waiter> pause(1us, 1ms, {&done});
  int rounds = 0;
  while (!pause.is_exhausted()) {
    const std::chrono::nanoseconds announced = pause.next();
    pause.snooze();
    ++rounds;
    EXPECT_EQ(done.waits.back(), announced);
  }
  EXPECT_EQ(rounds, 11);
  EXPECT_THAT(done.waits, ElementsAre(1us, 2us, 4us, 8us, 16us, 32us, 64us, 128us, 256us, 512us, 1ms));
  pause.snooze();
  EXPECT_EQ(done.waits.back(), 1ms) << "and no more than that";
  EXPECT_TRUE(pause.is_exhausted());
  pause.reset();
  EXPECT_FALSE(pause.is_exhausted());
  EXPECT_EQ(pause.next(), 1us);
  EXPECT_EQ(exponential_backoff().next(), 1us);
  static_assert(exponential_backoff::default_first == 1us && exponential_backoff::default_longest == 1ms);
}

TEST(ExponentialBackoff, NeverWaitsLongerThanAsked) {
  deeds done;
  basic_exponential_backoff<counting_waiter> pause(3ms, 1ms, {&done});
  pause.snooze();
  EXPECT_THAT(done.waits, ElementsAre(1ms));
  EXPECT_TRUE(pause.is_exhausted());
  basic_exponential_backoff<counting_waiter> no_end(std::chrono::nanoseconds::max() - 1ns,
                                                    std::chrono::nanoseconds::max(), {&done});
  no_end.snooze();
  EXPECT_EQ(no_end.next(), std::chrono::nanoseconds::max()) << "no overflow";
}

TEST(ExponentialBackoffDeathTest, AWaitOfNothingIsNamed) {
  EXPECT_DEATH(exponential_backoff(0ns, 1ms), "not above zero");
  EXPECT_DEATH(exponential_backoff(-1ns, 1ms), "not above zero");
  EXPECT_DEATH(exponential_backoff(1us, 0ns), "not above zero");
}

// The real thing, briefly: a wait is not shorter than asked, whether it is spun or slept.
TEST(ThreadWaiter, WaitsAtLeastAsLongAsAsked) {
  using clock = std::chrono::steady_clock;
  for (const std::chrono::nanoseconds time :
       {std::chrono::nanoseconds(0), 1000ns, 49'000ns, 50'000ns, 200'000ns}) {
    const clock::time_point start = clock::now();
    detail::thread_waiter::wait_for(time);
    EXPECT_GE(clock::now() - start, time);
  }
}

// [waiting]
void wait_until_set(const std::atomic<bool>& flag) {
  weft::backoff pause(weft::backoff_mode::balanced);
  while (!flag.load(std::memory_order_acquire)) pause.snooze();
}
// [waiting]

TEST(Backoff, TheExampleOfTheGuideWaits) {
  std::atomic<bool> flag{false};
  std::thread setter([&] { flag.store(true, std::memory_order_release); });
  wait_until_set(flag);
  setter.join();
  EXPECT_TRUE(flag);
  backoff real(backoff_limits{1, 2, 3, 1us});
  for (int i = 0; i < 5; ++i) real.snooze();
  EXPECT_TRUE(real.is_sleeping());
}

}  // namespace
}  // namespace weft
