// SPDX-License-Identifier: Apache-2.0
//
// wait_model — a wait as a whole: the task arms it, puts its timer in and leaves its stack, while a waker, a timer, cancellers and
// somebody who tidies up come for it. One ends it, the task is made runnable once, and its timer is out before it waits again.
//
// The claim and the flags are the shipping ones. The steps of sched/wait.hpp, sleep.cpp, sleep.hpp and event/timers.hpp, and what
// sched/pool.cpp does to a task that waits, are written down once more: who changes those changes this as well.
#include "model/model.hpp"
#include "sched/cancel_flag.hpp"
#include "sched/claim_word.hpp"
#include "support/broken_waits.hpp"

#include <cstdint>

namespace weft::impl {
namespace {

using model::platform;
using model::require;
using model::world;

/// Which steps are taken. A model that must fail derives from this and changes one line.
struct sleep_rules {
  using claim = claim_rules;
  using cancel = cancel_rules;
  static constexpr bool drops_its_timer = true;
  static constexpr bool fires_under_the_lock = true;
  static constexpr bool is_out_before_it_fires = true;
  static constexpr bool looks_again = true;
  static constexpr bool looks_at_siblings = true;
};

/// One shard of the timers, with room for one.
struct model_wheel {
  platform::atomic<std::uint32_t> lock{0};
  platform::plain<bool> is_linked{false};

  template <class F>
  void hold(F&& under_the_lock) {
    while (lock.exchange(1, std::memory_order_acquire) != 0) platform::pause();
    under_the_lock();
    lock.store(0, std::memory_order_release);
  }
  void insert() {
    hold([this] {
      require(!is_linked.read(), "the timer of an earlier wait is still pending");
      is_linked.write(true);
    });
  }
  void remove() {
    hold([this] {
      if (is_linked.read()) is_linked.write(false);
    });
  }
};

template <class Rules>
struct sleeper {
  static constexpr auto kind = barrier_kind::asymmetric;

  basic_wait_claim<platform, typename Rules::claim> claim;
  basic_cancel_flag<platform, typename Rules::cancel> cancel;    // its own
  basic_cancel_flag<platform, typename Rules::cancel> siblings;  // its nursery's
  model_wheel wheel;
  platform::plain<int> stack{0};  // used by the task, and by who holds it
  platform::atomic<std::uint64_t> published{0};
  platform::atomic<std::uint32_t> runnable{0};
  std::uint64_t waits = 0;
  std::uint64_t ended = 0;  // waits that somebody has ended, the task itself included

  // -- The task -----------------------------------------------------------------------------------------------------

  /// sleep_in_task(); with something that a waker finds, too.
  wake_cause wait() {
    ++waits;
    const wait_ticket mine = claim.arm();
    wheel.insert();
    published.store(mine.epoch, std::memory_order_release);
    const wake_cause cause = leave();
    require(cause != wake_cause::none, "woken for nothing");
    if (cause != wake_cause::timed_out && Rules::drops_its_timer) wheel.remove();
    require(!wheel.is_linked.read(), "a wait is over and its timer is pending");
    require(ended == waits, "a wait was ended twice, or by nobody");
    return cause;
  }
  /// A wait that no timer ends.
  wake_cause wait_without_timer() {
    ++waits;
    const wait_ticket mine = claim.arm();
    published.store(mine.epoch, std::memory_order_release);
    return leave();
  }

  // -- Who ends it --------------------------------------------------------------------------------------------------

