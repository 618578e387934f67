// SPDX-License-Identifier: Apache-2.0

#include "base/clock.hpp"

#include <gtest/gtest.h>
#include <limits>

namespace weft::impl {
namespace {

using namespace std::chrono_literals;

TEST(Clock, FakeMovesOnlyWhenTold) {
  fake_clock clock(time_point(5s));
  EXPECT_EQ(clock.now(), time_point(5s));
  EXPECT_EQ(clock.now(), time_point(5s));
  clock.advance(3ms);
  EXPECT_EQ(clock.now() - time_point(5s), 3ms);
  clock.advance(0ns);
  EXPECT_EQ(clock.now() - time_point(5s), 3ms);
}

TEST(Clock, AnyDurationIsLegalInSaturatingAdd) {
  constexpr auto longest = duration(std::numeric_limits<std::int64_t>::max());
  constexpr auto most_negative = duration(std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(saturating_add(time_point(1ns), longest), never);
  EXPECT_EQ(saturating_add(time_point(0ns), longest), never);
  EXPECT_EQ(saturating_add(time_point(-1ns), longest), time_point(longest - 1ns));
  EXPECT_EQ(saturating_add(time_point(-1ns), most_negative), time_point::min());
  EXPECT_EQ(saturating_add(time_point(10ns), -3ns), time_point(7ns));
}

TEST(ClockDeathTest, FakeRefusesToGoBack) {
  fake_clock clock;
  EXPECT_DEATH(clock.advance(-1ns), "a monotonic clock cannot be moved back");
}

}  // namespace
}  // namespace weft::impl
