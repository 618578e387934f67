// SPDX-License-Identifier: Apache-2.0

#include "sys/platform.hpp"

#include "sys/platform_interposed.hpp"

#include <gtest/gtest.h>

namespace weft::impl {
namespace {

static_assert(platform<interposed_platform>);

// A component as weft writes them: everything it needs comes from the Platform.
template <platform Platform>
struct counter {
  typename Platform::template atomic<int> value{0};
  [[no_unique_address]] typename Platform::clock clock;

  time_point bump() {
    value.fetch_add(1, std::memory_order_relaxed);
    return clock.now();
  }
};
static_assert(sizeof(counter<real_platform>) == sizeof(std::atomic<int>), "the seam takes no room either");

struct PlatformTest : ::testing::Test {
  void SetUp() override { doors.reset(); }
  void TearDown() override { doors.reset(); }
};

TEST_F(PlatformTest, TheSameCodeRunsOnBoth) {
  counter<real_platform> real;
  counter<interposed_platform> interposed;
  EXPECT_GT(real.bump(), time_point());
  EXPECT_GT(interposed.bump(), time_point());
  EXPECT_EQ(doors.calls(door::atomic_operation), 1U);
  EXPECT_EQ(doors.calls(door::clock_read), 1U);
}

TEST_F(PlatformTest, LetsTheNthCallFail) {
  using memory = interposed_platform::memory;
  doors.fail_nth(door::reserve, 2);
  const result<void*> first = memory::reserve(4096);
  const result<void*> second = memory::reserve(4096);
  const result<void*> third = memory::reserve(4096);
  ASSERT_TRUE(first && third);
  EXPECT_EQ(second.error(), std::errc::not_enough_memory);
  memory::release(*first, 4096);
  memory::release(*third, 4096);
  EXPECT_EQ(doors.calls(door::reserve), 3U);
  EXPECT_EQ(doors.calls(door::release), 2U);
}

TEST_F(PlatformTest, LetsAllCallsFromTheNthOnFail) {
  doors.fail_from(door::thread_start, 1);
  const auto none = interposed_platform::thread::start([](void*) {}, nullptr);
  EXPECT_EQ(none.error(), std::errc::resource_unavailable_try_again);
  doors.reset();
  auto one = interposed_platform::thread::start([](void*) {}, nullptr);
  ASSERT_TRUE(one.has_value());
  one->join();
}

TEST_F(PlatformTest, ChanceIsReproducibleBehindDoors) {
  EXPECT_EQ(interposed_platform::entropy::seed(), interposed_platform::entropy::seed());
  interposed_platform::random a(interposed_platform::entropy::seed());
  interposed_platform::random b(interposed_platform::entropy::seed());
  EXPECT_EQ(a(), b());
}

TEST_F(PlatformTest, FencesExistOnBoth) {
  real_platform::full_fence();
  interposed_platform::full_fence();
}

}  // namespace
}  // namespace weft::impl
