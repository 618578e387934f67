// SPDX-License-Identifier: Apache-2.0

#include "sys/memory.hpp"

#include "support/residency.hpp"

#include <array>
#include <gtest/gtest.h>

namespace weft::impl {
namespace {

struct reservation {
  explicit reservation(std::size_t n) : bytes(n), at(static_cast<char*>(*system_memory::reserve(n))) {}
  reservation(const reservation&) = delete;
  reservation& operator=(const reservation&) = delete;
  ~reservation() { system_memory::release(at, bytes); }
  std::size_t bytes;
  char* at;
};

const std::size_t page = system_memory::page_size();

TEST(Memory, ReservationsAreZeroedAndTakeMemoryWhenTouched) {
  reservation r(16 * page);
  EXPECT_EQ(testing::lowest_resident(r.at, r.bytes), nullptr);
  r.at[9 * page] = 1;
  EXPECT_EQ(testing::lowest_resident(r.at, r.bytes), r.at + 9 * page);
  EXPECT_EQ(r.at[9 * page + 1], 0);
  r.at[3 * page + 7] = 1;
  EXPECT_EQ(testing::lowest_resident(r.at, r.bytes), r.at + 3 * page);
}

TEST(Memory, DiscardedPagesReadAsZero) {
  reservation r(4 * page);
  r.at[page] = 5;
  r.at[3 * page] = 6;
  ASSERT_TRUE(system_memory::discard(r.at, 2 * page).has_value());
  EXPECT_EQ(r.at[page], 0);
  EXPECT_EQ(r.at[3 * page], 6);
}

TEST(Memory, ProtectionGuardsHold) {
  reservation r(4 * page);
  EXPECT_FALSE(system_memory::guard_holds(r.at));
  ASSERT_TRUE(system_memory::guard_by_protection(r.at, 2 * page).has_value());
  EXPECT_TRUE(system_memory::guard_holds(r.at));
  EXPECT_TRUE(system_memory::guard_holds(r.at + 2 * page - 1));
  EXPECT_FALSE(system_memory::guard_holds(r.at + 2 * page));
}

// On kernels that know light guards they hold; elsewhere the call fails, or it lies and guard_holds() tells.
TEST(Memory, LightGuardsHoldOrAreSeenThrough) {
  reservation r(4 * page);
  const result<void> guarded = system_memory::guard_light(r.at, page);
  if (guarded && system_memory::guard_holds(r.at)) {
    EXPECT_FALSE(system_memory::guard_holds(r.at + page));
    ASSERT_TRUE(system_memory::discard(r.at + page, page).has_value());
    EXPECT_TRUE(system_memory::guard_holds(r.at)) << "discarding beside a guard must not remove it";
  } else {
    EXPECT_TRUE(system_memory::guard_by_protection(r.at, page).has_value());
    EXPECT_TRUE(system_memory::guard_holds(r.at));
  }
}

TEST(Memory, SeveralLightGuardsHoldOrAreNotCounted) {
  reservation r(6 * page);
  const std::array<void*, 3> places{r.at, r.at + 2 * page, r.at + 4 * page};
  const std::size_t guarded = system_memory::guard_light_each(places, page);
  EXPECT_TRUE(guarded == 0 || guarded == places.size());
  if (guarded != 0 && system_memory::guard_holds(r.at)) {
    for (std::size_t i = 0; i < 6; ++i)
      EXPECT_EQ(system_memory::guard_holds(r.at + i * page), i % 2 == 0) << i;
  }
}

TEST(Memory, FailuresAreValuesThatSayWhy) {
  const result<void*> huge = system_memory::reserve(std::size_t{1} << 62U);
  ASSERT_FALSE(huge);
  EXPECT_EQ(huge.error(), std::errc::not_enough_memory);
  EXPECT_FALSE(system_memory::discard(reinterpret_cast<void*>(1), page).has_value());  // not a page boundary
}

TEST(Memory, TheMappingLimitIsTheKernels) {
  const auto limit = system_memory::mapping_limit();
  ASSERT_TRUE(limit.has_value());
  EXPECT_GE(*limit, 1000U);
}

}  // namespace
}  // namespace weft::impl
