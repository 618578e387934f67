// SPDX-License-Identifier: Apache-2.0
//
// idle_event_model — the idle protocol beside everything but work that can end a sleep: deadlines, the event loop, sysmon,
// and workers that retire.
#include "support/idle_office.hpp"

namespace weft::impl {
namespace {

using model::platform;
using model::world;
using testing::office;
using testing::staff;

/// A deadline ends a sleep at the moment of a push.
MODEL(IdleEventModel, ADeadlineMeetsAPush) {
  world.is_large(3);
  auto& s = world.make<office<1, 1>>();
  world.thread("first", [&s] { s.work(0, time_point()); });
  world.thread("pusher", [&s] { s.push(0); });
}
MODEL(IdleEventModel, ADeadlineMeetsAPushAndAnotherSleeper) {
  world.is_large(0);
  auto& s = world.make<office<1, 2>>();
  world.thread("first", [&s] { s.work(0, time_point()); });
  world.thread("second", [&s] { s.work(1); });
  world.thread("pusher", [&s] { s.push(0); });
}

/// Sysmon wakes somebody for the sake of the event loop; a push must not be the worse for it.
MODEL(IdleEventModel, AWakingForEventsMeetsAPush) {
  world.is_large(3);
  auto& s = world.make<office<1, 1>>();
  staff(world, s, 1);
  world.thread("sysmon", [&s] { (void)s.idle.wake_for_events(); });
  world.thread("pusher", [&s] { s.push(0); });
}

/// Whoever was woken for an item retires instead of taking it: then another must come for it.
MODEL(IdleEventModel, ASearcherThatRetiresHandsItsPlaceOn) {
  world.is_large(0);
  auto& s = world.make<office<1, 2>>();
  world.thread("retires", [&s] {
    if (s.idle.try_search(0) || s.idle.sleep(0, never, s) != idle_end::closed) s.idle.leave(0);
  });
  world.thread("second", [&s] { s.work(1); });
  world.thread("pusher", [&s] { s.push(0); });
}

/// Workers for whom there is never anything to do.
struct idlers {
  basic_futex_loop<platform> loop;
  basic_event_seat<platform> seat{loop};
  basic_idle<platform, 2> idle{2, 1, seat, barrier_kind::asymmetric};

  [[nodiscard]] bool has_work() const noexcept { return false; }
  void deliver(ready_batch& /*ready*/) const noexcept {}
};

/// A sleeper with a deadline comes back, also where another's bit was won in its place.
MODEL(IdleEventModel, ADeadlineIsKept) {
  world.is_large(1);
  auto& s = world.make<idlers>();
  world.thread("timed", [&s] {
    (void)s.idle.sleep(0, time_point(), s);
    s.idle.shut_down();
  });
  world.thread("other", [&s] {
    while (s.idle.sleep(1, never, s) != idle_end::closed) {
    }
  });
  world.thread("sysmon", [&s] { (void)s.idle.wake_for_events(); });
}

MODEL(IdleEventModel, ADeadlineIsKeptBesideAPush) {
  world.is_large(0);
  auto& s = world.make<office<2, 2>>();  // the second item never comes: only the deadline ends it
  world.thread("timed", [&s] {
    (void)s.idle.sleep(0, time_point(), s);
    s.idle.shut_down();
  });
  world.thread("other", [&s] { s.work(1); });
  world.thread("pusher", [&s] { s.push(0); });
}

/// A drowsy worker has seen work, and finds that its bit was won for a promise: then the place goes to another.
MODEL(IdleEventModel, ADrowsyWorkerWhoseBitWasWonWakesAnother) {
  world.is_large(1);
  auto& s = world.make<office<1, 2>>();
  s.items[0].store(1, std::memory_order_release);
  world.thread("drowsy", [&s] {
    (void)s.idle.try_search(0);
    if (s.idle.sleep(0, never, s) == idle_end::closed) return;
    s.idle.found_work(0);
    s.work(0);
  });
  world.thread("other", [&s] {
    if (s.idle.sleep(1, never, s) == idle_end::closed) return;
    s.idle.found_work(1);
    s.work(1);
  });
  world.thread("sysmon", [&s] { (void)s.idle.wake_for_events(); });
}

/// An event loop with a device that completes something now and then.
class device_loop final : public event_loop {
 public:
  /// By the device.
  void complete() noexcept {
    completed_.fetch_add(1, std::memory_order_release);
    interrupt();
  }

  [[nodiscard]] loop_end wait(time_point deadline, ready_batch& ready) noexcept override {
    poll(ready);
    if (!ready.empty()) return loop_end::ready;
    const bool told = word_.sleep_until(deadline) != wake_token::none;
    poll(ready);
    if (!ready.empty()) return loop_end::ready;
    return told ? loop_end::interrupted : loop_end::deadline;
  }
  void poll(ready_batch& ready) noexcept override {
    for (int left = completed_.exchange(0, std::memory_order_acquire); left > 0; --left)
      ready.push(runnable(runnable::kind::completion, this));
  }
  void interrupt() noexcept override {
    if (word_.notify() == notify_duty::wake_word) word_.wake();
  }

 private:
  platform::atomic<int> completed_{0};
  basic_sleep_word<platform> word_;
};

template <std::size_t Items, std::size_t Workers, class Rules = idle_rules,
          barrier_kind Kind = barrier_kind::asymmetric>
using office_with_device = office<Items, Workers, Rules, Kind, device_loop>;

MODEL(IdleEventModel, AnEventIsDeliveredAndDone) {
  world.is_large(2);
  auto& s = world.make<office_with_device<1, 1>>();
  staff(world, s, 1);
  world.thread("device", [&s] { s.loop.complete(); });
}

/// Whoever sits, somebody does when all sleep, and the event is seen.
MODEL(IdleEventModel, SomebodySitsInTheLoopWhenAllSleep) {
  world.is_large(0);
  auto& s = world.make<office_with_device<1, 2>>();
  staff(world, s, 2);
  world.thread("device", [&s] { s.loop.complete(); });
}

MODEL(IdleEventModel, AnEventMeetsAPush) {
  world.is_large(0);
  auto& s = world.make<office_with_device<2, 1>>();
  staff(world, s, 1);
  world.thread("device", [&s] { s.loop.complete(); });
  world.thread("pusher", [&s] { s.push(0); });
}

/// Two events, each of which needs a worker: whoever has more than it gets up for tells another.
template <class Rules, barrier_kind Kind = barrier_kind::asymmetric>
void events_for_two(world& in) {
  in.is_large(0);
  auto& s = in.make<office_with_device<2, 2, Rules, Kind>>();
  const auto job = [&s](std::size_t i) {
    if (i != 0) return;
    while (s.done[1].load(std::memory_order_acquire) == 0) platform::pause();
  };
  for (std::size_t w = 0; w < 2; ++w) in.thread(testing::worker_names[w], [&s, w, job] { s.work(w, job); });
  in.thread("device", [&s] {
    s.loop.complete();
    s.loop.complete();
  });
}
MODEL(IdleEventModel, EventsForTwo) { events_for_two<idle_rules>(world); }
MODEL(IdleEventModel, EventsForTwoByFences) { events_for_two<idle_rules, barrier_kind::symmetric>(world); }

// The faults.

struct delivered_without_barrier : idle_rules {
  static constexpr bool barrier_after_delivery = false;
};
MODEL_FINDS(PlantedIdleEventModel, DeliveredWithoutABarrier, "waits in a loop") {
  events_for_two<delivered_without_barrier>(world);
}

}  // namespace
}  // namespace weft::impl
