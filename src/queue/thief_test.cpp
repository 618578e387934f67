// SPDX-License-Identifier: Apache-2.0
//
// How a thief behaves, on one thread: the clock ticks when it is read, the victim's owner acts from within stop(), which a
// waiting thief calls again and again, and from within the heavy barrier, which a claiming one passes.
#include "queue/thief.hpp"

#include "queue/work_deque.hpp"

#include <array>
#include <functional>
#include <gtest/gtest.h>
#include <vector>

namespace weft::impl {
namespace {

using namespace std::chrono_literals;

/// Lets something happen in the middle of a claim.
struct hooked_platform : real_platform {
  static inline std::function<void()> in_barrier;  // NOLINT(cert-err58-cpp): cannot throw
  static inline int barriers_passed = 0;
  static void heavy_barrier(barrier_kind /*kind*/) noexcept {
    ++barriers_passed;
    if (in_barrier) in_barrier();
  }
};

class ticking_clock {
 public:
  [[nodiscard]] time_point now() const noexcept { return now_ += tick; }
  void advance(duration by) noexcept { now_ += by; }

  duration tick = 10ns;

 private:
  mutable time_point now_{};
};

using deque = basic_work_deque<hooked_platform>;
using thief = basic_thief<hooked_platform, deque, ticking_clock>;

runnable task(std::size_t i) {
  static std::array<std::uint64_t, 4096> anything;
  return {runnable::kind::task, &anything.at(i)};
}

class ThiefTest : public ::testing::Test {
 protected:
  void SetUp() override {
    hooked_platform::in_barrier = nullptr;
    hooked_platform::barriers_passed = 0;
  }
  void TearDown() override { hooked_platform::in_barrier = nullptr; }

  void push(deque& to, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) ASSERT_TRUE(to.push(task(i)));
  }
  static void drain(deque& from) {
    while (from.pop()) {
    }
  }
  static bool never() { return false; }
  /// An owner that answers as soon as it can.
  auto answering(deque& who) {
    return [&who] {
      who.answer_between();
      return false;
    };
  }
  template <class Stop>
  std::uint32_t rob(Stop&& stop) {
    const rob_result got = robber.rob(victim, about_victim, mine, stop);
    ended = got.outcome;
    EXPECT_EQ(got.count > 0, ended == rob_outcome::taken);
    return got.count;
  }
  std::uint32_t rob_answered() { return rob(answering(victim)); }
  /// A loot that was not worth its price.
  void get_poor_loot() {
    push(victim, 4);
    ASSERT_EQ(rob_answered(), 2U);
    drain(mine);
    drain(victim);
  }

