// SPDX-License-Identifier: Apache-2.0

#include "sys/thread.hpp"

#include "sys/clock.hpp"
#include "sys/entropy.hpp"

#include <atomic>
#include <cstring>
#include <gtest/gtest.h>
#include <pthread.h>

namespace weft::impl {
namespace {

TEST(Thread, RunsItsBodyAndIsJoined) {
  std::atomic<int> ran{0};
  result<system_thread> thread =
      system_thread::start([](void* count) { static_cast<std::atomic<int>*>(count)->fetch_add(1); }, &ran);
  ASSERT_TRUE(thread.has_value());
  EXPECT_TRUE(thread->joinable());
  thread->join();
  EXPECT_FALSE(thread->joinable());
  EXPECT_EQ(ran, 1);
}

TEST(Thread, TakesANameAndAStackSize) {
  struct report {
    char name[32] = {};
    std::size_t stack = 0;
  } seen;
  result<system_thread> thread = system_thread::start(
      [](void* raw) {
        auto& r = *static_cast<report*>(raw);
        ::pthread_getname_np(::pthread_self(), r.name, sizeof r.name);
        pthread_attr_t attributes;
        ::pthread_getattr_np(::pthread_self(), &attributes);
        ::pthread_attr_getstacksize(&attributes, &r.stack);
        ::pthread_attr_destroy(&attributes);
      },
      &seen, {.stack_size = std::size_t{1} << 20U, .name = "a-name-that-is-too-long"});
  ASSERT_TRUE(thread.has_value());
  thread->join();
  EXPECT_STREQ(seen.name, "a-name-that-is-");
  EXPECT_GE(seen.stack, std::size_t{1} << 20U);
  EXPECT_LT(seen.stack, std::size_t{4} << 20U);
}

TEST(Thread, AStartThatFailsIsAValue) {
  const auto impossible = system_thread::start(
      [](void*) {}, nullptr, {.stack_size = 1, .name = nullptr});  // below PTHREAD_STACK_MIN
  ASSERT_FALSE(impossible);
  EXPECT_EQ(impossible.error(), std::errc::invalid_argument);
}

TEST(ThreadDeathTest, MustBeJoined) {
  EXPECT_DEATH({ (void)system_thread::start([](void*) {}, nullptr); },
               "a thread is joined before it is destroyed");
}

TEST(SystemClock, NeverGoesBack) {
  const system_clock clock;
  time_point last = clock.now();
  for (int i = 0; i < 1000; ++i) {
    const time_point now = clock.now();
    ASSERT_GE(now, last);
    last = now;
  }
  EXPECT_GT(last, time_point());
}

TEST(Entropy, SeedsDiffer) { EXPECT_NE(system_entropy::seed(), system_entropy::seed()); }

}  // namespace
}  // namespace weft::impl
