// SPDX-License-Identifier: Apache-2.0

#include "sys/futex.hpp"

#include "support/scale.hpp"
#include "sys/clock.hpp"
#include "sys/platform_interposed.hpp"

#include <weft/detail/sanitizers.hpp>

#include <atomic>
#include <csignal>
#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/mman.h>
#include <thread>
#include <unistd.h>

namespace weft::impl {
namespace {

using std::chrono::milliseconds;

time_point in(duration wait) { return saturating_add(system_clock().now(), wait); }

static_assert(sleeping_platform<interposed_platform>);

TEST(Futex, AWordThatHasChangedIsNotSleptOn) {
  const std::atomic<std::uint32_t> word{5};
  EXPECT_EQ(system_sleeper::wait(word, 4, never), sleep_end::woken);
}

TEST(Futex, ADeadlineEndsTheSleepAndNotBefore) {
  const std::atomic<std::uint32_t> word{5};
  const time_point deadline = in(milliseconds(20));
  EXPECT_EQ(system_sleeper::wait(word, 5, deadline), sleep_end::deadline);
  EXPECT_GE(system_clock().now(), deadline);
}

TEST(Futex, ADeadlineLongPastEndsItAtOnce) {
  const std::atomic<std::uint32_t> word{5};
  EXPECT_EQ(system_sleeper::wait(word, 5, time_point()), sleep_end::deadline);
  EXPECT_EQ(system_sleeper::wait(word, 5, time_point::min()), sleep_end::deadline);
  EXPECT_EQ(system_sleeper::wait(word, 4, time_point::min()), sleep_end::woken) << "the word counts first";
}

TEST(Futex, WhoeverChangesTheWordAndWakesIsNotMissed) {
  const int rounds = testing::scaled(2000, 200) * testing::repetitions(20);
  std::atomic<std::uint32_t> turn{0};
  const auto play = [&](std::uint32_t mine) {
    for (int i = 0; i < rounds; ++i) {
      while (turn.load(std::memory_order_acquire) != mine)
        EXPECT_EQ(system_sleeper::wait(turn, 1 - mine, never), sleep_end::woken);
      turn.store(1 - mine, std::memory_order_release);
      system_sleeper::wake_one(turn);
    }
  };
  std::thread other(play, 1);
  play(0);
  other.join();
  EXPECT_EQ(turn, 0U);
}

TEST(Futex, WakingWhereNobodySleepsOrNothingIsMappedDoesNoHarm) {
  const std::atomic<std::uint32_t> word{5};
  system_sleeper::wake_one(word);
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  void* const gone = ::mmap(nullptr, page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(gone, MAP_FAILED);
  ASSERT_EQ(::munmap(gone, page), 0);
  system_sleeper::wake_one(*static_cast<std::atomic<std::uint32_t>*>(gone));
}

std::atomic<int> signals_taken{0};

TEST(Futex, SignalsDoNotEndASleep) {
#if WEFT_THREAD_SANITIZER
  GTEST_SKIP() << "ThreadSanitizer runs handlers only within calls that it knows to block";
#endif
  struct sigaction old {};
  struct sigaction counting {};
  counting.sa_handler = [](int) {
    signals_taken.fetch_add(1);
  };  // without SA_RESTART: the call fails with EINTR
  ASSERT_EQ(::sigaction(SIGUSR1, &counting, &old), 0);
  signals_taken = 0;
  std::atomic<std::uint32_t> word{0};
  std::atomic<bool> returned{false};
  std::thread sleeper([&] {
    while (word.load(std::memory_order_acquire) == 0)
      EXPECT_EQ(system_sleeper::wait(word, 0, in(std::chrono::hours(1))), sleep_end::woken);
    returned = true;
  });
  const int wanted = testing::scaled(200, 20);
  while (signals_taken.load() < wanted) {
    ASSERT_EQ(::pthread_kill(sleeper.native_handle(), SIGUSR1), 0);
    std::this_thread::sleep_for(std::chrono::microseconds(100));
    ASSERT_FALSE(returned);
  }
  word.store(1, std::memory_order_release);
  system_sleeper::wake_one(word);
  sleeper.join();
  ASSERT_EQ(::sigaction(SIGUSR1, &old, nullptr), 0);
}

TEST(FutexDeathTest, SleepingOnMemoryThatIsNotThereIsNamed) {
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  void* const closed = ::mmap(nullptr, page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(closed, MAP_FAILED);
  EXPECT_DEATH((void)system_sleeper::wait(*static_cast<std::atomic<std::uint32_t>*>(closed), 0, never),
               "a thread sleeps on memory that is not there");
  ASSERT_EQ(::munmap(closed, page), 0);
}

}  // namespace
}  // namespace weft::impl
