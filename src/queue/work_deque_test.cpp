// SPDX-License-Identifier: Apache-2.0
//
// What each operation of the worker's deque does, one thread at a time. A thief is stopped in the middle of what it does
// by calling the halves of a steal one by one; real concurrency is work_deque_model.cpp's and tests/stress's.
#include "queue/work_deque.hpp"

#include "support/broken_deques.hpp"
#include "support/work_deque_fixture.hpp"

#include <gtest/gtest.h>
#include <vector>

namespace weft::impl {
namespace {

using testing::alice;
using testing::bob;
using testing::join;
using testing::task;

class WorkDequeTest : public testing::BasicWorkDequeTest<work_deque> {};

TEST_F(WorkDequeTest, StartsEmpty) {
  EXPECT_FALSE(victim.pop());
  EXPECT_FALSE(victim.pop_oldest());
  EXPECT_FALSE(victim.pop_if(task(0)));
  EXPECT_EQ(victim.size(), 0U);
  EXPECT_EQ(victim.size_approx(), 0U);
  EXPECT_FALSE(victim.asked());
  EXPECT_EQ(victim.steal(alice, loot), 0U);
  EXPECT_TRUE(victim.at_door().is_settled());
}

TEST_F(WorkDequeTest, PopsTheNewest) {
  push_tasks(0, 3);
  EXPECT_EQ(victim.size(), 3U);
  EXPECT_EQ(victim.pop(), task(2));
  push_tasks(3, 4);
  EXPECT_EQ(drain(victim), tasks({3, 1, 0}));
  EXPECT_EQ(victim.size(), 0U);
  push_tasks(4, 5);
  EXPECT_EQ(victim.pop(), task(4));
}

TEST_F(WorkDequeTest, PopsTheOldest) {
  push_tasks(0, 4);
  EXPECT_EQ(victim.pop_oldest(), task(0));
  EXPECT_EQ(victim.pop_oldest(), task(1));
  EXPECT_EQ(victim.pop(), task(3));
  EXPECT_EQ(victim.pop_oldest(), task(2));
  EXPECT_FALSE(victim.pop_oldest());
  EXPECT_FALSE(victim.pop());
}

TEST_F(WorkDequeTest, TakesBackTheNewestIfItIsTheOne) {
  ASSERT_TRUE(victim.push(join(0)));
  ASSERT_TRUE(victim.push(task(1)));
  EXPECT_FALSE(victim.pop_if(join(0))) << "something newer lies above it";
  EXPECT_TRUE(victim.pop_if(task(1)));
  EXPECT_FALSE(victim.pop_if(task(0))) << "the same address, but not the same kind";
  EXPECT_TRUE(victim.pop_if(join(0)));
  EXPECT_FALSE(victim.pop_if(join(0)));
  EXPECT_EQ(victim.size(), 0U);
}

TEST_F(WorkDequeTest, DoesNotTakeBackWhatWasStolen) {
  ASSERT_TRUE(victim.push(join(0)));
  ASSERT_EQ(victim.steal(alice, loot), 1U);
  EXPECT_FALSE(victim.pop_if(join(0))) << "its slot still holds the word";
  EXPECT_EQ(victim.size(), 0U);
  EXPECT_EQ(drain(loot), std::vector{join(0)});
}

TEST_F(WorkDequeTest, GuessesWhatComesNext) {
  EXPECT_FALSE(victim.guess(3)) << "nothing";
  push_tasks(0, 3);
  EXPECT_EQ(victim.guess(0), task(2));
  EXPECT_EQ(victim.guess(2), task(0));
}

TEST_F(WorkDequeTest, GrowsAndKeepsTheOrder) {
  push_tasks(0, 2);
  EXPECT_EQ(victim.pop_oldest(), task(0));  // so that the ring wraps
  push_tasks(2, 100);
  EXPECT_EQ(victim.size(), 99U);
  EXPECT_EQ(victim.pop_oldest(), task(1));
  for (std::size_t i = 100; i-- > 2;) EXPECT_EQ(victim.pop(), task(i));
  EXPECT_FALSE(victim.pop());
}

TEST_F(WorkDequeTest, IndicesWrap) {
  for (std::uint32_t before = 0; before < 12; ++before) {
    work_deque_options near = small();
    near.first_index = 0U - before;
    work_deque wraps(default_platform::barriers(), near);
    for (std::size_t i = 0; i < 8; ++i) ASSERT_TRUE(wraps.push(task(i)));
    EXPECT_EQ(wraps.steal(alice, loot), 4U);
    EXPECT_EQ(wraps.size(), 4U);
    ASSERT_TRUE(wraps.ask(alice));
    EXPECT_EQ(wraps.pop(), task(7));
    wraps.answer_between();
    EXPECT_EQ(wraps.take(wraps.at_door(), loot), 2U);
    EXPECT_EQ(wraps.pop_oldest(), task(6));
    EXPECT_FALSE(wraps.pop());
    EXPECT_EQ(drain(loot), tasks({5, 4, 3, 2, 1, 0}));
  }
}

// Claims without the owner.

TEST_F(WorkDequeTest, StealsHalfInOrder) {
  push_tasks(0, 5);
  EXPECT_EQ(victim.steal(alice, loot), 3U);
  EXPECT_EQ(drain(loot), tasks({2, 1, 0}));
  EXPECT_EQ(drain(victim), tasks({4, 3}));
}

TEST_F(WorkDequeTest, StealsOneWhereOneIsWanted) {
  push_tasks(0, 5);
  EXPECT_EQ(victim.steal(alice, loot, 1), 1U);
  EXPECT_EQ(drain(loot), tasks({0}));
  EXPECT_EQ(victim.size(), 4U);
}

TEST_F(WorkDequeTest, StealsNoMoreThanMayLeaveTogether) {
  push_tasks(0, 50);
  EXPECT_EQ(victim.steal(alice, loot), small().most);
}

TEST_F(WorkDequeTest, AJoinIsStolenAlone) {
  ASSERT_TRUE(victim.push(join(0)));
  ASSERT_TRUE(victim.push(join(1)));
  push_tasks(2, 8);
  EXPECT_EQ(victim.steal(alice, loot), 1U);
  EXPECT_EQ(drain(loot), std::vector{join(0)});
  EXPECT_EQ(victim.size(), 7U);
}

TEST_F(WorkDequeTest, NothingIsStolenPastAJoin) {
  push_tasks(0, 2);
  ASSERT_TRUE(victim.push(join(2)));
  push_tasks(3, 9);
  EXPECT_EQ(victim.steal(alice, loot), 2U);
  EXPECT_EQ(drain(loot), tasks({1, 0}));
  EXPECT_EQ(victim.steal(alice, loot), 1U);
  EXPECT_EQ(drain(loot), std::vector{join(2)});
}

TEST_F(WorkDequeTest, LootIsAddedToWhatIsThere) {
  push_tasks(0, 4);
  ASSERT_TRUE(loot.push(task(9)));
  EXPECT_EQ(victim.steal(alice, loot), 2U);
  EXPECT_EQ(drain(loot), tasks({1, 0, 9}));
}

TEST_F(WorkDequeTest, TheOwnerRevokesAClaimItRunsInto) {
  push_tasks(0, 4);
  const auto claim = victim.begin_claim(alice, 8);
  ASSERT_TRUE(claim);
  EXPECT_EQ(claim->count(), 2U);
  EXPECT_EQ(victim.pop(), task(3));
  EXPECT_EQ(victim.pop(), task(2));
  EXPECT_EQ(victim.at_door(), *claim) << "what is not claimed is popped without touching the claim";
  EXPECT_EQ(victim.pop(), task(1));
  EXPECT_TRUE(victim.at_door().is_settled());
  EXPECT_EQ(victim.finish_claim(*claim, loot), 0U);
  EXPECT_EQ(loot.size(), 0U);
  EXPECT_EQ(victim.pop(), task(0));
  EXPECT_FALSE(victim.pop());
}

TEST_F(WorkDequeTest, ARevokedThiefGetsNothingOfWhatCameLater) {
  push_tasks(0, 2);
  const auto claim = victim.begin_claim(alice, 8);
  ASSERT_TRUE(claim);
  EXPECT_EQ(drain(victim), tasks({1, 0}));
  push_tasks(2, 4);
  EXPECT_EQ(victim.finish_claim(*claim, loot), 0U);
  EXPECT_EQ(victim.steal(alice, loot), 1U);
  EXPECT_EQ(drain(loot), tasks({2}));
  EXPECT_EQ(drain(victim), tasks({3}));
}

TEST_F(WorkDequeTest, TakingBackRevokesAClaim) {
  ASSERT_TRUE(victim.push(join(0)));
  const auto claim = victim.begin_claim(alice, 8);
  ASSERT_TRUE(claim);
  EXPECT_TRUE(victim.pop_if(join(0)));
  EXPECT_EQ(victim.finish_claim(*claim, loot), 0U);
  EXPECT_FALSE(victim.pop());
}

TEST_F(WorkDequeTest, TakingTheOldestRevokesAClaim) {
  push_tasks(0, 4);
  const auto claim = victim.begin_claim(alice, 8);
  ASSERT_TRUE(claim);
  EXPECT_EQ(victim.pop_oldest(), task(0));
  EXPECT_EQ(victim.finish_claim(*claim, loot), 0U);
  EXPECT_EQ(drain(victim), tasks({3, 2, 1}));
}

TEST_F(WorkDequeTest, AClaimSurvivesGrowth) {
  push_tasks(0, 4);
  const auto claim = victim.begin_claim(alice, 8);
  ASSERT_TRUE(claim);
  push_tasks(4, 40);
  EXPECT_EQ(victim.finish_claim(*claim, loot), 2U);
  EXPECT_EQ(drain(loot), tasks({1, 0}));
  EXPECT_EQ(victim.size(), 38U);
}

/// Four slots, two of them claimed, and two more items. Returns what the thief gets.
template <class Rules>
std::vector<runnable> push_over_a_claim() {
  using deque = basic_work_deque<default_platform, Rules>;
  const work_deque_options four = {.capacity = 4};
  deque victim(default_platform::barriers(), four);
  deque loot(default_platform::barriers(), four);
  for (std::size_t i = 0; i < 4; ++i) EXPECT_TRUE(victim.push(task(i)));
  const auto claim = victim.begin_claim(alice, 8);
  for (std::size_t i = 4; i < 6; ++i) EXPECT_TRUE(victim.push(task(i)));
  EXPECT_EQ(victim.finish_claim(*claim, loot), 2U);
  std::vector<runnable> got;
  while (const runnable r = loot.pop()) got.push_back(r);
  return got;
}

TEST(WorkDeque, ClaimedSlotsAreNotWrittenAgain) {
  EXPECT_EQ(push_over_a_claim<work_deque_rules>(), (std::vector{task(1), task(0)}));
  EXPECT_EQ(push_over_a_claim<testing::reuses_claimed_slots>(), (std::vector{task(5), task(4)}))
      << "the planted fault";
}

// Asking and answering.

TEST_F(WorkDequeTest, GrantsHalfToAThiefThatAsks) {
  push_tasks(0, 6);
  EXPECT_FALSE(victim.asked());
  ASSERT_TRUE(victim.ask(alice));
  EXPECT_TRUE(victim.asked());
  victim.answer_between();
  EXPECT_FALSE(victim.asked());
  const top_word claim = granted(alice);
  EXPECT_EQ(claim.count(), 3U);
  EXPECT_EQ(victim.size(), 6U) << "granted is not gone";
  EXPECT_EQ(victim.take(claim, loot), 3U);
  EXPECT_TRUE(victim.at_door().is_settled());
  EXPECT_EQ(drain(loot), tasks({2, 1, 0}));
  EXPECT_EQ(drain(victim), tasks({5, 4, 3}));
}

TEST_F(WorkDequeTest, AnsweringNobodyDoesNothing) {
  push_tasks(0, 6);
  victim.answer_between();
  victim.answer_after_push();
  EXPECT_TRUE(victim.at_door().is_settled());
}

TEST_F(WorkDequeTest, BetweenTwoTasksEvenTheLastIsGranted) {
  ASSERT_TRUE(victim.ask(alice));
  victim.answer_between();
  EXPECT_TRUE(victim.asked()) << "there is nothing to give: the thief goes on asking";
  push_tasks(0, 1);
  victim.answer_between();
  EXPECT_EQ(victim.take(granted(alice), loot), 1U);
  EXPECT_EQ(victim.size(), 0U);
}

TEST_F(WorkDequeTest, AfterAPushNothingIsGrantedBeforeThereIsPlenty) {
  ASSERT_TRUE(victim.ask(alice));
  for (std::size_t i = 0; i < 4; ++i) {
    push_tasks(i, i + 1);
    victim.answer_after_push();
    EXPECT_TRUE(victim.asked()) << "with " << i + 1;
  }
  push_tasks(4, 5);
  victim.answer_after_push();
  EXPECT_EQ(granted(alice).count(), small().least_after_push);
}

TEST_F(WorkDequeTest, AfterManyPushesOfOneThatTakesThemBackTheLittleThereIsIsGranted) {
  push_tasks(0, 1);
  ASSERT_TRUE(victim.ask(alice));
  for (std::uint32_t i = 1; i <= 2 * small().least_after_push; ++i) {
    EXPECT_TRUE(victim.asked()) << "before push " << i;
    ASSERT_TRUE(victim.push(join(0)));
    victim.answer_after_push();
    EXPECT_TRUE(victim.pop_if(join(0)));
  }
  EXPECT_EQ(victim.take(granted(alice), loot), 1U);
  EXPECT_EQ(drain(loot), std::vector{task(0)});
}

TEST_F(WorkDequeTest, AfterAPushAJoinIsGrantedUnlessItIsTheNewest) {
  ASSERT_TRUE(victim.ask(alice));
  ASSERT_TRUE(victim.push(join(0)));
  victim.answer_after_push();
  EXPECT_TRUE(victim.asked());
  ASSERT_TRUE(victim.push(join(1)));
  victim.answer_after_push();
  EXPECT_EQ(victim.take(granted(alice), loot), 1U);
  EXPECT_FALSE(victim.pop_if(join(0)));
  EXPECT_TRUE(victim.pop_if(join(1)));
  EXPECT_EQ(drain(loot), std::vector{join(0)});
}

// What an inlined spawn or join does: nothing but the push, or nothing at all.
TEST_F(WorkDequeTest, AQuietPushFailsWhereThereIsMoreToBeDone) {
  work_deque quiet(barrier_kind::asymmetric, small());
  EXPECT_FALSE(quiet.try_push_quietly(task(0))) << "there is no room before the first push";
  ASSERT_TRUE(quiet.push(task(0)));
  EXPECT_TRUE(quiet.try_push_quietly(task(1)));
  ASSERT_TRUE(quiet.ask(alice));
  EXPECT_FALSE(quiet.try_push_quietly(task(2))) << "a thief asks";
  ASSERT_TRUE(quiet.push(task(2)));
  quiet.see_to_thieves();
  EXPECT_FALSE(quiet.try_push_quietly(task(3))) << "it was not granted anything, and asks on";
  quiet.withdraw(alice);
  EXPECT_FALSE(quiet.try_push_quietly(task(3))) << "nobody has looked since";
  quiet.see_to_thieves();
  EXPECT_TRUE(quiet.try_push_quietly(task(3)));
  EXPECT_FALSE(quiet.try_push_quietly(task(4))) << "there is no room";
  EXPECT_EQ(drain(quiet), tasks({3, 2, 1, 0}));
}

TEST_F(WorkDequeTest, WithFencesNoPushIsQuiet) {
  work_deque fenced(barrier_kind::symmetric, small());
  ASSERT_TRUE(fenced.push(task(0)));
  EXPECT_FALSE(fenced.try_push_quietly(task(1)));
  fenced.see_to_thieves();
  EXPECT_FALSE(fenced.try_push_quietly(task(1)));
  EXPECT_EQ(drain(fenced), tasks({0}));
}

TEST_F(WorkDequeTest, NothingIsGrantedPastAJoin) {
  push_tasks(0, 2);
  ASSERT_TRUE(victim.push(join(2)));
  push_tasks(3, 9);
  ASSERT_TRUE(victim.ask(alice));
  victim.answer_between();
  EXPECT_EQ(victim.take(granted(alice), loot), 2U);
  EXPECT_EQ(drain(loot), tasks({1, 0}));
}

TEST_F(WorkDequeTest, TheOwnerRevokesAGrantItNeeds) {
  push_tasks(0, 2);
  ASSERT_TRUE(victim.ask(alice));
  victim.answer_between();
  const top_word claim = granted(alice);
  EXPECT_EQ(drain(victim), tasks({1, 0}));
  EXPECT_EQ(victim.take(claim, loot), 0U);
  EXPECT_EQ(loot.size(), 0U);
}

TEST_F(WorkDequeTest, TakingTheOldestLeavesTheAskerWhereItIs) {
  push_tasks(0, 3);
  ASSERT_TRUE(victim.ask(alice));
  EXPECT_EQ(victim.pop_oldest(), task(0));
  EXPECT_TRUE(victim.asked());
  victim.answer_between();
  EXPECT_EQ(victim.take(granted(alice), loot), 1U);
  EXPECT_EQ(drain(loot), tasks({1}));
}

TEST_F(WorkDequeTest, AThiefMayLeave) {
  push_tasks(0, 2);
  ASSERT_TRUE(victim.ask(alice));
  victim.withdraw(bob);
  EXPECT_TRUE(victim.asked()) << "one does not leave for another";
  victim.withdraw(alice);
  EXPECT_FALSE(victim.asked());
  ASSERT_TRUE(victim.ask(alice));
  victim.answer_between();
  victim.withdraw(alice);
  EXPECT_TRUE(victim.at_door().is_settled());
  EXPECT_EQ(drain(victim), tasks({1, 0}));
}

TEST_F(WorkDequeTest, AThiefThatAsksMayLosePatience) {
  push_tasks(0, 2);
  ASSERT_TRUE(victim.ask(alice));
  EXPECT_EQ(victim.steal(alice, loot), 1U);
  EXPECT_TRUE(victim.at_door().is_settled());
  EXPECT_EQ(drain(loot), tasks({0}));
  EXPECT_EQ(drain(victim), tasks({1}));
  ASSERT_TRUE(victim.ask(alice));
  EXPECT_EQ(victim.steal(alice, loot), 0U) << "there is nothing";
  EXPECT_TRUE(victim.at_door().is_settled()) << "and it has left";
}

// Two thieves.

TEST_F(WorkDequeTest, OneThiefAtATime) {
  push_tasks(0, 8);
  ASSERT_TRUE(victim.ask(alice));
  EXPECT_FALSE(victim.ask(bob));
  EXPECT_EQ(victim.steal(bob, other_loot), 0U);
  victim.answer_between();
  EXPECT_FALSE(victim.ask(bob));
  EXPECT_EQ(victim.steal(bob, other_loot), 0U);
  EXPECT_EQ(victim.take(granted(alice), loot), 4U);
  EXPECT_TRUE(victim.ask(bob));
}

TEST_F(WorkDequeTest, ABrokenThiefIsPutAside) {
  push_tasks(0, 4);
  const auto claim = victim.begin_claim(alice, 8);
  ASSERT_TRUE(claim);
  const top_word stands = victim.at_door();
  EXPECT_FALSE(victim.ask(bob));
  ASSERT_TRUE(victim.ask(bob, stands));
  EXPECT_EQ(victim.finish_claim(*claim, loot), 0U);
  victim.answer_between();
  EXPECT_EQ(victim.take(granted(bob), other_loot), 2U);
  EXPECT_EQ(drain(other_loot), tasks({1, 0}));
  EXPECT_EQ(loot.size(), 0U);
}

TEST_F(WorkDequeTest, AThiefThatHasMovedOnIsNotPutAside) {
  push_tasks(0, 4);
  ASSERT_TRUE(victim.ask(alice));
  const top_word stood = victim.at_door();
  victim.answer_between();
  EXPECT_FALSE(victim.ask(bob, stood));
  EXPECT_EQ(victim.take(granted(alice), loot), 2U);
}

TEST_F(WorkDequeTest, NoMoreLeaveThanTheOptionsSayWhateverAThiefWants) {
  push_tasks(0, 40);
  EXPECT_EQ(victim.steal(alice, loot, 1000), small().most);
  EXPECT_EQ(victim.steal(alice, loot, 0xffffffff), small().most);
  EXPECT_EQ(victim.steal(alice, loot, 0), 0U);
  EXPECT_TRUE(victim.at_door().is_settled());
  EXPECT_EQ(victim.size() + loot.size(), 40U) << "nothing has vanished";
}

TEST(WorkDequeDeathTest, BadOptionsAreNamed) {
  const auto made_with = [](work_deque_options options) {
    const work_deque made(default_platform::barriers(), options);
  };
  EXPECT_DEATH(made_with({.capacity = 3}), "the capacity of a deque is a power of two");
  EXPECT_DEATH(made_with({.capacity = 0x80000000}), "the capacity of a deque is a power of two, up to 2.30");
  EXPECT_DEATH(made_with({.most = 0}), "a claim has a 16-bit count");
  EXPECT_DEATH(made_with({.most = 0x10000}), "a claim has a 16-bit count");
}

TEST_F(WorkDequeTest, AThiefHasAName) { EXPECT_DEATH((void)victim.ask(thief_id{}), "a thief has a name"); }

}  // namespace
}  // namespace weft::impl
