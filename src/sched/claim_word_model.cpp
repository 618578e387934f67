// SPDX-License-Identifier: Apache-2.0
//
// claim_word_model — a wait is ended once, by whoever claims it; the fiber is made runnable once, and only when it is off
// its stack; a late timer does not end a later wait; and a cancellation meets a wait that begins.
#include "sched/claim_word.hpp"

#include "model/model.hpp"
#include "sched/cancel_flag.hpp"
#include "support/broken_waits.hpp"

namespace weft::impl {
namespace {

using model::platform;
using model::require;
using model::world;

/// A fiber that waits, and the queue that it is put into when its wait has ended. The thread that runs it is the fiber
/// until it leaves its stack, then the step after the switch, then whoever takes it out of the queue.
template <class Rules = claim_rules>
struct waiting_fiber {
  basic_wait_claim<platform, Rules> claim;
  platform::plain<int> registers{0};  // written as the stack is left, read by who resumes it
  platform::plain<int> result{0};     // written by who ends the wait
  platform::atomic<std::uint32_t> runnable{0};
  platform::atomic<std::uint64_t> ticket{0};
  int ended = 0;

  void make_runnable() {
    require(runnable.fetch_add(1, std::memory_order_acq_rel) == 0, "the fiber was made runnable twice");
  }
  /// Publishes the wait, leaves the stack, and comes back when somebody has made the fiber runnable.
  wake_cause wait() {
    const wait_ticket mine = claim.arm();
    ticket.store(mine.epoch, std::memory_order_release);
    return wait_armed();
  }
  wake_cause wait_armed() {
    registers.write(1);
    if (claim.complete_park() == park_outcome::must_requeue) make_runnable();
    while (runnable.load(std::memory_order_acquire) == 0) platform::pause();
    require(registers.read() == 1, "resumed without its registers");
    runnable.store(0, std::memory_order_relaxed);
    return claim.finish();
  }
  /// What a waker, a timer or a canceller does. Only the winner touches the fiber.
  void end(wake_cause cause) {
    const wait_ticket known{ticket.load(std::memory_order_acquire)};
    if (known.epoch == 0) return;
    settle(claim.try_claim(known, cause));
  }
  void settle(claim_outcome outcome) {
    if (outcome == claim_outcome::lost) return;
    ++ended;
    if (outcome != claim_outcome::won) return;
    require(registers.read() == 1,
            "won, and off its stack, without its registers");  // who wins it may resume it
    make_runnable();
  }
};

template <class Rules>
void waker_and_timer(world& in) {
  auto& f = in.make<waiting_fiber<Rules>>();
  in.thread("fiber", [&f] { require(f.wait() != wake_cause::none, "woken for nothing"); });
  in.thread("waker", [&f] {
    while (f.ticket.load(std::memory_order_acquire) == 0) platform::pause();
    f.end(wake_cause::ready);
  });
  in.thread("timer", [&f] { f.end(wake_cause::timed_out); });
  in.finally([&f] { require(f.ended == 1, "a wait was ended twice, or not at all"); });
}

MODEL(ClaimModel, OneOfWakerAndTimerWins) { waker_and_timer<claim_rules>(world); }

/// The fiber has left its stack long ago; both come for it.
template <class Rules>
void two_come_for_a_parked_fiber(world& in) {
  struct parked {
    basic_wait_claim<platform, Rules> claim;
    wait_ticket ticket = claim.arm();
    park_outcome left = claim.complete_park();
    int won = 0;
  };
  auto& f = in.make<parked>();
  for (const wake_cause cause : {wake_cause::ready, wake_cause::timed_out}) {
    in.thread(cause == wake_cause::ready ? "waker" : "timer", [&f, cause] {
      if (f.claim.try_claim(f.ticket, cause) == claim_outcome::won) ++f.won;
    });
  }
  in.finally([&f] { require(f.won == 1, "a claim was won twice, or by nobody"); });
}
MODEL(ClaimModel, AParkedFiberIsWonOnce) { two_come_for_a_parked_fiber<claim_rules>(world); }

MODEL(ClaimModel, WhatTheWakerWroteIsThere) {
  struct given : waiting_fiber<> {
    platform::plain<int> item{0};
  };
  auto& f = world.make<given>();
  world.thread("fiber", [&f] {
    if (f.wait() == wake_cause::ready) require(f.item.read() == 7, "woken without the item");
  });
  world.thread("waker", [&f] {
    while (f.ticket.load(std::memory_order_acquire) == 0) platform::pause();
    f.item.write(7);
    f.end(wake_cause::ready);
  });
}

/// The timer of the first wait comes when the second has begun.
template <class Rules>
void late_timer(world& in) {
  auto& f = in.make<waiting_fiber<Rules>>();
  in.thread("fiber", [&f] {
    (void)f.wait();
    require(f.wait() == wake_cause::ready, "a wait was ended by the timer of another");
  });
  in.thread("waker", [&f] {
    for (std::uint64_t epoch = 1; epoch <= 2; ++epoch) {
      while (f.ticket.load(std::memory_order_acquire) < epoch) platform::pause();
      f.settle(f.claim.try_claim({epoch}, wake_cause::ready));
    }
  });
  in.thread("timer", [&f] { f.settle(f.claim.try_claim({1}, wake_cause::timed_out)); });
}
MODEL(ClaimModel, ALateTimerLoses) { late_timer<claim_rules>(world); }

MODEL(ClaimModel, DisarmingAndClaimingMeet) {
  auto& f = world.make<waiting_fiber<>>();
  world.thread("fiber", [&f] {
    const wait_ticket mine = f.claim.arm();
    f.ticket.store(mine.epoch, std::memory_order_release);
    if (f.claim.try_disarm() == disarm_outcome::claimed) {
      require(f.claim.finish() == wake_cause::ready, "claimed by nobody");
      ++f.ended;  // both know of it
    }
  });
  world.thread("waker", [&f] { f.end(wake_cause::ready); });
  world.finally([&f] { require(f.ended == 0 || f.ended == 2, "waker and fiber disagree"); });
}

/// Cancellation is a level: the fiber sees the flag before it leaves its stack, or the canceller sees the wait.
template <class Rules>
void cancel_a_wait(world& in) {
  struct cancelled : waiting_fiber<> {
    basic_cancel_flag<platform, Rules> flag;
    platform::plain<int> why{0};
  };
  auto& f = in.make<cancelled>();
  in.thread("fiber", [&f] {
    (void)f.claim.arm();
    if (f.flag.requested_after_arming(barrier_kind::asymmetric)) {
      require(f.why.read() == 3, "cancelled without a reason");
      if (f.claim.try_disarm() == disarm_outcome::claimed) (void)f.claim.finish();
      return;
    }
    require(f.wait_armed() == wake_cause::cancelled, "ended by nobody");
  });
  in.thread("canceller", [&f] {
    f.why.write(3);
    f.flag.request();
    decltype(f.flag)::settle(barrier_kind::asymmetric);
    f.settle(f.claim.try_claim_standing(wake_cause::cancelled));
  });
}
MODEL(ClaimModel, ACancellationMeetsAWaitThatBegins) { cancel_a_wait<cancel_rules>(world); }

MODEL(ClaimModel, ARequestSaysWhy) {
  struct asked {
    basic_cancel_flag<platform> flag;
    platform::plain<int> why{0};
  };
  auto& a = world.make<asked>();
  world.thread("canceller", [&a] {
    a.why.write(3);
    a.flag.request();
  });
  world.thread("fiber", [&a] {
    if (a.flag.requested()) require(a.why.read() == 3, "cancelled without a reason");
  });
}

MODEL(ClaimModel, WakerAndCancellerAndTimer) {
  struct cancelled : waiting_fiber<> {
    basic_cancel_flag<platform> flag;
  };
  auto& f = world.make<cancelled>();
  world.thread("fiber", [&f] {
    const wait_ticket mine = f.claim.arm();
    f.ticket.store(mine.epoch, std::memory_order_release);
    if (f.flag.requested_after_arming(barrier_kind::asymmetric)) {
      if (f.claim.try_disarm() == disarm_outcome::claimed) (void)f.claim.finish();
      return;
    }
    (void)f.wait_armed();
  });
  world.thread("canceller", [&f] {
    f.flag.request();
    decltype(f.flag)::settle(barrier_kind::asymmetric);
    f.settle(f.claim.try_claim_standing(wake_cause::cancelled));
  });
  world.thread("timer", [&f] { f.end(wake_cause::timed_out); });
  world.finally([&f] { require(f.ended <= 1, "a wait was ended twice"); });
}

// The faults.

MODEL_FINDS(PlantedClaimModel, ClaimWonTwice, "won twice") {
  two_come_for_a_parked_fiber<testing::claims_without_comparing>(world);
}
MODEL_FINDS(PlantedClaimModel, EarlyClaimOverlooked, "ended twice, or not at all") {
  waker_and_timer<testing::parks_without_a_look>(world);
}
MODEL_FINDS(PlantedClaimModel, TicketsWithoutEpoch, "the timer of another") {
  late_timer<testing::takes_any_ticket>(world);
}

struct waiter_without_barrier : cancel_rules {
  static constexpr bool waiter_has_barrier = false;
};
MODEL_FINDS(PlantedClaimModel, WaiterWithoutItsBarrier, "livelock") {
  cancel_a_wait<waiter_without_barrier>(world);
}

struct canceller_without_barrier : cancel_rules {
  static constexpr bool canceller_has_barrier = false;
};
MODEL_FINDS(PlantedClaimModel, CancellerWithoutItsBarrier, "livelock") {
  cancel_a_wait<canceller_without_barrier>(world);
}

/// A record dies and begins another life, with another owner, while somebody looks for waits of the first owner's.
MODEL(ClaimWordModel, OnlyTheWaitsOfAnOwnerAreEnded) {
  struct record {
    basic_wait_claim<platform> claim;
    platform::atomic<int> owner{0};
  };
  auto& r = world.make<record>();
  world.thread("lives", [&r] {
    for (const int life : {1, 2}) {
      r.owner.store(life, std::memory_order_relaxed);
      (void)r.claim.arm();
      if (r.claim.try_disarm() == disarm_outcome::disarmed) continue;
      (void)r.claim.finish();
      require(life == 1, "a wait was ended that is another owner's");
    }
  });
  world.thread("canceller", [&r] {
    const wait_word seen = r.claim.word();
    if (!seen.is_claimable() || r.owner.load(std::memory_order_relaxed) != 1) return;
    (void)r.claim.try_claim_seen(seen, wake_cause::cancelled);
  });
}

/// Somebody holds the fiber for a moment, to do something with its stack, while another ends the wait.
struct held_fiber : waiting_fiber<> {
  platform::plain<int> stack{0};  // used by the fiber while it runs, and by who holds it

