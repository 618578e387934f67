// SPDX-License-Identifier: Apache-2.0

#include "sched/idle.hpp"

#include "event/futex_loop.hpp"
#include "support/stepped_platform.hpp"
#include "sys/platform_interposed.hpp"

#include <gtest/gtest.h>

namespace weft::impl {
namespace {

using testing::for_each_step;
using testing::stepped_platform;
using testing::steps;

constexpr barrier_kind any_kind = barrier_kind::symmetric;

struct no_last_look : idle_rules {
  static constexpr bool last_look = false;
};
struct pusher_leaves_none : idle_rules {
  static constexpr bool pusher_leaves_debt = false;
};
struct sleeper_leaves_none : idle_rules {
  static constexpr bool sleeper_leaves_debt = false;
};
struct finder_pays_none : idle_rules {
  static constexpr bool finder_pays = false;
};

// Workers that share one number of items; on one thread, so the "queue" is a plain number.
template <class Rules = idle_rules>
struct crew {
  using platform = stepped_platform;

  explicit crew(std::uint32_t most_searching = 1) : idle(3, most_searching, seat, any_kind) {}

  // What a worker sees of the world while it sleeps.
  struct host {
    bool has_work() noexcept { return in->items > 0; }
    void deliver(ready_batch& ready) noexcept { in->items += static_cast<int>(ready.size()); }
    crew* in;
  };

  void push() {
    ++items;
    (void)idle.after_push();
  }
  [[nodiscard]] idle_end sleep(std::size_t worker, time_point deadline = never) {
    host h{this};
    return idle.sleep(worker, deadline, h);
  }
  // A searching worker takes an item if there is one.
  bool take(std::size_t worker) {
    if (items == 0) return false;
    --items;
    idle.found_work(worker);
    return true;
  }