  /// A waker that has the ticket of that wait.
  void wake(std::uint64_t epoch) { settle(claim.try_claim({epoch}, wake_cause::ready)); }
  /// The same, once there is one to have.
  void wake_when_published(std::uint64_t epoch) {
    while (published.load(std::memory_order_acquire) < epoch) platform::pause();
    wake(epoch);
  }
  /// Time has come: timers::expire() and end_wait_of(). Returns whether the timer was pending.
  bool expire() {
    bool was_due = false;
    auto outcome = claim_outcome::lost;
    const auto fire = [&] { outcome = counted(claim.try_claim_any(wake_cause::timed_out)); };
    wheel.hold([&] {
      was_due = wheel.is_linked.read();
      if (!was_due) return;
      if constexpr (Rules::is_out_before_it_fires) wheel.is_linked.write(false);
      if constexpr (Rules::fires_under_the_lock) fire();
      if constexpr (!Rules::is_out_before_it_fires) wheel.is_linked.write(false);
    });
    if (was_due && !Rules::fires_under_the_lock) fire();
    if (outcome == claim_outcome::won) make_runnable();
    return was_due;
  }
  /// pool::cancel().
  void cancel_it() {
    cancel.request();
    decltype(cancel)::settle(kind);
    settle(claim.try_claim_standing(wake_cause::cancelled));
  }
  /// nursery_core::cancel() and pool::wake_cancelled().
  void cancel_siblings() {
    siblings.request();
    decltype(siblings)::settle(kind);
    for (wait_word seen = claim.word(); seen.is_claimable() && !seen.is_shielded(); seen = claim.word()) {
      const claim_outcome outcome = claim.try_claim_seen(seen, wake_cause::cancelled);
      settle(outcome);
      if (outcome != claim_outcome::lost || !Rules::looks_again) return;
    }
  }
  /// pool::mark_parked(), and trim_marked() a while later.
  void tidy() {
    claim.mark(claim.word());
    const wait_word seen = claim.word();
    if (!seen.is_marked() || seen.is_trimmed() || !claim.try_hold(seen)) return;
    require(stack.read() == 1, "held without what it has left on its stack");
    stack.write(1);
    if (claim.complete_hold() == park_outcome::must_requeue) make_runnable();
  }

