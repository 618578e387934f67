// SPDX-License-Identifier: Apache-2.0
//
// idle_model — no wake-up is lost: as long as there is work, somebody is on the way to it.
#include "support/idle_office.hpp"

namespace weft::impl {
namespace {

using model::platform;
using model::require;
using model::world;
using testing::office;
using testing::staff;
using testing::worker_names;

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
MODEL_FINDS(PlantedIdleModel, LastSearcherTellsNobody, "waits in a loop") {
  work_for_two<finder_tells_nobody>(world);
}
struct pusher_leaves_no_debt : idle_rules {
  static constexpr bool pusher_leaves_debt = false;
};
MODEL_FINDS(PlantedIdleModel, PusherReliesOnASearcherWithoutSayingSo, "waits in a loop") {
  work_for_two<pusher_leaves_no_debt>(world);
}
struct sleeper_leaves_no_debt : idle_rules {
  static constexpr bool sleeper_leaves_debt = false;
};
MODEL_FINDS(PlantedIdleModel, SleeperReliesOnASearcherWithoutSayingSo, "waits in a loop") {
  work_for_two<sleeper_leaves_no_debt>(world);
}

}  // namespace
}  // namespace weft::impl