  ticking_clock clock;
  thief_habits habits;
  thief robber{thief_id{1}, clock, habits};
  deque victim{hooked_platform::barriers()};
  deque other{hooked_platform::barriers()};
  deque mine{hooked_platform::barriers()};
  victim_notes about_victim;
  victim_notes about_other;
  rob_outcome ended{};  // of the last attempt at the victim
};

TEST_F(ThiefTest, TakesWhatItIsGranted) {
  push(victim, 4);
  EXPECT_EQ(rob_answered(), 2U);
  EXPECT_EQ(mine.size(), 2U);
  EXPECT_EQ(victim.size(), 2U);
  EXPECT_TRUE(victim.at_door().is_settled());
  EXPECT_EQ(hooked_platform::barriers_passed, 0);
}

TEST_F(ThiefTest, ClaimsWhenNobodyAnswers) {
  push(victim, 4);
  const time_point start = clock.now();
  time_point claimed{};
  hooked_platform::in_barrier = [&] { claimed = clock.now(); };
  EXPECT_EQ(rob(never), 2U);
  EXPECT_GE(claimed - start, habits.answer_after);
  EXPECT_LT(claimed - start, habits.answer_after + 1us);
  EXPECT_EQ(hooked_platform::barriers_passed, 1);
}

TEST_F(ThiefTest, PaysNoBarrierForNothing) {
  for (int i = 0; i < 10; ++i) EXPECT_EQ(rob(never), 0U);
  EXPECT_EQ(ended, rob_outcome::empty);
  EXPECT_EQ(hooked_platform::barriers_passed, 0);
  EXPECT_TRUE(victim.at_door().is_settled());
  push(victim, 4);
  EXPECT_EQ(rob(never), 2U) << "and is not discouraged by it";
}

TEST_F(ThiefTest, StopsWhenItIsToldTo) {
  push(victim, 4);
  const time_point start = clock.now();
  EXPECT_EQ(rob([] { return true; }), 0U);
  EXPECT_EQ(ended, rob_outcome::in_vain);
  EXPECT_LT(clock.now() - start, 1us);
  EXPECT_TRUE(victim.at_door().is_settled());
  EXPECT_EQ(victim.size(), 4U);
}

TEST_F(ThiefTest, IsMorePatientAfterClaimsThatGaveNothing) {
  hooked_platform::in_barrier = [&] { drain(victim); };
  std::vector<int> attempts_between;
  int attempts = 0;
  for (int i = 0; i < 40; ++i) {
    push(victim, 4);
    const int before = hooked_platform::barriers_passed;
    EXPECT_EQ(rob(never), 0U);
    drain(victim);
    if (hooked_platform::barriers_passed == before) {
      ++attempts;
    } else {
      attempts_between.push_back(std::exchange(attempts, 0));
    }
  }
  EXPECT_EQ(attempts_between, (std::vector{0, 1, 3, 7, 15}));
  hooked_platform::in_barrier = nullptr;
  push(victim, 4);
  for (std::uint32_t i = 0; i <= habits.most_unclaimed && mine.size() == 0; ++i) (void)rob(never);
  ASSERT_EQ(mine.size(), 2U);
  clock.advance(1ms);  // it was worth it
  EXPECT_EQ(rob(never), 1U) << "and it claims at once again";
}

TEST_F(ThiefTest, AsksAgainAfterLootThatWasWorthIt) {
  push(victim, 8);
  ASSERT_EQ(rob_answered(), 4U);
  clock.advance(habits.loot_price + 4 * habits.word_price);
  EXPECT_EQ(rob_answered(), 2U);
}

TEST_F(ThiefTest, LeavesAVictimAloneWhoseLootWasPoor) {
  get_poor_loot();
  push(victim, 100);
  EXPECT_EQ(rob_answered(), 0U);
  EXPECT_EQ(ended, rob_outcome::left_alone) << "there is something, and whoever wants to sleep should know";
  EXPECT_TRUE(victim.at_door().is_settled());
  push(other, 4);
  EXPECT_EQ(robber.rob(other, about_other, mine, answering(other)).count, 2U) << "others may be better";
}

TEST_F(ThiefTest, ARichVictimIsWorthItEvenIfItsLootIsPoor) {
  get_poor_loot();
  push(victim, habits.rich);
  EXPECT_EQ(rob_answered(), 512U);
  EXPECT_EQ(rob_answered(), 0U) << "poor again, and not rich any more";
}

TEST_F(ThiefTest, AVictimThatHasBecomeSlowIsWorthItAgain) {
  get_poor_loot();
  push(victim, 100);
  EXPECT_EQ(rob_answered(), 0U);
  clock.advance(habits.look_first);
  for (int i = 0; i < 10; ++i) (void)victim.pop();
  EXPECT_EQ(rob_answered(), 45U) << "ten in two microseconds are slow";
}

TEST_F(ThiefTest, AVictimThatIsStillFastIsNot) {
  get_poor_loot();
  push(victim, 500);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(rob_answered(), 0U);
    clock.advance(habits.look_first);
    for (int j = 0; j < 100; ++j) (void)victim.pop();
  }
  drain(victim);
  EXPECT_EQ(rob_answered(), 0U) << "nor one that has nothing";
}

TEST_F(ThiefTest, DoesNotLookTooOften) {
  get_poor_loot();
  EXPECT_EQ(rob_answered(), 0U);  // a look
  push(victim, habits.rich);
  EXPECT_EQ(rob_answered(), 0U) << "it has not looked again, so it does not know";
  clock.advance(habits.look_first);
  EXPECT_EQ(rob_answered(), 512U);
}

