// SPDX-License-Identifier: Apache-2.0

#include "sched/scaling.hpp"

#include "sched/pace.hpp"

#include <chrono>
#include <gtest/gtest.h>

namespace weft::impl {
namespace {

using namespace std::chrono_literals;

constexpr scaling_options usual;
constexpr std::uint32_t much_room = 1000;

crew_look stuck(std::uint32_t own, std::uint32_t there, std::uint32_t blocked, std::uint32_t busy,
                duration waits = 1s) {
  return {.own = own, .there = there, .blocked = blocked, .busy = busy, .work_waits = waits};
}

TEST(Scaling, WithoutWorkThatWaitsNothingIsDone) {
  EXPECT_EQ(decide(usual, stuck(4, 4, 4, 0, duration::zero()), much_room), scaling_step());
  EXPECT_EQ(decide(usual, stuck(4, 4, 0, 4, duration::zero()), much_room), scaling_step());
}
TEST(Scaling, WhileNobodyIsStuckNothingIsDone) {
  EXPECT_EQ(decide(usual, stuck(4, 4, 0, 0), much_room), scaling_step());
}
TEST(Scaling, WhileSomebodyIsIdleNothingIsDone) {
  crew_look seen = stuck(4, 4, 3, 0);
  seen.somebody_is_idle = true;
  EXPECT_EQ(decide(usual, seen, much_room), scaling_step());
}

// However many are blocked, as many compute as were asked for.
TEST(Scaling, WhoIsBlockedIsReplacedAtOnce) {
  for (std::uint32_t blocked = 1; blocked <= 100; ++blocked) {
    EXPECT_EQ(decide(usual, stuck(4, 4 + blocked - 1, blocked, 0, 1ns), much_room),
              (scaling_step{1, scaling_reason::blocked}));
  }
  EXPECT_EQ(decide(usual, stuck(4, 4, 4, 0, 1ns), much_room), (scaling_step{4, scaling_reason::blocked}));
  EXPECT_EQ(decide(usual, stuck(4, 8, 4, 0, 1ns), much_room), scaling_step()) << "they were replaced already";
}

// Workers that were not needed yet come by themselves when they are.
TEST(Scaling, WhoIsYetToComeIsNotReplaced) {
  EXPECT_EQ(decide(usual, stuck(8, 3, 0, 3, 1ns), much_room), scaling_step());
  EXPECT_EQ(decide(usual, stuck(8, 3, 1, 2, 1ns), much_room), (scaling_step{1, scaling_reason::blocked}));
}

TEST(Scaling, WhoComputesIsJoinedByHalfAsManyUpToTwice) {
  std::uint32_t there = 8;
  std::uint32_t steps = 0;
  for (;; ++steps) {
    const scaling_step step = decide(usual, stuck(8, there, 0, there), much_room);
    if (step.add == 0) break;
    EXPECT_EQ(step.reason, scaling_reason::busy);
    EXPECT_LE(step.add, there / 2);
    there += step.add;
  }
  EXPECT_EQ(there, 16U);
  EXPECT_EQ(steps, 2U);  // 8, 12, 16
}
TEST(Scaling, OneWorkerGetsOneMore) {
  EXPECT_EQ(decide(usual, stuck(1, 1, 0, 1), much_room), (scaling_step{1, scaling_reason::busy}));
  EXPECT_EQ(decide(usual, stuck(1, 2, 0, 2), much_room), scaling_step());
}
TEST(Scaling, WhoComputesIsGivenTime) {
  EXPECT_EQ(decide(usual, stuck(4, 4, 0, 4, usual.busy_after - 1ns), much_room), scaling_step());
  EXPECT_EQ(decide(usual, stuck(4, 4, 0, 4, usual.busy_after), much_room),
            (scaling_step{2, scaling_reason::busy}));
}
TEST(Scaling, WhoIsBlockedDoesNotCountTowardsTheBound) {
  EXPECT_EQ(decide(usual, stuck(4, 104, 100, 4), much_room), (scaling_step{2, scaling_reason::busy}));
  EXPECT_EQ(decide(usual, stuck(4, 108, 100, 8), much_room), scaling_step());
}
TEST(Scaling, AtTheBoundThereIsNothingToLookOutFor) {
  EXPECT_TRUE(may_grow(usual, stuck(4, 7, 0, 7)));
  EXPECT_FALSE(may_grow(usual, stuck(4, 8, 0, 8)));
  EXPECT_TRUE(may_grow(usual, stuck(4, 8, 1, 7))) << "who is blocked does not count";
  EXPECT_FALSE(may_grow({.is_on = false}, stuck(4, 4, 4, 0)));
}
TEST(Scaling, NoMoreThanThereIsRoomFor) {
  EXPECT_EQ(decide(usual, stuck(8, 8, 8, 0), 3), (scaling_step{3, scaling_reason::blocked}));
  EXPECT_EQ(decide(usual, stuck(8, 8, 0, 8), 3), (scaling_step{3, scaling_reason::busy}));
  EXPECT_EQ(decide(usual, stuck(8, 8, 8, 0), 0).add, 0U);
}

// S3-20, for those that compute: every look, half of all there are, twice the number at most. Those that are blocked are replaced.
TEST(Scaling, AsConcurrentC) {
  constexpr scaling_options as_cc{.busy_after = duration::zero()};
  EXPECT_EQ(decide(as_cc, stuck(4, 4, 0, 1, 1ns), much_room), (scaling_step{2, scaling_reason::busy}));
  EXPECT_EQ(decide(as_cc, stuck(4, 6, 0, 1, 1ns), much_room), (scaling_step{2, scaling_reason::busy}));
  EXPECT_EQ(decide(as_cc, stuck(4, 8, 0, 1, 1ns), much_room), scaling_step());
}

// -- How often it looks ---------------------------------------------------------------------------------------------------------

TEST(Pace, LooksClosely) {
  pace p(250us);
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(p.after(sysmon_sight::trouble), 250us);
}
TEST(Pace, LooksAgainSoonWhereItIsInDoubt) {
  pace p(250us);
  for (int i = 0; i < 100; ++i) (void)p.after(sysmon_sight::all_is_well);
  EXPECT_EQ(p.after(sysmon_sight::doubt), 62500ns);
  EXPECT_EQ(p.after(sysmon_sight::all_is_well), 250us);
}
TEST(Pace, SlowsDownWhileAllIsWell) {
  pace p(250us);
  for (int i = 0; i < 16; ++i) EXPECT_EQ(p.after(sysmon_sight::all_is_well), 250us);
  EXPECT_EQ(p.after(sysmon_sight::all_is_well), 500us);
  EXPECT_EQ(p.after(sysmon_sight::all_is_well), 1ms);
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(p.after(sysmon_sight::all_is_well), 1ms);
  EXPECT_EQ(p.after(sysmon_sight::trouble), 250us);
  EXPECT_EQ(p.after(sysmon_sight::all_is_well), 250us);
}
TEST(Pace, SleepsForEverWhereNothingRuns) {
  pace p(250us);
  duration total = duration::zero();
  int looks = 0;
  for (duration next = p.after(sysmon_sight::nothing_runs); next != duration::max();
       next = p.after(sysmon_sight::nothing_runs)) {
    total += next;
    ++looks;
  }
  EXPECT_LE(looks, 10);
  EXPECT_LE(total, 50ms);
  EXPECT_EQ(p.after(sysmon_sight::trouble), 250us) << "as in the beginning";
}
TEST(Pace, AShortPauseDoesNotPutItToSleep) {
  pace p(250us);
  for (int i = 0; i < 1000; ++i) {
    EXPECT_NE(p.after(sysmon_sight::nothing_runs), duration::max());
    EXPECT_LE(p.after(sysmon_sight::all_is_well), 1ms);
  }
}

}  // namespace
}  // namespace weft::impl