  int items = 0;
  basic_futex_loop<platform> loop;
  basic_event_seat<platform> seat{loop};
  basic_idle<platform, 3, Rules> idle;
};

struct IdleTest : ::testing::Test {
  void SetUp() override { steps::reset(); }
  void TearDown() override { steps::reset(); }
};

TEST_F(IdleTest, APushIsOneLookWhileEverybodyWorks) {
  basic_futex_loop<interposed_platform> loop;
  basic_event_seat<interposed_platform> seat(loop);
  basic_idle<interposed_platform> idle(4, 2, seat);
  doors.reset();
  EXPECT_FALSE(idle.after_push());
  EXPECT_EQ(doors.calls(door::atomic_operation), 1U);
  EXPECT_FALSE(idle.hungry());
  EXPECT_EQ(doors.calls(door::atomic_operation), 2U);
  EXPECT_EQ(doors.calls(door::heavy_barrier), 0U);
  doors.reset();
}

TEST_F(IdleTest, ABoundedNumberSearches) {
  crew<> c(2);
  EXPECT_TRUE(c.idle.try_search(0));
  EXPECT_TRUE(c.idle.try_search(1));
  EXPECT_FALSE(c.idle.try_search(2));
  c.idle.found_work(0);
  EXPECT_TRUE(c.idle.try_search(2));
}

TEST_F(IdleTest, HungerIsSeenByThoseWhoPush) {
  crew<> c;
  ASSERT_TRUE(c.idle.try_search(0));
  c.idle.set_hungry(true);
  EXPECT_TRUE(c.idle.hungry());
  EXPECT_TRUE(c.idle.after_push());
  c.idle.set_hungry(false);
  EXPECT_FALSE(c.idle.hungry());
  EXPECT_FALSE(c.idle.after_push());
}

TEST_F(IdleTest, APushThatStandsAloneWakesExactlyOne) {
  crew<> c;
  steps::when_asleep([&] {
    steps::when_asleep([&] { c.push(); });
    EXPECT_EQ(c.sleep(1), idle_end::woken);
    EXPECT_TRUE(c.take(1));
    EXPECT_EQ(c.idle.counts_approx(), (idle_counts{.sleeping = 1})) << "nobody else was woken";
    EXPECT_EQ(c.idle.wake_count(), 1U);
    c.push();  // so that worker 0 comes back as well
  });
  EXPECT_EQ(c.sleep(0), idle_end::woken);
  EXPECT_TRUE(c.take(0));
  EXPECT_EQ(c.idle.counts_approx(), idle_counts{});
  EXPECT_EQ(c.idle.wake_count(), 2U);
  EXPECT_EQ(steps::wakes(), 2);
  EXPECT_EQ(steps::stuck(), 0);
}

struct pusher_wakes_beside_searchers : idle_rules {
  static constexpr bool pusher_relies_on_searchers = false;
};
// How many a burst of pushes wakes while one worker searches and another has been asleep for long.
template <class Rules>
std::uint64_t woken_beside_a_searcher() {
  crew<Rules> c;
  steps::when_asleep([&] {
    EXPECT_TRUE(c.idle.try_search(1));
    for (int i = 0; i < 10; ++i) c.push();
    c.idle.shut_down();
  });
  (void)c.sleep(0);
  return c.idle.wake_count();
}
TEST_F(IdleTest, NoPushWakesAnyoneWhileSomebodySearches) {
  EXPECT_EQ(woken_beside_a_searcher<idle_rules>(), 0U);
  EXPECT_EQ(woken_beside_a_searcher<pusher_wakes_beside_searchers>(), 1U) << "this test sees the fault";
}

TEST_F(IdleTest, TheOneThatWatchesEventsIsWokenLast) {
  crew<> c;
  steps::when_asleep([&] {
    ASSERT_TRUE(c.idle.is_asleep_approx(0));
    steps::when_asleep([&] {
      c.push();
      EXPECT_TRUE(c.idle.is_asleep_approx(0)) << "it sits in the event loop";
      EXPECT_FALSE(c.idle.is_asleep_approx(1));
    });
    EXPECT_EQ(c.sleep(1), idle_end::woken);
    c.idle.shut_down();
  });
  EXPECT_EQ(c.sleep(0), idle_end::closed);
}

TEST_F(IdleTest, WorkThatIsThereIsSeenByTheLastLook) {
  crew<> c;
  c.items = 1;  // pushed while nobody slept
  EXPECT_EQ(c.sleep(0), idle_end::work);
  EXPECT_EQ(c.idle.counts_approx(), (idle_counts{.searching = 1, .debt = true}));
  EXPECT_TRUE(c.take(0));
  EXPECT_EQ(c.idle.counts_approx(), idle_counts{});
}

TEST_F(IdleTest, ADeadlineEndsASleepAndTheWorkerSearches) {
  crew<> c;
  EXPECT_EQ(c.sleep(0, time_point()), idle_end::deadline);
  EXPECT_EQ(c.idle.counts_approx(), (idle_counts{.searching = 1}));
  c.idle.leave(0);  // as one that has been idle for long enough
  EXPECT_EQ(c.idle.counts_approx(), idle_counts{});
}

TEST_F(IdleTest, WhoeverLeavesIsReplaced) {
  crew<> c;
  steps::when_asleep([&] {
    steps::when_asleep([&] { c.push(); });
    EXPECT_EQ(c.sleep(1), idle_end::woken);
    c.idle.leave(1);  // woken for the item, and does not take it
  });
  EXPECT_EQ(c.sleep(0), idle_end::woken);
  EXPECT_TRUE(c.take(0));
}

TEST_F(IdleTest, WhoeverLeavesOfItsOwnAccordWakesNobody) {
  crew<> c;
  steps::when_asleep([&] {
    ASSERT_TRUE(c.idle.try_search(1));
    c.idle.leave(1);
    EXPECT_EQ(c.sleep(2, time_point()), idle_end::deadline);
    c.idle.leave(2);
    EXPECT_EQ(c.idle.wake_count(), 0U);
    c.push();
  });
  EXPECT_EQ(c.sleep(0), idle_end::woken);
}

TEST_F(IdleTest, NobodyIsWokenForEventsAfterTheEnd) {
  crew<> c;
  steps::when_asleep([&] {
    c.idle.shut_down();
    EXPECT_FALSE(c.idle.wake_for_events());
  });
  EXPECT_EQ(c.sleep(0), idle_end::closed);
  EXPECT_FALSE(c.idle.wake_for_events());
  EXPECT_EQ(c.idle.wake_count(), 0U);
}

TEST_F(IdleTest, ASleeperIsWokenToTakeTheEmptySeat) {
  crew<> c;
  EXPECT_FALSE(c.idle.wake_for_events()) << "nobody sleeps";
  ASSERT_TRUE(c.seat.try_sit());  // somebody sits there, so worker 0 sleeps on its own word
  steps::when_asleep([&] {
    c.seat.leave();  // and is busy now
    ASSERT_TRUE(c.seat.is_empty_approx());
    EXPECT_TRUE(c.idle.wake_for_events());
    steps::when_asleep([&] {
      EXPECT_FALSE(c.seat.is_empty_approx());
      c.idle.shut_down();
    });
  });
  EXPECT_EQ(c.sleep(0), idle_end::woken);
  EXPECT_EQ(c.sleep(0), idle_end::closed) << "it found nothing, and sat down";
}

TEST_F(IdleTest, ShuttingDownWakesEverybodyAndNobodySleepsAgain) {
  crew<> c;
  steps::when_asleep([&] {
    steps::when_asleep([&] { c.idle.shut_down(); });
    EXPECT_EQ(c.sleep(1), idle_end::closed);
  });
  EXPECT_EQ(c.sleep(0), idle_end::closed);
  EXPECT_EQ(c.sleep(2), idle_end::closed);
  EXPECT_TRUE(c.idle.is_shut_down());
  EXPECT_EQ(steps::stuck(), 0);
  EXPECT_FALSE(c.idle.after_push()) << "there is nobody left to be told";
}

// An event loop that hands out so many completions when a worker waits in it.
class giving_loop final : public event_loop {
 public:
  explicit giving_loop(int count) : left_(count) {}
  loop_end wait(time_point /*deadline*/, ready_batch& ready) noexcept override {
    for (; left_ > 0; --left_) ready.push(runnable(runnable::kind::completion, this));
    return ready.empty() ? loop_end::deadline : loop_end::ready;
  }
  void poll(ready_batch& /*ready*/) noexcept override {}
  void interrupt() noexcept override {}

