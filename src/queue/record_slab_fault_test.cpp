// SPDX-License-Identifier: Apache-2.0
//
// The record slab when memory runs out, and when others come in between.
#include "support/interrupting_platform.hpp"
#include "support/record_tenant.hpp"
#include "sys/platform_interposed.hpp"

#include <cstdint>
#include <gtest/gtest.h>
#include <vector>

namespace weft::impl {
namespace {

using testing::live_records;
using testing::tenant;
using testing::test_record;
using tiny = testing::tiny_policy;

struct RecordSlabFailureTest : ::testing::Test {
  using failing_slab = basic_record_slab<interposed_platform, test_record<interposed_platform>>;
  void SetUp() override { doors.reset(); }
  void TearDown() override { doors.reset(); }
};

TEST_F(RecordSlabFailureTest, WithoutALargeBlockASmallOneDoes) {
  failing_slab records;
  const tenant<failing_slab> home(records);
  doors.reset();
  doors.fail_nth(door::allocate, 1);
  home->free(home.published());
  EXPECT_EQ(doors.calls(door::allocate), 3U) << "64 records, 16 records, a leaf";
}

TEST_F(RecordSlabFailureTest, WithoutMemoryThereIsAnErrorAndItPasses) {
  failing_slab records({.body_bytes = 0, .first_block = 16});
  const tenant<failing_slab> home(records);
  std::vector<test_record<interposed_platform>*> taken;
  for (int i = 0; i < 16; ++i) taken.push_back(&home.published());
  doors.reset();
  doors.fail_from(door::allocate, 1);
  EXPECT_EQ(home->allocate().error(), errc::out_of_memory);
  EXPECT_EQ(records.move_in().error(), errc::out_of_memory);
  EXPECT_EQ(live_records(records), 16U);
  for (const auto* each : taken) EXPECT_EQ(records.resolve(each->handle()), each);
  doors.reset();
  taken.push_back(&home.published());
  for (auto* each : taken) home->free(*each);
}

// Every allocation in a whole life of a slab fails once, alone and with all after it: there is an error or none, and
// every record is accounted for (the slab's destructor counts them).
TEST_F(RecordSlabFailureTest, SurvivesTheFailureOfEachSingleAllocation) {
  const auto life = [] {
    failing_slab records({.body_bytes = 64, .first_block = 2, .most_block = 4});
    const result<failing_slab::home*> first = records.move_in();
    const result<failing_slab::home*> second = records.move_in();
    std::vector<test_record<interposed_platform>*> taken;
    for (const auto& home : {first, second}) {
      if (!home) continue;
      for (int i = 0; i < 40; ++i) {
        const auto made = (*home)->allocate();
        if (!made) {
          EXPECT_EQ(made.error(), errc::out_of_memory);
          continue;
        }
        failing_slab::publish(**made);
        taken.push_back(*made);
      }
    }
    EXPECT_EQ(live_records(records), taken.size());
    failing_slab::home* const freeing = second ? *second : first ? *first : nullptr;
    for (auto* each : taken) freeing->free(*each);
    EXPECT_EQ(live_records(records), 0U);
    if (first) records.move_out(**first);
    if (second) records.move_out(**second);
    return taken.size();
  };
  EXPECT_EQ(life(), 80U);
  const std::uint64_t calls = doors.calls(door::allocate);
  EXPECT_GT(calls, 20U);
  std::size_t short_of = 0;
  for (std::uint64_t n = 1; n <= calls; ++n) {
    doors.reset();
    doors.fail_nth(door::allocate, n);
    if (life() != 80) ++short_of;
    doors.reset();
    doors.fail_from(door::allocate, n);
    EXPECT_LT(life(), 80U) << "allocation " << n << " was not needed";
  }
  EXPECT_GT(short_of, 0U);
}

// Two homes that add blocks, or move in, at the same time.
struct InterruptedRecordSlabTest : ::testing::Test {
  using platform = testing::interrupting_platform;
  using any_record = test_record<platform>;
  using any_slab = basic_record_slab<platform, any_record, tiny>;
};

TEST_F(InterruptedRecordSlabTest, BlocksAddedAtTheSameTimeAreBothFound) {
  bool interrupted = true;
  for (std::uint64_t step = 1; interrupted; ++step) {
    any_slab records({.body_bytes = 0, .first_block = 1, .most_block = 1});
    const tenant<any_slab> one(records);
    const tenant<any_slab> two(records);
    std::vector<any_record*> taken;
    const auto take_from = [&](const tenant<any_slab>& home) { taken.push_back(&home.published()); };
    interrupted = testing::interruptions.run(
        step, [&] { take_from(two); }, [&] { take_from(one); });
    if (!interrupted) take_from(two);
    EXPECT_EQ(live_records(records), 2U) << "step " << step;
    EXPECT_NE(taken[0]->handle(), taken[1]->handle());
    for (any_record* each : taken) {
      EXPECT_EQ(records.resolve(each->handle()), each);
      one->free(*each);
    }
  }
}

TEST_F(InterruptedRecordSlabTest, TwoWhoMoveInGetTwoHomes) {
  for (const bool one_is_vacant : {false, true}) {
    bool interrupted = true;
    for (std::uint64_t step = 1; interrupted; ++step) {
      any_slab records({.body_bytes = 0, .first_block = 1, .most_block = 1});
      if (one_is_vacant) records.move_out(**records.move_in());
      any_slab::home* first = nullptr;
      any_slab::home* second = nullptr;
      interrupted = testing::interruptions.run(
          step, [&] { second = records.move_in().value(); }, [&] { first = records.move_in().value(); });
      EXPECT_NE(first, second) << "RS2: two tenants in one home, step " << step;
      records.move_out(*first);
      if (second != nullptr) records.move_out(*second);
    }
  }
}

// A handle is resolved while its record dies, and while it begins another life.
TEST_F(InterruptedRecordSlabTest, ResolvingBesideADeathGivesThisLifeOrNothing) {
  bool interrupted = true;
  for (std::uint64_t step = 1; interrupted; ++step) {
    any_slab records({.body_bytes = 0, .first_block = 1, .most_block = 1});
    const tenant<any_slab> home(records);
    any_record& made = home.published();
    const record_handle handle = made.handle();
    const any_record* found = nullptr;
    bool died = false;
    const auto die = [&] {
      home->free(made);
      any_slab::publish(*home->allocate().value());
      died = true;
    };
    interrupted = testing::interruptions.run(step, die, [&] { found = records.resolve(handle); });
    EXPECT_EQ(found, died ? nullptr : &made) << "step " << step;  // its last step is the look at the name
    EXPECT_EQ(records.resolve(handle), died ? nullptr : &made);
    home->free(made);
  }
}

}  // namespace
}  // namespace weft::impl