TEST_F(ThiefTest, ARevokedGrantIsPoorLoot) {
  push(victim, 2);
  bool granted = false;
  const auto too_fast = [&] {
    victim.answer_between();
    granted = victim.at_door().is_claimed();
    drain(victim);
    return false;
  };
  EXPECT_EQ(rob(too_fast), 0U);
  EXPECT_TRUE(granted);
  EXPECT_EQ(ended, rob_outcome::in_vain);
  push(victim, 2);
  EXPECT_EQ(rob_answered(), 0U);
}

TEST_F(ThiefTest, LeavesOtherThievesAloneUntilTheyAreBroken) {
  push(victim, 8);
  ASSERT_TRUE(victim.ask(thief_id{2}));
  EXPECT_EQ(rob_answered(), 0U);
  EXPECT_EQ(ended, rob_outcome::occupied);
  clock.advance(habits.broken_after / 2);
  EXPECT_EQ(rob_answered(), 0U);
  EXPECT_EQ(victim.at_door().by(), thief_id{2});
  clock.advance(habits.broken_after);
  EXPECT_EQ(rob_answered(), 4U);
}

// A thief goes from victim to victim: what it knows of one must not make it forget another.
TEST_F(ThiefTest, RemembersBrokenThievesAtSeveralVictims) {
  for (deque* const each : {&victim, &other}) {
    push(*each, 8);
    ASSERT_TRUE(each->ask(thief_id{2}));
  }
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(rob_answered(), 0U);
    EXPECT_EQ(robber.rob(other, about_other, mine, answering(other)).outcome, rob_outcome::occupied);
    clock.advance(habits.broken_after / 2);
  }
  clock.advance(habits.broken_after / 2);
  EXPECT_EQ(rob_answered(), 4U);
  EXPECT_EQ(robber.rob(other, about_other, mine, answering(other)).count, 4U);
}

TEST_F(ThiefTest, RemembersPoorLootOfSeveralVictims) {
  get_poor_loot();
  push(other, 4);
  ASSERT_EQ(robber.rob(other, about_other, mine, answering(other)).count, 2U);
  drain(mine);
  for (deque* const each : {&victim, &other}) push(*each, 100);
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(rob_answered(), 0U);
    EXPECT_EQ(ended, rob_outcome::left_alone);
    EXPECT_EQ(robber.rob(other, about_other, mine, answering(other)).outcome, rob_outcome::left_alone);
  }
}

TEST_F(ThiefTest, AFirstLookMayFindAnyIndex) {
  work_deque_options far;
  far.first_index = 0x80000000U - 4;
  deque distant(hooked_platform::barriers(), far);
  victim_notes about_distant;
  push(distant, 4);
  ASSERT_EQ(robber.rob(distant, about_distant, mine, answering(distant)).count, 2U);
  drain(mine);
  ASSERT_EQ(distant.next_index_approx(), 0x80000000U);
  EXPECT_EQ(robber.rob(distant, about_distant, mine, answering(distant)).outcome, rob_outcome::left_alone);
}

TEST_F(ThiefTest, AThiefThatMovesIsNotBroken) {
  push(victim, 8);
  ASSERT_TRUE(victim.ask(thief_id{2}));
  EXPECT_EQ(rob_answered(), 0U);
  clock.advance(habits.broken_after);
  victim.answer_between();
  EXPECT_EQ(rob_answered(), 0U);
  EXPECT_EQ(victim.at_door().by(), thief_id{2});
}

TEST_F(ThiefTest, GivesWayWhenItIsPutAside) {
  push(victim, 8);
  const auto put_aside = [&] { return !victim.ask(thief_id{2}, victim.at_door()); };
  EXPECT_EQ(rob(put_aside), 0U);
  EXPECT_EQ(victim.at_door().by(), thief_id{2});
}

}  // namespace
}  // namespace weft::impl
