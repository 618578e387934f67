// SPDX-License-Identifier: Apache-2.0

#include "sched/idle_word.hpp"

#include "sched/sleeper_set.hpp"

#include <gtest/gtest.h>
#include <initializer_list>
#include <set>

namespace weft::impl {
namespace {

constexpr idle_counts awake{};

idle_counts after(idle_counts counts, auto&& change) {
  change(counts);
  return idle_word(counts).counts();  // through the word, which checks the invariants
}

TEST(IdleWord, KeepsAllItsFields) {
  for (const std::uint32_t searching : {0U, 1U, 256U, 512U}) {
    for (const std::uint32_t sleeping : {0U, 1U, 255U, 256U}) {
      for (const std::uint32_t hungry : {0U, 1U, 256U}) {
        const idle_counts counts{.searching = searching,
                                 .sleeping = sleeping,
                                 .hungry = hungry,
                                 .debt = searching > 1,
                                 .closed = sleeping == 255};
        EXPECT_EQ(idle_word(counts).counts(), counts);
        EXPECT_EQ(idle_word(counts).hungry(), hungry > 0);
        EXPECT_EQ(idle_word(counts).calm(), !counts.alert() && hungry == 0);
      }
    }
  }
}

TEST(IdleWord, IsCalmUnlessSomebodyIsToBeToldOrFed) {
  EXPECT_TRUE(idle_word(0).calm());
  EXPECT_TRUE(idle_word(idle_counts{.searching = 3}).calm()) << "nobody sleeps";
  EXPECT_FALSE(idle_word(idle_counts{.sleeping = 1}).calm());
  EXPECT_FALSE(idle_word(idle_counts{.searching = 1, .sleeping = 1}).calm()) << "the searcher must be told";
  EXPECT_TRUE(idle_word(idle_counts{.searching = 1, .sleeping = 1, .debt = true}).calm()) << "it was told";
  EXPECT_FALSE(idle_word(idle_counts{.searching = 1, .hungry = 1}).calm());
  EXPECT_TRUE(idle_word(idle_counts{.sleeping = 1, .closed = true}).calm()) << "all were woken";
}

TEST(IdleWord, APushWakesOneOnlyIfNobodySearches) {
  idle_counts counts{.sleeping = 2};
  EXPECT_EQ(counts.push<idle_rules>(1), push_duty::wake_one);
  EXPECT_EQ(counts, (idle_counts{.searching = 1, .sleeping = 1}));
  EXPECT_EQ(counts.push<idle_rules>(1), push_duty::nothing);
  EXPECT_EQ(counts, (idle_counts{.searching = 1, .sleeping = 1, .debt = true}));
}

TEST(IdleWord, APushOfSeveralLeavesADebtAtOnce) {
  idle_counts counts{.sleeping = 2};
  EXPECT_EQ(counts.push<idle_rules>(2), push_duty::wake_one);
  EXPECT_TRUE(counts.debt);
}

TEST(IdleWord, TheLastToGoToBedLooksOnceMore) {
  idle_counts counts{.searching = 2};
  EXPECT_EQ(counts.announce<idle_rules>(true), announce_duty::sleep);
  EXPECT_EQ(counts, (idle_counts{.searching = 1, .sleeping = 1, .debt = true})) << "it relies on the other";
  EXPECT_EQ(counts.announce<idle_rules>(true), announce_duty::last_look);
  EXPECT_EQ(counts, (idle_counts{.searching = 1, .sleeping = 2})) << "drowsy: it counts twice";
  EXPECT_EQ(counts.look<idle_rules>(false), drowsy_duty::sleep);
  EXPECT_EQ(counts, (idle_counts{.sleeping = 2}));
}

TEST(IdleWord, WhoeverDidNotSearchMayBeTheLastAsWell) {
  idle_counts counts = awake;
  EXPECT_EQ(counts.announce<idle_rules>(false), announce_duty::last_look);
  EXPECT_EQ(counts, (idle_counts{.searching = 1, .sleeping = 1}));
}

TEST(IdleWord, APushDuringTheLastLookCostsNoWaking) {
  idle_counts counts = awake;
  (void)counts.announce<idle_rules>(false);
  EXPECT_EQ(counts.push<idle_rules>(1), push_duty::nothing);
  EXPECT_EQ(counts.look<idle_rules>(false), drowsy_duty::leave_bed) << "it is awake anyway, and gets up";
  EXPECT_EQ(counts, (idle_counts{.searching = 1, .debt = true}));
}

TEST(IdleWord, ADrowsyWorkerWhoseWakingIsPromisedLetsItselfBeWoken) {
  idle_counts counts{.searching = 2,
                     .sleeping = 0};  // drowsy, and promised by somebody who rose in its place
  EXPECT_EQ(counts.look<idle_rules>(true), drowsy_duty::sleep);
  EXPECT_EQ(counts, (idle_counts{.searching = 1, .debt = true}));
}

TEST(IdleWord, OnlyTheLastFinderInDebtWakesAnother) {
  const auto find = [](idle_counts& c) { (void)c.find<idle_rules>(); };
  EXPECT_EQ(after({.searching = 1, .sleeping = 1}, find), (idle_counts{.sleeping = 1})) << "no debt";
  EXPECT_EQ(after({.searching = 2, .sleeping = 1, .debt = true}, find),
            (idle_counts{.searching = 1, .sleeping = 1, .debt = true}))
      << "not the last";
  EXPECT_EQ(after({.searching = 1, .debt = true}, find), awake) << "nobody to be woken";
  idle_counts owing{.searching = 1, .sleeping = 1, .debt = true};
  EXPECT_EQ(owing.find<idle_rules>(), found_duty::wake_one);
  EXPECT_EQ(owing, (idle_counts{.searching = 1, .debt = true})) << "its place goes to the one who is woken";
}

TEST(IdleWord, WhoeverLeavesHandsItsPlaceOn) {
  idle_counts alone{.searching = 1, .sleeping = 1};
  EXPECT_EQ(alone.leave<idle_rules>(), found_duty::wake_one);
  EXPECT_EQ(alone, (idle_counts{.searching = 1, .debt = true}));
  idle_counts one_of_two{.searching = 2, .sleeping = 1};
  EXPECT_EQ(one_of_two.leave<idle_rules>(), found_duty::nothing);
  EXPECT_EQ(one_of_two, (idle_counts{.searching = 1, .sleeping = 1, .debt = true}));
  idle_counts last{.searching = 1};
  EXPECT_EQ(last.leave<idle_rules>(), found_duty::nothing);
  EXPECT_EQ(last, awake);
}

TEST(IdleWord, ASleeperRisesUnlessItsWakingIsPromised) {
  idle_counts counts{.sleeping = 1};
  EXPECT_TRUE(counts.try_rise());
  EXPECT_EQ(counts, (idle_counts{.searching = 1}));
  EXPECT_FALSE(counts.try_rise());
}

constexpr auto nobody = [](std::size_t) { return false; };

TEST(SleeperSet, IsWonBitByBit) {
  basic_sleeper_set<real_platform, 256> set;
  const std::set<std::size_t> sleepers{0, 1, 63, 64, 127, 200, 255};
  for (const std::size_t worker : sleepers) set.add(worker);
  std::set<std::size_t> won;
  for (std::size_t i = 0; i < sleepers.size(); ++i) won.insert(set.win(nobody));
  EXPECT_EQ(won, sleepers);
  for (const std::size_t worker : sleepers) EXPECT_FALSE(set.try_remove(worker)) << worker;
}

TEST(SleeperSet, TheSparedAreWonLast) {
  basic_sleeper_set<real_platform, 256> set;
  for (const std::size_t worker : {3U, 70U, 71U}) set.add(worker);
  const auto spare = [](std::size_t worker) { return worker == 3; };
  EXPECT_EQ(set.win(spare), 70U);
  EXPECT_EQ(set.win(spare), 71U);
  EXPECT_EQ(set.win(spare), 3U);
}

TEST(SleeperSet, ABitIsRemovedOnce) {
  basic_sleeper_set<real_platform, 4> set;
  EXPECT_FALSE(set.try_remove(2));
  set.add(2);
  EXPECT_TRUE(set.try_remove(2));
  EXPECT_FALSE(set.try_remove(2));
}

#ifndef NDEBUG
TEST(SleeperSetDeathTest, APromiseWithoutASleeperIsNamed) {
  using small_set = basic_sleeper_set<real_platform, 4>;
  small_set set;
  EXPECT_DEATH((void)set.win(nobody), "SS1: a sleeper was promised, and there is none");
}
#endif

}  // namespace
}  // namespace weft::impl
