// SPDX-License-Identifier: Apache-2.0
//
// What the worker's deque costs, and what it does without memory: on a platform that counts, and that may refuse.
#include "support/work_deque_fixture.hpp"
#include "sys/platform_interposed.hpp"

namespace weft::impl {
namespace {

using testing::alice;
using testing::bob;
using testing::task;

class InterposedWorkDequeTest : public testing::BasicWorkDequeTest<basic_work_deque<interposed_platform>> {
 protected:
  void SetUp() override { doors.reset(); }
  void TearDown() override { doors.reset(); }
};

TEST_F(InterposedWorkDequeTest, OnlyATheftWithoutTheOwnerCostsAHeavyBarrier) {
  EXPECT_EQ(victim.steal(alice, loot), 0U);
  push_tasks(0, 8);
  ASSERT_TRUE(victim.ask(alice));
  EXPECT_EQ(victim.steal(bob, other_loot), 0U);
  victim.answer_between();
  EXPECT_EQ(victim.take(granted(alice), loot), 4U);
  EXPECT_EQ(victim.pop(), task(7));
  EXPECT_EQ(doors.calls(door::heavy_barrier), 0U);
  EXPECT_EQ(victim.steal(alice, loot), 2U);
  EXPECT_EQ(doors.calls(door::heavy_barrier), 1U);
}

TEST_F(InterposedWorkDequeTest, TheOwnerPaysForNoReadModifyWrite) {
  push_tasks(0, 2);
  doors.reset();
  push_tasks(2, 3);
  EXPECT_EQ(doors.calls(door::atomic_operation), 3U) << "load bottom, store slot, store bottom";
  doors.reset();
  EXPECT_FALSE(victim.asked());
  EXPECT_EQ(doors.calls(door::atomic_operation), 1U) << "load top";
  doors.reset();
  EXPECT_EQ(victim.pop(), task(2));
  EXPECT_EQ(doors.calls(door::atomic_operation), 4U) << "load bottom, store bottom, load top, load slot";
  doors.reset();
  EXPECT_TRUE(victim.pop_if(task(1)));
  EXPECT_EQ(doors.calls(door::atomic_operation), 4U) << "load bottom, load slot, store bottom, load top";
  doors.reset();
  EXPECT_EQ(victim.pop(), task(0)) << "the last";
  EXPECT_EQ(doors.calls(door::atomic_operation), 4U) << "as any other";
}

TEST_F(InterposedWorkDequeTest, ReusesSlotsInsteadOfGrowing) {
  push_tasks(0, 4);
  const std::uint64_t rings = doors.calls(door::allocate);
  for (std::size_t i = 4; i < 100; ++i) {
    EXPECT_TRUE(victim.pop_oldest());
    push_tasks(i, i + 1);
  }
  EXPECT_EQ(doors.calls(door::allocate), rings);
}

TEST_F(InterposedWorkDequeTest, SaysWhenThereIsNoMemory) {
  doors.fail_from(door::allocate, 1);
  EXPECT_FALSE(victim.push(task(0)));
  EXPECT_FALSE(victim.pop());
  doors.reset();
  push_tasks(0, 4);
  doors.fail_from(door::allocate, 1);
  EXPECT_FALSE(victim.push(task(4)));
  EXPECT_EQ(victim.size(), 4U);
  EXPECT_EQ(victim.pop_oldest(), task(0));
  push_tasks(4, 5);  // where the oldest was
  EXPECT_EQ(drain(victim), tasks({4, 3, 2, 1}));
}

TEST_F(InterposedWorkDequeTest, AThiefWithoutMemoryLeavesEverythingWhereItIs) {
  push_tasks(0, 4);
  doors.fail_from(door::allocate, 1);
  EXPECT_EQ(victim.steal(alice, loot), 0U);
  EXPECT_TRUE(victim.at_door().is_settled());
  ASSERT_TRUE(victim.ask(alice));
  victim.answer_between();
  EXPECT_EQ(victim.take(granted(alice), loot), 0U);
  EXPECT_EQ(drain(victim), tasks({3, 2, 1, 0}));
}

}  // namespace
}  // namespace weft::impl
