// SPDX-License-Identifier: Apache-2.0

#include "sched/claim_word.hpp"

#include "sched/cancel_flag.hpp"
#include "support/broken_waits.hpp"
#include "support/stepped_platform.hpp"
#include "sys/platform_interposed.hpp"

#include <gtest/gtest.h>

namespace weft::impl {
namespace {

using testing::claims_without_comparing;
using testing::for_each_step;
using testing::parks_without_a_look;
using testing::stepped_platform;
using testing::steps;
using testing::takes_any_ticket;

TEST(WaitClaim, AParkedFiberIsWonOnceAndMustBeEnqueued) {
  wait_claim claim;
  const wait_ticket ticket = claim.arm();
  EXPECT_EQ(claim.complete_park(), park_outcome::parked);
  EXPECT_EQ(claim.try_claim(ticket, wake_cause::ready), claim_outcome::won);
  EXPECT_EQ(claim.try_claim(ticket, wake_cause::timed_out), claim_outcome::lost);
  EXPECT_EQ(claim.try_claim_standing(wake_cause::cancelled), claim_outcome::lost);
  EXPECT_EQ(claim.finish(), wake_cause::ready);
}

TEST(WaitClaim, AClaimBeforeTheSwitchLeavesTheWakingToTheStepAfterIt) {
  wait_claim claim;
  const wait_ticket ticket = claim.arm();
  EXPECT_EQ(claim.try_claim(ticket, wake_cause::timed_out), claim_outcome::won_early);
  EXPECT_EQ(claim.complete_park(), park_outcome::must_requeue);
  EXPECT_EQ(claim.finish(), wake_cause::timed_out);
}

TEST(WaitClaim, AFiberThatNeedNotWaitDisarms) {
  wait_claim claim;
  const wait_ticket ticket = claim.arm();
  EXPECT_EQ(claim.try_disarm(), disarm_outcome::disarmed);
  EXPECT_EQ(claim.try_claim(ticket, wake_cause::ready), claim_outcome::lost);
  EXPECT_EQ(claim.word_approx().state(), wait_state::running);
}

TEST(WaitClaim, DisarmingTooLateGivesTheCause) {
  wait_claim claim;
  const wait_ticket ticket = claim.arm();
  EXPECT_EQ(claim.try_claim(ticket, wake_cause::ready), claim_outcome::won_early);
  EXPECT_EQ(claim.try_disarm(), disarm_outcome::claimed);
  EXPECT_EQ(claim.finish(), wake_cause::ready);
}

TEST(WaitClaim, ATicketOfAWaitThatIsOverLoses) {
  wait_claim claim;
  const wait_ticket old = claim.arm();
  ASSERT_EQ(claim.try_disarm(), disarm_outcome::disarmed);
  const wait_ticket current = claim.arm();
  EXPECT_EQ(claim.try_claim(old, wake_cause::timed_out), claim_outcome::lost);
  ASSERT_EQ(claim.complete_park(), park_outcome::parked);
  EXPECT_EQ(claim.try_claim(old, wake_cause::timed_out), claim_outcome::lost);
  EXPECT_EQ(claim.try_claim(current, wake_cause::ready), claim_outcome::won);
  EXPECT_EQ(claim.finish(), wake_cause::ready);
}

TEST(WaitClaim, ACancellerNeedsNoTicket) {
  wait_claim claim;
  EXPECT_EQ(claim.try_claim_standing(wake_cause::cancelled), claim_outcome::lost) << "it does not wait";
  (void)claim.arm();
  EXPECT_EQ(claim.try_claim_standing(wake_cause::cancelled), claim_outcome::won_early);
  EXPECT_EQ(claim.complete_park(), park_outcome::must_requeue);
  EXPECT_EQ(claim.finish(), wake_cause::cancelled);
}

TEST(WaitClaim, TakesItsAtomicsFromThePlatform) {
  basic_wait_claim<interposed_platform> claim;
  doors.reset();
  (void)claim.arm();
  EXPECT_EQ(claim.try_disarm(), disarm_outcome::disarmed);
  EXPECT_EQ(doors.calls(door::atomic_operation), 4U);
  doors.reset();
}

// How many claims win a parked wait, the second coming in at each step of the first.
template <class Rules>
int most_winners() {
  int most = 0;
  const int runs = for_each_step([&](int n) {
    basic_wait_claim<stepped_platform, Rules> claim;
    const wait_ticket ticket = claim.arm();
    (void)claim.complete_park();
    int winners = 0;
    steps::interrupt_at(
        n, [&] { winners += claim.try_claim(ticket, wake_cause::timed_out) == claim_outcome::won; });
    winners += claim.try_claim(ticket, wake_cause::ready) == claim_outcome::won;
    most = std::max(most, winners);
  });
  EXPECT_GE(runs, 2);
  return most;
}

TEST(WaitClaimSteps, ExactlyOneClaimWins) {
  EXPECT_EQ(most_winners<claim_rules>(), 1);
  EXPECT_EQ(most_winners<claims_without_comparing>(), 2)
      << "a claim by load and store is won twice, and this test sees it";
}

// Who makes the fiber runnable, a claim coming in at each step of the switch away from it: exactly one must.
template <class Rules>
std::pair<int, int> fewest_and_most_enqueued() {
  int fewest = 2;
  int most = 0;
  const int runs = for_each_step([&](int n) {
    basic_wait_claim<stepped_platform, Rules> claim;
    int enqueued = 0;
    const wait_ticket ticket = claim.arm();
    const auto wake = [&] { enqueued += claim.try_claim(ticket, wake_cause::ready) == claim_outcome::won; };
    steps::interrupt_at(n, wake);
    enqueued += claim.complete_park() == park_outcome::must_requeue;
    if (!steps::end()) wake();
    fewest = std::min(fewest, enqueued);
    most = std::max(most, enqueued);
  });
  EXPECT_GE(runs, 2);
  return {fewest, most};
}

TEST(WaitClaimSteps, SomebodyMakesTheFiberRunnableAndOnlyOne) {
  EXPECT_EQ(fewest_and_most_enqueued<claim_rules>(), std::pair(1, 1));
  EXPECT_EQ(fewest_and_most_enqueued<parks_without_a_look>().first, 0)
      << "a claim that came too early is forgotten";
}

TEST(WaitClaimSteps, ALateTimerDoesNotEndTheNextWait) {
  const auto late_timer_wins = [](auto rules) {
    basic_wait_claim<stepped_platform, decltype(rules)> claim;
    const wait_ticket old = claim.arm();
    (void)claim.try_disarm();
    (void)claim.arm();
    return claim.try_claim(old, wake_cause::timed_out) != claim_outcome::lost;
  };
  EXPECT_FALSE(late_timer_wins(claim_rules()));
  EXPECT_TRUE(late_timer_wins(takes_any_ticket()));
}

// Whether a fiber that waits is told of its cancellation, the canceller coming in at each step.
template <class FiberLooks>
int overlooked(FiberLooks&& fiber_looks) {
  int times = 0;
  (void)for_each_step([&](int n) {
    basic_wait_claim<stepped_platform> claim;
    basic_cancel_flag<stepped_platform> flag;
    bool claimed = false;
    steps::interrupt_at(n, [&] {
      flag.request();
      basic_cancel_flag<stepped_platform>::settle(barrier_kind::symmetric);
      claimed = claim.try_claim_standing(wake_cause::cancelled) != claim_outcome::lost;
    });
    const bool seen = fiber_looks(claim, flag);
    (void)claim.complete_park();
    times += steps::end() && !seen && !claimed;
  });
  return times;
}

TEST(CancelFlagSteps, EitherTheFiberSeesTheRequestOrTheCancellerSeesTheWait) {
  const auto looks_after = [](auto& claim, auto& flag) {
    (void)claim.arm();
    return flag.requested_after_arming(barrier_kind::symmetric);
  };
  const auto looks_before = [](auto& claim, auto& flag) {
    const bool seen = flag.requested_after_arming(barrier_kind::symmetric);
    (void)claim.arm();
    return seen;
  };
  EXPECT_EQ(overlooked(looks_after), 0);
  EXPECT_GT(overlooked(looks_before), 0)
      << "a fiber that looks too early is overlooked, and this test sees it";
}

TEST(CancelFlag, IsALevel) {
  cancel_flag flag;
  EXPECT_FALSE(flag.requested());
  flag.request();
  EXPECT_TRUE(flag.requested());
  EXPECT_TRUE(flag.requested_after_arming(std_atomics::barriers()));
}

#ifndef NDEBUG
TEST(WaitClaimDeathTest, MisuseIsNamed) {
  wait_claim claim;
  EXPECT_DEATH((void)claim.finish(), "WC1: a fiber goes on without having been claimed");
  EXPECT_DEATH((void)claim.complete_park(), "WC2: parking what is not armed");
  EXPECT_DEATH((void)claim.try_disarm(), "WC2: disarming what is not armed");
  (void)claim.arm();
  EXPECT_DEATH((void)claim.arm(), "WC1: a fiber that waits begins to wait");
}
#endif

}  // namespace
}  // namespace weft::impl