 private:
  /// one_wait::leave().
  wake_cause leave() {
    if (is_asked_after_arming()) {
      const bool disarmed = claim.try_disarm() == disarm_outcome::disarmed;
      if (!disarmed) return claim.finish();
      ++ended;
      return wake_cause::cancelled;
    }
    stack.write(1);
    if (claim.complete_park() == park_outcome::must_requeue) make_runnable();
    while (runnable.load(std::memory_order_acquire) == 0) platform::pause();
    runnable.store(0, std::memory_order_relaxed);
    require(stack.read() == 1, "resumed without what it has left on its stack");
    stack.write(2);
    return claim.finish();
  }
  bool is_asked_after_arming() {
    return cancel.requested_after_arming(kind) || (Rules::looks_at_siblings && siblings.requested());
  }
  claim_outcome counted(claim_outcome outcome) {
    if (outcome != claim_outcome::lost) require(++ended == waits, "a wait was ended twice");
    return outcome;
  }
  void settle(claim_outcome outcome) {
    if (counted(outcome) == claim_outcome::won) make_runnable();
  }
  void make_runnable() {
    require(stack.read() == 1, "made runnable without what it has left on its stack");
    require(runnable.fetch_add(1, std::memory_order_release) == 0, "made runnable twice");
  }
};

// -- A sleeper and its timer ------------------------------------------------------------------------------------------

/// It sleeps twice; nobody but the timer ends it.
template <class Rules>
void sleep_twice(world& in) {
  auto& s = in.make<sleeper<Rules>>();
  in.thread("task", [&s] {
    for (int i = 0; i < 2; ++i) require(s.wait() == wake_cause::timed_out, "woken before its time");
  });
  in.thread("timer", [&s] {
    for (int fired = 0; fired < 2;) {
      if (s.expire()) {
        ++fired;
      } else {
        platform::pause();
      }
    }
  });
}
MODEL(WaitModel, ASleeperIsWokenByEachOfItsTimers) { sleep_twice<sleep_rules>(world); }

/// The first wait is ended by a waker or by its timer; the timer does not end the second, which has none.
template <class Rules>
void waker_and_timer(world& in) {
  auto& s = in.make<sleeper<Rules>>();
  in.thread("task", [&s] {
    (void)s.wait();
    require(s.wait_without_timer() == wake_cause::ready, "a wait was ended by the timer of another");
  });
  in.thread("waker", [&s] {
    s.wake_when_published(1);
    s.wake_when_published(2);
  });
  in.thread("timer", [&s] { (void)s.expire(); });
}
MODEL(WaitModel, ATimerEndsNoLaterWait) {
  world.is_large(1);
  waker_and_timer<sleep_rules>(world);
}

/// Cancellation is a level: whatever ends the first wait, the sleeper does not sleep on.
template <class Rules>
void canceller_and_timer(world& in) {
  auto& s = in.make<sleeper<Rules>>();
  in.thread("task", [&s] {
    while (s.wait() != wake_cause::cancelled) {
    }
  });
  in.thread("canceller", [&s] { s.cancel_it(); });
  in.thread("timer", [&s] { (void)s.expire(); });
}
MODEL(WaitModel, ACancelledSleeperDoesNotSleepOn) { canceller_and_timer<sleep_rules>(world); }

MODEL(WaitModel, AWakerAndACanceller) {
  auto& s = world.make<sleeper<sleep_rules>>();
  world.thread("task", [&s] {
    while (s.wait() != wake_cause::cancelled) {
    }
  });
  world.thread("waker", [&s] { s.wake_when_published(1); });
  world.thread("canceller", [&s] { s.cancel_it(); });
}

// -- All of them ------------------------------------------------------------------------------------------------------

/// A waker, a timer and a canceller; and somebody who tidies up, or not.
template <class Rules>
void all_of_them(world& in, bool is_tidied) {
  auto& s = in.make<sleeper<Rules>>();
  in.thread("task", [&s] { (void)s.wait(); });
  in.thread("canceller", [&s] { s.cancel_it(); });
  in.thread("timer", [&s] { (void)s.expire(); });
  in.thread("waker", [&s] {
    if (s.published.load(std::memory_order_acquire) != 0) s.wake(1);
  });
  if (is_tidied) in.thread("tidier", [&s] { s.tidy(); });
}
MODEL(WaitModel, AWakerATimerAndACanceller) {
  world.is_large(1);
  all_of_them<sleep_rules>(world, false);
}
MODEL(WaitModel, AFiberThatIsHeldWhileAllComeForIt) {
  world.is_large(0);
  all_of_them<sleep_rules>(world, true);
}

/// Its nursery is cancelled while somebody marks and holds the fiber, which changes the word under the canceller's eyes.
template <class Rules>
void siblings_and_tidier(world& in) {
  auto& s = in.make<sleeper<Rules>>();
  in.thread("task", [&s] { require(s.wait() == wake_cause::cancelled, "ended by nobody knows whom"); });
  in.thread("canceller", [&s] { s.cancel_siblings(); });
  in.thread("tidier", [&s] { s.tidy(); });
}
MODEL(WaitModel, ANurseryIsCancelledWhileAFiberIsHeld) { siblings_and_tidier<sleep_rules>(world); }

// The faults.

struct leaves_its_timer : sleep_rules {
  static constexpr bool drops_its_timer = false;
};
MODEL_FINDS(PlantedWaitModel, ATimerIsLeftPending, "its timer is pending") {
  waker_and_timer<leaves_its_timer>(world);
}
struct fires_later : sleep_rules {
  static constexpr bool fires_under_the_lock = false;
};
MODEL_FINDS(PlantedWaitModel, ATimerFiresWhenItsWaitIsOver, "the timer of another") {
  waker_and_timer<fires_later>(world);
}
struct fires_before_it_is_out : sleep_rules {
  static constexpr bool is_out_before_it_fires = false;
};
MODEL_FINDS(PlantedWaitModel, ATimerFiresBeforeItIsOut, "race") {
  sleep_twice<fires_before_it_is_out>(world);
}

struct overlooks_early_claims : sleep_rules {
  using claim = testing::parks_without_a_look;
};
MODEL_FINDS(PlantedWaitModel, AnEarlyTimerIsOverlooked, "livelock") {
  sleep_twice<overlooks_early_claims>(world);
}
struct waiter_without_barrier : sleep_rules {
  struct cancel : cancel_rules {
    static constexpr bool waiter_has_barrier = false;
  };
};
MODEL_FINDS(PlantedWaitModel, ASleeperWithoutItsBarrier, "livelock") {
  canceller_and_timer<waiter_without_barrier>(world);
}
struct canceller_without_barrier : sleep_rules {
  struct cancel : cancel_rules {
    static constexpr bool canceller_has_barrier = false;
  };
};
MODEL_FINDS(PlantedWaitModel, ACancellerWithoutItsBarrier, "livelock") {
  canceller_and_timer<canceller_without_barrier>(world);
}
struct looks_once : sleep_rules {
  static constexpr bool looks_again = false;
};
MODEL_FINDS(PlantedWaitModel, ACancellerThatLooksOnce, "livelock") { siblings_and_tidier<looks_once>(world); }

struct overlooks_siblings : sleep_rules {
  static constexpr bool looks_at_siblings = false;
};
MODEL_FINDS(PlantedWaitModel, ASleeperThatLooksAtItsOwnFlagOnly, "livelock") {
  siblings_and_tidier<overlooks_siblings>(world);
}

}  // namespace
}  // namespace weft::impl
