// SPDX-License-Identifier: Apache-2.0
//
// idle_model — no wake-up is lost: as long as there is work, somebody is on the way to it; and a push wakes at most one.
//
// Workers here run until all items are done; the one that does the last shuts everything down. If a wake-up were lost,
// nobody would be left to run, which the checker reports.
#include "sched/idle.hpp"

#include "event/futex_loop.hpp"
#include "model/model.hpp"

#include <array>
#include <cstdint>
#include <utility>

namespace weft::impl {
namespace {

using model::platform;
using model::require;
using model::world;

template <std::size_t Items, std::size_t Workers, class Rules = idle_rules,
          barrier_kind Kind = barrier_kind::asymmetric>
struct office {
  basic_futex_loop<platform> loop;
  basic_event_seat<platform> seat{loop};
  basic_idle<platform, Workers, Rules> idle{Workers, 1, seat, Kind};
  std::array<platform::atomic<int>, Items>
      items{};  // 0: to come, 1: there, 2: taken; pushed as into a deque, by a store
  std::array<platform::atomic<int>, Items> done{};
  std::size_t finished = 0;

  void push(std::size_t i) {
    items[i].store(1, std::memory_order_release);
    (void)idle.after_push();
  }
  [[nodiscard]] bool has_work() const noexcept {
    for (const auto& item : items) {
      if (item.load(std::memory_order_relaxed) == 1) return true;
    }
    return false;
  }
  void deliver(ready_batch& /*ready*/) const noexcept { require(false, "nothing comes from this loop"); }

  /// Takes an item and does what it is for.
  template <class F>
  bool take_one(F&& job) {
    for (std::size_t i = 0; i < Items; ++i) {
      int there = 1;
      if (items[i].load(std::memory_order_relaxed) != 1) continue;
      if (!items[i].compare_exchange_strong(there, 2, std::memory_order_acquire, std::memory_order_relaxed))
        continue;
      job(i);
      done[i].store(1, std::memory_order_release);
      if (++finished == Items) idle.shut_down();
      return true;
    }
    return false;
  }