 private:
  int left_;
};

// A world in which work is a number.
struct counting_host {
  bool has_work() noexcept { return items > 0; }
  void deliver(ready_batch& ready) noexcept { items += static_cast<int>(ready.size()); }
  int items = 0;
};

TEST_F(IdleTest, WhatTheEventLoopHandsOutIsDeliveredAndOthersAreToldOfTheRest) {
  for (const int events : {1, 3}) {
    giving_loop loop(events);
    basic_event_seat<stepped_platform> seat(loop);
    basic_idle<stepped_platform, 2> idle(2, 1, seat, any_kind);
    counting_host shared;
    ASSERT_TRUE(seat.try_sit());  // so that worker 1 sleeps on its own word, and not in the loop
    steps::reset();
    steps::when_asleep([&] {
      seat.leave();
      EXPECT_EQ(idle.sleep(0, never, shared), idle_end::events);
      EXPECT_EQ(shared.items, events);
      EXPECT_EQ(idle.counts_approx().debt, events > 1);
      idle.found_work(0);
      idle.shut_down();
    });
    EXPECT_EQ(idle.sleep(1, never, shared), idle_end::closed);
    EXPECT_EQ(idle.wake_count(), events > 1 ? 1U : 0U);
  }
}

TEST_F(IdleTest, WhoeverLeavesWithAnEventUndoneIsReplaced) {
  giving_loop loop(1);
  basic_event_seat<stepped_platform> seat(loop);
  basic_idle<stepped_platform, 2> idle(2, 1, seat, any_kind);
  counting_host shared;
  ASSERT_TRUE(seat.try_sit());  // so that worker 1 sleeps on its own word
  steps::reset();
  steps::when_asleep([&] {
    seat.leave();
    EXPECT_EQ(idle.sleep(0, never, shared), idle_end::events);
    idle.leave(0);
  });
  EXPECT_EQ(idle.sleep(1, never, shared), idle_end::woken);
}

// -- One worker on its way to sleep. The first half of a push comes at each of its steps, the second when it sleeps (or
//    after the first, if that is later): then it must be woken, or have seen the item.

template <class Rules, class First, class Second>
int times_overslept(First&& first, Second&& second) {
  int overslept = 0;
  const int runs = for_each_step([&](int n) {
    crew<Rules> c;
    (void)c.idle.try_search(0);
    bool begun = false;
    const auto begin = [&] {
      if (!std::exchange(begun, true)) first(c);
    };
    steps::interrupt_at(n, begin);
    steps::when_asleep([&] {
      begin();
      second(c);
    });
    steps::when_stuck([&] { overslept += c.items > 0; });
    (void)c.sleep(0);
  });
  EXPECT_GE(runs, 8);
  return overslept;
}

constexpr auto put_item = [](auto& c) { ++c.items; };
constexpr auto look = [](auto& c) { (void)c.idle.after_push(); };

TEST_F(IdleTest, NobodyFallsAsleepOverAPush) {
  EXPECT_EQ((times_overslept<idle_rules>(put_item, look)), 0);
  EXPECT_GT((times_overslept<idle_rules>(look, put_item)), 0) << "a pusher that looks too early is noticed";
  const auto nothing = [](auto&) {};
  EXPECT_GT((times_overslept<idle_rules>(put_item, nothing)), 0) << "and one that does not look";
  const auto push = [](auto& c) { c.push(); };
  EXPECT_EQ((times_overslept<idle_rules>(push, nothing)), 0);
  EXPECT_GT((times_overslept<no_last_look>(push, nothing)), 0) << "and a worker that does not look again";
}

// -- Two items that need two workers: the second must not wait while a worker sleeps. --------------------------------

// Two sleep; two items come while one of them is on its way. Returns whether both are up in the end.
template <class Rules>
bool second_push_is_served() {
  steps::reset();
  crew<Rules> c;
  bool second_up = false;
  steps::when_asleep([&] {
    steps::when_asleep([&] {
      c.push();  // wakes worker 1
      c.push();  // finds that somebody searches
    });
    EXPECT_EQ(c.sleep(1), idle_end::woken);
    EXPECT_TRUE(c.take(1));  // and runs for long: the other item needs worker 0
  });
  second_up = c.sleep(0) == idle_end::woken;
  return second_up && c.take(0);
}

// A worker goes to sleep while another searches; that one finds one of two items.
template <class Rules>
bool sleeper_that_relied_is_served() {
  steps::reset();
  crew<Rules> c;
  (void)c.idle.try_search(1);
  steps::when_asleep([&] {
    c.items = 2;  // pushed before anyone slept
    EXPECT_TRUE(c.take(1));
  });
  return c.sleep(0) == idle_end::woken && c.take(0);
}

TEST_F(IdleTest, NoItemWaitsWhileAWorkerSleeps) {
  EXPECT_TRUE(second_push_is_served<idle_rules>());
  EXPECT_FALSE(second_push_is_served<pusher_leaves_none>());
  EXPECT_FALSE(second_push_is_served<finder_pays_none>());
  EXPECT_TRUE(sleeper_that_relied_is_served<idle_rules>());
  EXPECT_FALSE(sleeper_that_relied_is_served<sleeper_leaves_none>());
  EXPECT_FALSE(sleeper_that_relied_is_served<finder_pays_none>());
}

TEST_F(IdleTest, OnlyTheLastSearcherPaysAHeavyBarrier) {
  basic_futex_loop<interposed_platform> loop;
  basic_event_seat<interposed_platform> seat(loop);
  basic_idle<interposed_platform, 4> idle(4, 2, seat);
  struct host {
    bool has_work() noexcept { return false; }
    void deliver(ready_batch& /*ready*/) noexcept {}
  } none;
  ASSERT_TRUE(idle.try_search(0));
  ASSERT_TRUE(idle.try_search(1));
  doors.reset();
  EXPECT_EQ(idle.sleep(0, time_point(), none), idle_end::deadline);
  EXPECT_EQ(idle.sleep(2, time_point(), none), idle_end::deadline) << "it did not search";
  EXPECT_EQ(doors.calls(door::heavy_barrier), 0U) << "worker 1 searches: they rely on it";
  for (const std::size_t worker : {0U, 2U, 1U}) idle.found_work(worker);
  EXPECT_EQ(idle.sleep(1, time_point(), none), idle_end::deadline);
  EXPECT_EQ(doors.calls(door::heavy_barrier), 1U);
  doors.reset();
}

TEST_F(IdleTest, ServesAs256Workers) {
  basic_futex_loop<real_platform> loop;
  basic_event_seat<real_platform> seat(loop);
  basic_idle<real_platform> idle(256, 128, seat);
  for (std::size_t w = 0; w < 256; ++w) EXPECT_EQ(idle.try_search(w), w < 128) << w;
  for (std::size_t w = 0; w < 128; ++w) idle.found_work(w);
  EXPECT_EQ(idle.counts_approx(), idle_counts{});
}

TEST(IdleDeathTest, TooManyWorkersAreNamed) {
  basic_futex_loop<real_platform> loop;
  basic_event_seat<real_platform> seat(loop);
  using small_idle = basic_idle<real_platform, 2>;
  EXPECT_DEATH(small_idle(3, 1, seat), "an execution context has 1 to 256 workers");
  EXPECT_DEATH(small_idle(2, 0, seat), "at least one worker must be allowed to search");
}

}  // namespace
}  // namespace weft::impl
