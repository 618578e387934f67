// SPDX-License-Identifier: Apache-2.0

#include "sys/thread_place.hpp"

#include <array>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/resource.h>
#include <thread>
#include <unistd.h>

namespace weft::impl {
namespace {

int niceness_here() { return ::getpriority(PRIO_PROCESS, static_cast<id_t>(::gettid())); }

std::uint32_t a_processor() {
  cpu_set_t mask;
  EXPECT_EQ(::sched_getaffinity(0, sizeof mask, &mask), 0);
  std::uint32_t found = 0;
  while (!CPU_ISSET(found, &mask)) ++found;
  return found;
}

TEST(ThreadPlace, OfTheCallerIsWhereItMayRun) {
  cpu_set_t mask;
  ASSERT_EQ(::sched_getaffinity(0, sizeof mask, &mask), 0);
  EXPECT_EQ(thread_place::of_thread(0).processors(), static_cast<std::uint32_t>(CPU_COUNT(&mask)));
}

TEST(ThreadPlace, AThreadIsBroughtToItsProcessors) {
  const std::array<std::uint32_t, 1> only{a_processor()};
  std::thread([&] {
    thread_place place = thread_place::of_thread(0);
    place.use_only(only);
    EXPECT_EQ(place.processors(), 1U);
    place.apply();
    cpu_set_t mask;
    ASSERT_EQ(::sched_getaffinity(0, sizeof mask, &mask), 0);
    EXPECT_EQ(CPU_COUNT(&mask), 1);
    EXPECT_TRUE(CPU_ISSET(only[0], &mask));
    EXPECT_EQ(thread_place::of_thread(0).processors(), 1U);
  }).join();
}

TEST(ThreadPlace, AThreadIsMadeNicerAndNoOther) {
  const int before = niceness_here();
  std::thread([&] {
    thread_place place = thread_place::of_thread(0);
    place.set_niceness(before + 3);
    place.apply();
    EXPECT_EQ(niceness_here(), before + 3);
  }).join();
  EXPECT_EQ(niceness_here(), before);
}

TEST(ThreadPlace, AProcessorThatThereIsNotIsFound) {
  const thread_place here = thread_place::of_thread(0);
  const std::array<std::uint32_t, 2> wished{a_processor(), thread_place::most_processors};
  EXPECT_EQ(here.first_unusable(wished), thread_place::most_processors);
  EXPECT_EQ(here.first_unusable({wished.data(), 1}), std::nullopt);
  const std::array<std::uint32_t, 1> beyond{thread_place::most_processors - 1};
  EXPECT_EQ(here.first_unusable(beyond), thread_place::most_processors - 1);
}

TEST(ThreadPlace, ToBeNicerIsAlwaysAllowedAndChangesNothing) {
  const int before = niceness_here();
  EXPECT_TRUE(thread_place::may_be_as_nice_as(before));
  EXPECT_TRUE(thread_place::may_be_as_nice_as(thread_place::most_nice));
  (void)thread_place::may_be_as_nice_as(
      thread_place::least_nice);  // who may, may; the way back is always open
  EXPECT_EQ(niceness_here(), before);
}

}  // namespace
}  // namespace weft::impl