  /// Works until the end. The first sleep ends at the deadline, the others do not end by themselves.
  template <class F>
  void work(std::size_t worker, F&& job, time_point deadline = never) {
    for (;;) {
      if (take_one(job)) continue;
      bool searches = idle.try_search(worker);
      for (;;) {
        if (searches && has_work()) break;
        if (idle.sleep(worker, std::exchange(deadline, never), *this) == idle_end::closed) return;
        searches = true;
      }
      idle.found_work(worker);
    }
  }
  void work(std::size_t worker, time_point deadline = never) {
    work(
        worker, [](std::size_t) {}, deadline);
  }
};

constexpr std::array<const char*, 3> worker_names{"first", "second", "third"};

template <class Office>
void staff(world& in, Office& at, std::size_t workers) {
  for (std::size_t w = 0; w < workers; ++w) {
    in.thread(worker_names[w], [&at, w] { at.work(w); });
  }
}

template <class Rules, barrier_kind Kind = barrier_kind::asymmetric>
void one_push_one_worker(world& in) {
  auto& s = in.make<office<1, 1, Rules, Kind>>();
  staff(in, s, 1);
  in.thread("pusher", [&s] { s.push(0); });
}

template <class Rules, barrier_kind Kind = barrier_kind::asymmetric>
void two_pushes_one_worker(world& in) {
  in.is_large(3);
  auto& s = in.make<office<2, 1, Rules, Kind>>();
  staff(in, s, 1);
  in.thread("pusher", [&s] {
    s.push(0);
    s.push(1);
  });
}

template <class Rules, barrier_kind Kind = barrier_kind::asymmetric>
void one_push_two_workers(world& in) {
  in.is_large(0);
  auto& s = in.make<office<1, 2, Rules, Kind>>();
  staff(in, s, 2);
  in.thread("pusher", [&s] { s.push(0); });
}

/// Whoever gets the first item cannot end before somebody else has done the second: it must not be left alone with both.
template <class Rules, barrier_kind Kind = barrier_kind::asymmetric>
void work_for_two(world& in) {
  in.is_large(0);
  auto& s = in.make<office<2, 2, Rules, Kind>>();
  const auto job = [&s](std::size_t i) {
    if (i != 0) return;
    while (s.done[1].load(std::memory_order_acquire) == 0) platform::pause();
  };
  for (std::size_t w = 0; w < 2; ++w) in.thread(worker_names[w], [&s, w, job] { s.work(w, job); });
  in.thread("pusher", [&s] {
    s.push(0);
    s.push(1);
  });
}

/// A worker pushes from within its work, and goes on working.
template <class Rules, barrier_kind Kind = barrier_kind::asymmetric>
void worker_pushes(world& in) {
  in.is_large(3);
  auto& s = in.make<office<2, 2, Rules, Kind>>();
  s.items[0].store(1, std::memory_order_release);
  const auto job = [&s](std::size_t i) {
    if (i != 0) return;
    s.push(1);
    while (s.done[1].load(std::memory_order_acquire) == 0) platform::pause();
  };
  for (std::size_t w = 0; w < 2; ++w) in.thread(worker_names[w], [&s, w, job] { s.work(w, job); });
}

MODEL(IdleModel, OnePushOneWorker) { one_push_one_worker<idle_rules>(world); }
MODEL(IdleModel, TwoPushesOneWorker) { two_pushes_one_worker<idle_rules>(world); }
MODEL(IdleModel, OnePushTwoWorkers) { one_push_two_workers<idle_rules>(world); }
MODEL(IdleModel, WorkForTwo) { work_for_two<idle_rules>(world); }
MODEL(IdleModel, AWorkerPushes) { worker_pushes<idle_rules>(world); }

/// A deadline ends a sleep at the moment of a push.
MODEL(IdleModel, ADeadlineMeetsAPush) {
  world.is_large(3);
  auto& s = world.make<office<1, 1>>();
  world.thread("first", [&s] { s.work(0, time_point()); });
  world.thread("pusher", [&s] { s.push(0); });
}
MODEL(IdleModel, ADeadlineMeetsAPushAndAnotherSleeper) {
  world.is_large(0);
  auto& s = world.make<office<1, 2>>();
  world.thread("first", [&s] { s.work(0, time_point()); });
  world.thread("second", [&s] { s.work(1); });
  world.thread("pusher", [&s] { s.push(0); });
}

/// Sysmon wakes somebody for the sake of the event loop; a push must not be the worse for it.
MODEL(IdleModel, AWakingForEventsMeetsAPush) {
  world.is_large(3);
  auto& s = world.make<office<1, 1>>();
  staff(world, s, 1);
  world.thread("sysmon", [&s] { (void)s.idle.wake_for_events(); });
  world.thread("pusher", [&s] { s.push(0); });
}

/// Whoever was woken for an item retires instead of taking it: then another must come for it.
MODEL(IdleModel, ASearcherThatRetiresHandsItsPlaceOn) {
  world.is_large(0);
  auto& s = world.make<office<1, 2>>();
  world.thread("retires", [&s] {
    if (s.idle.try_search(0) || s.idle.sleep(0, never, s) != idle_end::closed) s.idle.leave(0);
  });
  world.thread("second", [&s] { s.work(1); });
  world.thread("pusher", [&s] { s.push(0); });
}

/// What was done before shut_down() is there for whoever learns of it, by whatever way.
template <class Learns>
void shutting_down(world& in, std::size_t workers, Learns learns) {
  struct closing : office<1, 2> {
    platform::plain<int> last_words{0};
  };
  auto& s = in.make<closing>();
  for (std::size_t w = 0; w < workers; ++w) {
    in.thread(worker_names[w], [&s, w, learns] {
      if (learns(s, w)) require(s.last_words.read() == 9, "closed without the last words");
    });
  }
  in.thread("closes", [&s] {
    s.last_words.write(9);
    s.idle.shut_down();
  });
}
MODEL(IdleModel, ShuttingDownWakesEverybody) {
  world.is_large(0);
  shutting_down(world, 2, [](auto& s, std::size_t w) {
    s.work(w);
    return true;
  });
}
MODEL(IdleModel, ShuttingDownIsSeenOnTheWayToBed) {
  shutting_down(world, 1,
                [](auto& s, std::size_t w) { return s.idle.sleep(w, never, s) == idle_end::closed; });
}
MODEL(IdleModel, ShuttingDownIsSeenByWhoeverLooks) {
  shutting_down(world, 1, [](auto& s, std::size_t) { return s.idle.is_shut_down(); });
}

MODEL(FallBackIdleModel, OnePushOneWorker) {
  one_push_one_worker<idle_rules, barrier_kind::symmetric>(world);
}
MODEL(FallBackIdleModel, OnePushTwoWorkers) {
  one_push_two_workers<idle_rules, barrier_kind::symmetric>(world);
}
MODEL(FallBackIdleModel, AWorkerPushes) { worker_pushes<idle_rules, barrier_kind::symmetric>(world); }

// The faults.

struct pusher_without_barrier : idle_rules {
  static constexpr bool barrier_after_push = false;
};
MODEL_FINDS(PlantedIdleModel, PusherWithoutItsBarrier, "nobody is left to wake them") {
  one_push_one_worker<pusher_without_barrier>(world);
}
struct sleeper_without_barrier : idle_rules {
  static constexpr bool barrier_before_last_look = false;
};
MODEL_FINDS(PlantedIdleModel, LastSearcherWithoutItsBarrier, "nobody is left to wake them") {
  one_push_one_worker<sleeper_without_barrier>(world);
}
struct no_last_look : idle_rules {
  static constexpr bool last_look = false;
};
MODEL_FINDS(PlantedIdleModel, LostWakeUp, "nobody is left to wake them") {
  one_push_one_worker<no_last_look>(world);
}
struct finder_tells_nobody : idle_rules {
  static constexpr bool finder_pays = false;
};
MODEL_FINDS(PlantedIdleModel, LastSearcherTellsNobody, "") { work_for_two<finder_tells_nobody>(world); }
struct pusher_leaves_no_debt : idle_rules {
  static constexpr bool pusher_leaves_debt = false;
};
MODEL_FINDS(PlantedIdleModel, PusherReliesOnASearcherWithoutSayingSo, "") {
  work_for_two<pusher_leaves_no_debt>(world);
}
struct sleeper_leaves_no_debt : idle_rules {
  static constexpr bool sleeper_leaves_debt = false;
};
MODEL_FINDS(PlantedIdleModel, SleeperReliesOnASearcherWithoutSayingSo, "") {
  work_for_two<sleeper_leaves_no_debt>(world);
}

}  // namespace
}  // namespace weft::impl