  void run_a_little() { stack.write(1); }
  void hold() {
    const wait_word seen = claim.word();
    claim.mark(seen);
    const wait_word again = claim.word();
    if (!again.is_marked() || !claim.try_hold(again)) return;
    require(registers.read() == 1, "held without its registers");
    stack.write(2);
    if (claim.complete_hold() == park_outcome::must_requeue) make_runnable();
  }
};
MODEL(ClaimWordModel, AFiberThatIsHeldIsNotResumed) {
  auto& f = world.make<held_fiber>();
  world.thread("fiber", [&f] {
    f.run_a_little();
    require(f.wait() == wake_cause::ready, "ended by nobody knows what");
    f.run_a_little();
  });
  world.thread("tidier", [&f] { f.hold(); });
  world.thread("waker", [&f] {
    while (f.ticket.load(std::memory_order_acquire) == 0) platform::pause();
    f.end(wake_cause::ready);
  });
}

MODEL(ClaimWordModel, OfTwoWhoWantToHoldOneDoes) {
  auto& f = world.make<held_fiber>();
  world.is_large(1);
  world.thread("fiber", [&f] {
    f.run_a_little();
    require(f.wait() == wake_cause::ready, "ended by nobody knows what");
    f.run_a_little();
  });
  for (const char* const called : {"tidier", "other"}) world.thread(called, [&f] { f.hold(); });
  world.thread("waker", [&f] {
    while (f.ticket.load(std::memory_order_acquire) == 0) platform::pause();
    f.end(wake_cause::ready);
  });
}

}  // namespace
}  // namespace weft::impl
