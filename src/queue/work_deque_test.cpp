// SPDX-License-Identifier: Apache-2.0
//
// What each operation of the worker's deque does, one thread at a time. A thief is stopped in the middle of what it does
// by calling the halves of a steal one by one; real concurrency is work_deque_model.cpp's and tests/stress's.
#include "queue/work_deque.hpp"

#include "sys/platform_interposed.hpp"

#include <array>
#include <gtest/gtest.h>
#include <vector>

namespace weft::impl {
namespace {

constexpr thief_id alice{1};
constexpr thief_id bob{2};

/// Words to push. What they point to is never looked at.
runnable task(std::size_t i) {
  static std::array<std::uint64_t, 4096> anything;
  return {runnable::kind::task, &anything.at(i)};
}
runnable join(std::size_t i) { return {runnable::kind::join, task(i).address()}; }

template <class Deque>
class BasicWorkDequeTest : public ::testing::Test {
 protected:
  static work_deque_options small() { return {.capacity = 4, .most = 8, .least_after_push = 3}; }

  void push_tasks(std::size_t from, std::size_t until) {
    for (std::size_t i = from; i < until; ++i) ASSERT_TRUE(victim.push(task(i)));
  }
  std::vector<runnable> drain(Deque& from) {
    std::vector<runnable> all;
    while (const runnable r = from.pop()) all.push_back(r);
    return all;
  }
  static std::vector<runnable> tasks(std::vector<std::size_t> numbers) {
    std::vector<runnable> all;
    for (const std::size_t i : numbers) all.push_back(task(i));
    return all;
  }
  /// What a granted thief holds now.
  top_word granted(thief_id who) {
    const top_word word = victim.at_door();
    EXPECT_TRUE(word.is_claimed());
    EXPECT_EQ(word.by(), who);
    return word;
  }

  Deque victim{default_platform::barriers(), small()};
  Deque loot{default_platform::barriers(), small()};
  Deque other_loot{default_platform::barriers(), small()};
};

class WorkDequeTest : public BasicWorkDequeTest<work_deque> {};

TEST(TopWord, KeepsItsPartsApart) {
  const top_word settled = top_word::settled(7);
  EXPECT_TRUE(settled.is_settled() && !settled.is_asked() && !settled.is_claimed());
  EXPECT_EQ(settled.head(), 7U);
  const top_word asked = top_word::asked(0xffffffff, thief_id{0xffff});
  EXPECT_TRUE(!asked.is_settled() && asked.is_asked() && !asked.is_claimed());
  EXPECT_EQ(asked.head(), 0xffffffffU);
  EXPECT_EQ(asked.end(), 0xffffffffU);
  EXPECT_EQ(asked.by(), thief_id{0xffff});
  const top_word claimed = top_word::claimed(0xffffffff, 0xffff, thief_id{1});
  EXPECT_TRUE(!claimed.is_settled() && !claimed.is_asked() && claimed.is_claimed());
  EXPECT_EQ(claimed.head(), 0xffffffffU);
  EXPECT_EQ(claimed.end(), 0xfffeU);
  EXPECT_EQ(claimed.count(), 0xffffU);
  EXPECT_EQ(claimed.by(), thief_id{1});
}

// The owner alone.

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

struct reuses_claimed_slots : work_deque_rules {
  static constexpr std::uint32_t reusable_before(top_word top) noexcept { return top.end(); }
};

TEST(WorkDeque, ClaimedSlotsAreNotWrittenAgain) {
  EXPECT_EQ(push_over_a_claim<work_deque_rules>(), (std::vector{task(1), task(0)}));
  EXPECT_EQ(push_over_a_claim<reuses_claimed_slots>(), (std::vector{task(5), task(4)}))
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

// On a platform that counts, and where memory runs out.

class InterposedWorkDequeTest : public BasicWorkDequeTest<basic_work_deque<interposed_platform>> {
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
