// SPDX-License-Identifier: Apache-2.0

#include "event/timer_wheel.hpp"

#include <algorithm>
#include <deque>
#include <gtest/gtest.h>
#include <memory>
#include <vector>

namespace weft::impl {
namespace {

constexpr time_point at(std::int64_t ns) { return time_point(duration(ns)); }
constexpr time_point before(time_point t) { return saturating_add(t, duration(-1)); }
constexpr std::int64_t one_tick = timer_wheel::tick.count();
constexpr int levels = 9;  // six bits of a tick's number each, and there are 50

// How long a slot of a level is.
constexpr std::int64_t stretch_of(int level) { return one_tick << (6 * level); }

const std::vector<time_point> starts = {time_point::min(), at(-1), at(0), at(1'234'567'890'123'456'789)};

// A wheel and its timers; what is still pending at the end is cancelled.
struct TimerWheelTest : ::testing::Test {
  void TearDown() override { restart(at(0)); }

  void restart(time_point start) {
    for (timer_node& timer : timers) {
      if (timer.is_linked()) wheel->cancel(timer);
    }
    EXPECT_TRUE(wheel->empty());
    EXPECT_EQ(wheel->next_deadline_bound(), never);
    wheel = std::make_unique<timer_wheel>(start);
  }

  timer_node& add(time_point deadline) {
    timer_node& timer = timers.emplace_back();
    wheel->insert(timer, deadline);
    return timer;
  }

  // The deadlines of what fires, in the order in which it does.
  std::vector<time_point> fired_at(time_point now) {
    std::vector<time_point> fired;
    wheel->expire(now, [&](timer_node& timer) {
      EXPECT_FALSE(timer.is_linked());
      fired.push_back(timer.deadline());
    });
    return fired;
  }

