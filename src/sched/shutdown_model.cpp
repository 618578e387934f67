// SPDX-License-Identifier: Apache-2.0
//
// shutdown_model — tasks are begun while the pool is closed, all are asked to stop, and somebody waits for the last one: each
// task ends once or is refused, nobody who waits is overlooked, and the pool is drained when all have ended and not before.
#include "model/model.hpp"
#include "support/model_pool.hpp"

namespace weft::impl {
namespace {

using model::world;
using testing::model_pool;
using testing::model_task;
using testing::pool_rules;

constexpr auto does_nothing = [](std::size_t /*worker*/, model_task&) {};
/// Until it is asked to stop: if nobody asked it, nothing would ever happen again.
constexpr auto waits_for_ever_in(auto& pool) {
  return [&pool](std::size_t worker, model_task& self) { pool.wait_for_ever(worker, self); };
}

/// Strangers come while the pool is drained; whoever is let in wakes the worker of its own.
template <std::size_t Strangers, class Rules>
void strangers_and_drainer(world& in) {
  using pool = model_pool<Strangers, Rules>;
  auto& p = in.make<pool>();
  for (std::size_t i = 0; i < Strangers; ++i) {
    in.thread(i == 0 ? "stranger" : "another", [&p, i] {
      if (p.begin_of_stranger(p.tasks[i])) p.run_when_there(i, p.tasks[i], does_nothing);
    });
  }
  in.thread("drains", [&p] { p.drain(); });
  in.finally([&p] { p.expect_all_ended(); });
}
MODEL(ShutdownModel, AStrangerIsRefusedOrAwaited) { strangers_and_drainer<1, pool_rules>(world); }
MODEL(ShutdownModel, OfTwoStrangersEachIsRefusedOrAwaited) {
  world.is_large(1);
  strangers_and_drainer<2, pool_rules>(world);
}

/// A stranger begins a task, which waits, while all are asked to stop.
template <class Rules>
void stranger_and_stopper(world& in) {
  using pool = model_pool<1, Rules>;
  auto& p = in.make<pool>();
  in.thread("stranger", [&p] { (void)p.begin_of_stranger(p.tasks[0]); });
  in.thread("worker", [&p] { p.run_when_there(0, p.tasks[0], waits_for_ever_in(p)); });
  in.thread("stops", [&p] {
    p.census.close();
    p.cancel_all();
    p.drain();
  });
  in.finally([&p] { p.expect_all_ended(); });
}
MODEL(ShutdownModel, AStrangersTaskIsAskedToStop) {
  world.is_large(1);
  stranger_and_stopper<pool_rules>(world);
}

/// A task begins a child, which waits, and ends, while all are asked to stop.
template <class Rules>
void parent_and_stopper(world& in) {
  using pool = model_pool<2, Rules>;
  auto& p = in.make<pool>();
  model_task& parent = p.tasks[0];
  model_task& child = p.tasks[1];
  p.rows[0].begin();
  parent.is_live.store(1, std::memory_order_relaxed);
  in.thread("parent", [&p, &parent, &child] {
    p.begin_here(0, parent, child);
    p.end(0, parent);
    p.go_to_sleep();
  });
  in.thread("worker", [&p, &child] { p.run_when_there(1, child, waits_for_ever_in(p)); });
  in.thread("stops", [&p] {
    p.cancel_all();
    p.drain();
  });
  in.finally([&p] { p.expect_all_ended(); });
}
MODEL(ShutdownModel, AChildIsAskedToStopThoughItsParentEnds) {
  world.is_large(1);
  parent_and_stopper<pool_rules>(world);
}

/// A worker has taken the arm of a join. It runs it, asked to stop or not, since the caller waits for it; but its waits end.
template <class Rules>
void arm_and_stopper(world& in) {
  using pool = model_pool<1, Rules>;
  auto& p = in.make<pool>();
  p.rows[0].begin();  // the caller, which ends after its arm
  in.thread("thief", [&p] {
    p.adopt(1, p.tasks[0]);
    p.wait_for_ever(1, p.tasks[0]);
    p.end(1, p.tasks[0]);
    p.rows[1].end();
    p.go_to_sleep();
  });
  in.thread("stops", [&p] {
    p.cancel_all();
    p.drain();
  });
  in.finally([&p] { p.expect_all_ended(); });
}
MODEL(ShutdownModel, AnArmThatIsTakenMeanwhileIsAskedToStop) {
  world.is_large(2);
  arm_and_stopper<pool_rules>(world);
}

// The faults.

struct refused_in_silence : pool_rules {
  static constexpr bool who_is_refused_tells = false;
};
MODEL_FINDS(PlantedShutdownModel, WhoIsRefusedTellsNobody, "drains sleep") {
  strangers_and_drainer<1, refused_in_silence>(world);
}
struct looks_once_only : pool_rules {
  static constexpr bool drainer_looks_again = false;
};
MODEL_FINDS(PlantedShutdownModel, WhoDrainsIsToldOfARefusalAndOverlooksAnEnd, "drains sleep") {
  world.is_large(0);
  strangers_and_drainer<2, looks_once_only>(world);
}
struct strangers_without_barrier : pool_rules {
  struct count : census_rules {
    static constexpr bool stranger_has_barrier = false;
  };
};
MODEL_FINDS(PlantedShutdownModel, AStrangerIsOverlooked, "after the pool was drained") {
  strangers_and_drainer<1, strangers_without_barrier>(world);
}

/// As it was once: each task is asked by a walk over all of them. One that is begun behind the back of the walk is not.
struct asks_tasks : pool_rules {
  static constexpr bool asks_workers = false;
};
MODEL_FINDS(PlantedShutdownModel, AParentEndsBehindTheBackOfTheWalk, "livelock") {
  world.is_large(0);
  parent_and_stopper<asks_tasks>(world);
}
MODEL_FINDS(PlantedShutdownModel, AStrangersTaskIsNotAskedToStop, "livelock") {
  world.is_large(0);
  stranger_and_stopper<asks_tasks>(world);
}
MODEL_FINDS(PlantedShutdownModel, AnArmIsNotAskedToStop, "livelock") { arm_and_stopper<asks_tasks>(world); }

struct stopper_without_barrier : pool_rules {
  struct cancel : cancel_rules {
    static constexpr bool canceller_has_barrier = false;
  };
};
MODEL_FINDS(PlantedShutdownModel, AStopperWithoutItsBarrier, "livelock") {
  world.is_large(1);
  parent_and_stopper<stopper_without_barrier>(world);
}
struct waiter_without_barrier : pool_rules {
  struct cancel : cancel_rules {
    static constexpr bool waiter_has_barrier = false;
  };
};
MODEL_FINDS(PlantedShutdownModel, AWaiterWithoutItsBarrier, "livelock") {
  world.is_large(1);
  parent_and_stopper<waiter_without_barrier>(world);
}
struct counts_too_late : pool_rules {
  static constexpr bool counts_before_publishing = false;
};
MODEL_FINDS(PlantedShutdownModel, AChildIsCountedTooLate, "after the pool was drained") {
  world.is_large(0);
  parent_and_stopper<counts_too_late>(world);
}

}  // namespace
}  // namespace weft::impl