  std::unique_ptr<timer_wheel> wheel = std::make_unique<timer_wheel>(at(0));
  std::deque<timer_node> timers;
};

using times = std::vector<time_point>;

TEST_F(TimerWheelTest, AnEmptyOneHasNothingToFire) {
  EXPECT_TRUE(wheel->empty());
  EXPECT_EQ(wheel->size(), 0U);
  EXPECT_EQ(wheel->next_deadline_bound(), never);
  for (const time_point now : {time_point::min(), at(0), at(1), never}) EXPECT_EQ(fired_at(now), times());
}

TEST_F(TimerWheelTest, FiresAtTheDeadlineAndNotANanosecondBefore) {
  for (const time_point start : starts) {
    for (int bit = 0; bit < 63; ++bit) {
      for (const std::int64_t beside : {-1, 0, 1}) {
        const time_point deadline = saturating_add(start, duration((std::int64_t{1} << bit) + beside));
        if (deadline <= start || deadline == never) continue;
        restart(start);
        add(deadline);
        EXPECT_EQ(fired_at(before(deadline)), times()) << "2^" << bit << " and " << beside;
        EXPECT_EQ(wheel->next_deadline_bound(), deadline);
        EXPECT_EQ(fired_at(deadline), times{deadline}) << "2^" << bit << " and " << beside;
      }
    }
  }
}

TEST_F(TimerWheelTest, ADeadlineThatHasPassedIsDueAtOnce) {
  restart(at(1'000'000));
  for (const time_point past : {time_point::min(), at(-1), at(999'999), at(1'000'000)}) {
    add(past);
    EXPECT_EQ(wheel->next_deadline_bound(), time_point::min());
    EXPECT_EQ(fired_at(at(1'000'000)), times{past});
    EXPECT_EQ(wheel->next_deadline_bound(), never);
  }
}

TEST_F(TimerWheelTest, TheLastMomentFiresAndNeverDoesNot) {
  for (const time_point start : starts) {
    restart(start);
    timer_node& forever = add(never);
    EXPECT_EQ(wheel->next_deadline_bound(), never);
    add(before(never));
    EXPECT_EQ(wheel->next_deadline_bound(), before(never));
    EXPECT_EQ(fired_at(before(before(never))), times());
    EXPECT_EQ(fired_at(never), times{before(never)});
    EXPECT_EQ(wheel->size(), 1U) << "it is pending all the same";
    EXPECT_EQ(wheel->next_deadline_bound(), never);
    wheel->cancel(forever);
    EXPECT_FALSE(forever.is_linked());
  }
}

TEST_F(TimerWheelTest, BegunAtTheEndOfTimeItStillHoldsTimers) {
  restart(never);
  add(never);
  add(before(never));
  EXPECT_EQ(fired_at(never), times{before(never)});
}

TEST_F(TimerWheelTest, TimeDoesNotGoBack) {
  EXPECT_EQ(fired_at(at(1'000'000)), times());
  add(at(1'500'000));
  EXPECT_EQ(fired_at(at(500'000)), times());
  add(at(600'000));  // has passed, whatever the last call said
  EXPECT_EQ(wheel->next_deadline_bound(), time_point::min());
  EXPECT_EQ(fired_at(time_point::min()), times{at(600'000)});
  EXPECT_EQ(fired_at(at(1'500'000)), times{at(1'500'000)});
}

TEST_F(TimerWheelTest, WithinATickEachHasItsOwnNanosecond) {
  const time_point tick = at(7 * one_tick);
  const times within = {tick + duration(9), tick, tick + duration(5), tick + duration(5), before(tick)};
  for (const time_point deadline : within) add(deadline);
  EXPECT_EQ(fired_at(tick), (times{before(tick), tick}));
  EXPECT_EQ(wheel->next_deadline_bound(), tick + duration(5));
  EXPECT_EQ(fired_at(tick + duration(4)), times());
  EXPECT_EQ(fired_at(tick + duration(8)), times(2, tick + duration(5)));
  EXPECT_EQ(fired_at(tick + timer_wheel::tick), times{tick + duration(9)});
}

TEST_F(TimerWheelTest, AJumpOverAllLevelsFiresInOrder) {
  restart(time_point::min());
  times deadlines;
  for (int level = levels; level-- > 0;) {
    time_point deadline = time_point::min();
    for (int i = 0; i < 3; ++i) {
      deadline += duration(stretch_of(level));
      deadlines.push_back(deadline);
    }
  }
  for (const time_point deadline : deadlines) add(deadline);
  std::sort(deadlines.begin(), deadlines.end());
  EXPECT_EQ(fired_at(before(never)), deadlines);
}

TEST_F(TimerWheelTest, ACancelledTimerDoesNotFireWhateverItsLevel) {
  for (int level = 0; level < levels - 1; ++level) {
    const time_point deadline = at(stretch_of(level) * 2);
    restart(at(0));
    timer_node& alone = add(deadline);
    wheel->cancel(alone);
    EXPECT_TRUE(wheel->empty());
    EXPECT_EQ(wheel->next_deadline_bound(), never) << "level " << level;

    wheel->insert(alone, deadline);  // again, and now among others
    add(deadline);
    timer_node& third = add(deadline);
    wheel->cancel(third);
    wheel->cancel(alone);
    EXPECT_EQ(wheel->size(), 1U);
    EXPECT_EQ(wheel->next_deadline_bound(), deadline) << "another has the same deadline";
    EXPECT_EQ(fired_at(deadline), times{deadline}) << "level " << level;
  }
}

TEST_F(TimerWheelTest, WhatFireCancelsDoesNotFire) {
  timer_node& first = add(at(one_tick));
  timer_node& due_as_well = add(at(2 * one_tick));
  timer_node& later = add(at(100 * one_tick));
  const std::size_t fired = wheel->expire(at(3 * one_tick), [&](timer_node& timer) {
    EXPECT_EQ(&timer, &first);
    wheel->cancel(due_as_well);
    wheel->cancel(later);
  });
  EXPECT_EQ(fired, 1U);
  EXPECT_EQ(fired_at(never), times());
}

TEST_F(TimerWheelTest, WhatFireInsertsIsForALaterCall) {
  timer_node later;
  add(at(10));
  const auto again = [&](timer_node& timer) {
    wheel->insert(timer, time_point::min());
    EXPECT_EQ(wheel->next_deadline_bound(), time_point::min());
    if (!later.is_linked()) wheel->insert(later, at(2 * one_tick));
  };
  for (int call = 0; call < 3; ++call) {
    EXPECT_EQ(wheel->expire(at(20), again), 1U) << "a timer that is always due fires once a call";
    EXPECT_EQ(wheel->size(), 2U);
  }
  EXPECT_EQ(fired_at(at(2 * one_tick)), (times{time_point::min(), at(2 * one_tick)}));
}

TEST_F(TimerWheelTest, FireMayDestroyItsTimer) {
  auto owned = std::make_unique<timer_node>();
  wheel->insert(*owned, at(10));
  add(at(11));
  EXPECT_EQ(wheel->expire(at(20),
                          [&](timer_node& timer) {
                            if (&timer == owned.get()) owned.reset();
                          }),
            2U);
  EXPECT_EQ(owned, nullptr);
}

TEST_F(TimerWheelTest, AtMostSoManyFireAndTheRestStaysDue) {
  for (std::int64_t i = 1; i <= 5; ++i) add(at(i * one_tick));
  const time_point now = at(4 * one_tick);
  times fired;
  const auto note = [&](timer_node& timer) { fired.push_back(timer.deadline()); };
  EXPECT_EQ(wheel->expire(now, note, 0), 0U);
  EXPECT_EQ(wheel->expire(now, note, 3), 3U);
  EXPECT_EQ(wheel->size(), 2U);
  EXPECT_EQ(wheel->next_deadline_bound(), time_point::min());
  add(at(1));  // comes behind what was due before
  EXPECT_EQ(wheel->expire(now, note, 3), 2U);
  EXPECT_EQ(fired, (times{at(one_tick), at(2 * one_tick), at(3 * one_tick), at(4 * one_tick), at(1)}));
  EXPECT_EQ(wheel->next_deadline_bound(), at(5 * one_tick));
}

TEST_F(TimerWheelTest, ASleeperAloneIsWaitedForInOneSleep) {
  for (const time_point start : starts) {
    for (int bit = 0; bit < 62; ++bit) {
      restart(start);
      const time_point deadline = start + duration(std::int64_t{1} << bit);
      add(deadline);
      EXPECT_EQ(wheel->next_deadline_bound(), deadline);
      EXPECT_EQ(fired_at(deadline), times{deadline});
    }
  }
}

TEST_F(TimerWheelTest, InTheLowestLevelTheBoundIsExactWhoeverWasCancelled) {
  const time_point tick = at(5 * one_tick);
  timer_node& first = add(tick + duration(1));
  timer_node& second = add(tick + duration(7));
  add(tick + duration(9));
  timer_node& third = add(tick + duration(8));
  wheel->cancel(first);
  EXPECT_EQ(wheel->next_deadline_bound(), tick + duration(7));
  wheel->cancel(second);
  wheel->cancel(third);
  EXPECT_EQ(wheel->next_deadline_bound(), tick + duration(9));
  add(tick + duration(2));
  EXPECT_EQ(wheel->next_deadline_bound(), tick + duration(2));
}

// When time enters the slot in which a timer with that deadline is.
time_point entry_of(time_point now, time_point deadline) {
  const auto ns = static_cast<std::uint64_t>(deadline.time_since_epoch().count());
  const std::uint64_t difference = ns ^ static_cast<std::uint64_t>(now.time_since_epoch().count());
  int level = 0;
  while (level + 1 < levels && difference >> (14 + 6 * (level + 1)) != 0) ++level;
  return at(static_cast<std::int64_t>(ns & -static_cast<std::uint64_t>(stretch_of(level))));
}

TEST_F(TimerWheelTest, SleepingUntilTheBoundTakesOneStepALevelAtWorst) {
  int worst = 0;
  for (const time_point deadline : {at(-1), at(0), at(0x123456789abcdef), before(never)}) {
    restart(time_point::min());
    add(deadline);
    time_point now = time_point::min();
    int steps = 0;
    for (bool found = false; !found; ++steps) {
      wheel->cancel(add(entry_of(now, deadline)));  // somebody earlier, of whom the bound still speaks
      const time_point bound = wheel->next_deadline_bound();
      ASSERT_GT(bound, now);
      ASSERT_LE(bound, deadline);
      now = bound;
      found = !fired_at(now).empty();
    }
    EXPECT_EQ(now, deadline);
    worst = std::max(worst, steps);
  }
  EXPECT_EQ(worst, levels);
}

// With the constructor inlined into the loop, g++ 12 made this fire the same timer twice.
TEST(TimerWheel, OneThatIsMadeInEachTurnOfALoopFiresWhatItHolds) {
  std::vector<timer_node> timers(3);
  for (int turn = 0; turn < 3; ++turn) {
    const auto made = std::make_unique<timer_wheel>(at(0));
    for (timer_node& timer : timers) made->insert(timer, at(one_tick));
    std::size_t fired = 0;
    for (std::int64_t ticks = 0; ticks < 3; ++ticks) {
      fired += made->expire(at(ticks * one_tick), [](timer_node&) {});
    }
    EXPECT_EQ(fired, 3U);
  }
}

#ifndef NDEBUG
TEST(TimerWheelDeathTest, MisuseIsNamed) {
  timer_node timer;
  timer_wheel wheel(at(0));
  EXPECT_DEATH(wheel.cancel(timer), "TW1: a timer was cancelled that is not pending");
  wheel.insert(timer, at(1));
  EXPECT_DEATH(wheel.insert(timer, at(2)), "TW1: the timer is pending already");
  wheel.cancel(timer);
  EXPECT_DEATH(
      {
        timer_wheel dropped(at(0));
        dropped.insert(timer, at(1));
      },
      "TW4: a wheel was destroyed with timers still pending");
}
#endif

}  // namespace
}  // namespace weft::impl
