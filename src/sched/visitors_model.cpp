// SPDX-License-Identifier: Apache-2.0
//
// visitors_model — a pool ends while somebody from outside is with it, and a task of another pool waits for that end and ends, too:
// nobody touches what is gone, and nobody waits on.
#include "sched/visitors.hpp"

#include "model/model.hpp"
#include "sched/census.hpp"
#include "support/sleeping_fiber.hpp"

#include <array>
#include <optional>

namespace weft::impl {
namespace {

using model::platform;
using model::require;
using model::world;
using testing::sleeping_fiber;

constexpr auto kind = barrier_kind::asymmetric;

/// Which steps a pool takes besides.
struct steps : visitor_rules {
  static constexpr bool counts_before_the_push = true;
  static constexpr bool awaits_visitors = true;
};

/// As much of a pool as is needed for its end: one worker, and a queue for one task.
template <class Rules>
struct ending_pool {
  using visitors_type = basic_visitors<platform, sleeping_fiber, Rules>;
  using visit = typename visitors_type::visit;

  basic_census<platform> census{kind};
  std::array<basic_census_row<platform>, 1> rows;
  visitors_type visitors{kind};
  platform::atomic<std::uint32_t> queue{0};
  platform::atomic<std::uint32_t> told{0};

  void await_visitors() const {
    while (Rules::awaits_visitors && visitors.any()) platform::pause();
  }
};

// -- Somebody wakes the last task of a pool ------------------------------------------------------------------------------------

/// pool::make_runnable() from outside, the worker that runs the task, and ~pool().
template <class Rules>
void last_task_is_woken(world& in) {
  using pool = ending_pool<Rules>;
  auto& p = in.make<std::optional<pool>>(std::in_place);
  p->rows[0].begin();  // the task, which waits
  const auto push_and_tell = [&p] {
    p->queue.store(1, std::memory_order_release);
    p->told.store(1, std::memory_order_relaxed);
  };
  in.thread("waker", [&p, push_and_tell] {
    if constexpr (Rules::counts_before_the_push) {
      const typename pool::visit with(p->visitors);
      push_and_tell();
    } else {
      push_and_tell();
      const typename pool::visit with(p->visitors);
    }
  });
  in.thread("worker", [&p] {
    while (p->queue.load(std::memory_order_acquire) == 0) platform::pause();
    p->rows[0].end();
  });
  in.thread("ends it", [&p] {
    p->census.close();
    while (!p->census.is_quiet(p->rows)) platform::pause();
    p->await_visitors();
    p.reset();
  });
}
MODEL(VisitorsModel, WhoWakesTheLastTaskIsDoneWithThePoolBeforeItEnds) { last_task_is_woken<steps>(world); }

// -- A task waits for the end of all -------------------------------------------------------------------------------------------

/// A task of one pool drains another, for ever or until a time. The timer always comes; what it does is over before the task goes on,
/// as the lock of its wheel sees to.
template <class Rules>
struct two_pools {
  ending_pool<Rules> ends;
  std::optional<sleeping_fiber> waiting;  // made when it begins to wait: who finds it must see that
  enum : std::uint32_t { unset, set, over };
  platform::atomic<std::uint32_t> timer{unset};

  /// The last worker on its way to bed: pool::tell_who_drains().
  void end_last_task() {
    ends.rows[0].end();
    if (!ends.census.is_last_one_out(ends.rows)) return;
    const typename ending_pool<Rules>::visit with(ends.visitors);
    if (sleeping_fiber* const found = with.who_drains()) found->wake_joiner();
  }
  /// pool::drain(), and the end of the task. Returns whether all have ended.
  bool drain(bool has_deadline) {
    ends.census.close();
    bool is_drained = ends.census.is_quiet(ends.rows);
    while (!is_drained && await(has_deadline) != wake_cause::timed_out) {
      ends.census.close();
      is_drained = ends.census.is_quiet(ends.rows);
    }
    std::uint32_t expected = unset;
    timer.compare_exchange_strong(expected, over, std::memory_order_relaxed, std::memory_order_relaxed);
    waiting.reset();
    return is_drained;
  }
  /// pool::await_drained_in_task().
  wake_cause await(bool has_deadline) {
    waiting.emplace().begin_join();
    ends.visitors.expect(*waiting);
    ends.census.close();
    wake_cause cause = wake_cause::none;
    if (ends.census.is_quiet(ends.rows)) {
      if (waiting->claim.try_disarm() == disarm_outcome::claimed) cause = waiting->claim.finish();
    } else {
      if (has_deadline) timer.store(set, std::memory_order_release);
      cause = waiting->sleep();
      while (has_deadline && timer.load(std::memory_order_acquire) != over) platform::pause();
    }
    ends.visitors.withdraw();
    ends.await_visitors();
    return cause;
  }
  void time_out() {
    std::uint32_t now = unset;
    while (now == unset) {
      now = timer.load(std::memory_order_acquire);
      if (now == unset) platform::pause();
    }
    if (now == over) return;
    if (waiting->claim.try_claim_standing(wake_cause::timed_out) == claim_outcome::won)
      waiting->make_runnable();
    timer.store(over, std::memory_order_release);
  }
};

template <class Rules>
void a_task_drains(world& in) {
  auto& p = in.make<two_pools<Rules>>();
  p.ends.rows[0].begin();
  in.thread("last one out", [&p] { p.end_last_task(); });
  in.thread("drains", [&p] { require(p.drain(false), "drained while somebody was alive"); });
}
MODEL(VisitorsModel, ATaskThatDrainsIsToldAndThenLeftAlone) { a_task_drains<steps>(world); }

template <class Rules>
void a_task_drains_until_a_time(world& in) {
  auto& p = in.make<two_pools<Rules>>();
  p.ends.rows[0].begin();
  in.thread("last one out", [&p] { p.end_last_task(); });
  in.thread("timer", [&p] { p.time_out(); });
  in.thread("drains", [&p] { (void)p.drain(true); });
}
MODEL(VisitorsModel, ATaskThatGivesUpIsLeftAlone) {
  world.is_large(1);
  a_task_drains_until_a_time<steps>(world);
}

// The faults.

struct counts_too_late : steps {
  static constexpr bool counts_before_the_push = false;
};
MODEL_FINDS(PlantedVisitorsModel, AVisitorIsCountedTooLate, "destroy") {
  last_task_is_woken<counts_too_late>(world);
}

struct pool_ends_at_once : steps {
  static constexpr bool awaits_visitors = false;
};
MODEL_FINDS(PlantedVisitorsModel, APoolEndsAtOnce, "destroy") {
  last_task_is_woken<pool_ends_at_once>(world);
}
MODEL_FINDS(PlantedVisitorsModel, ATaskEndsAtOnce, "destroy") {
  world.is_large(1);
  a_task_drains_until_a_time<pool_ends_at_once>(world);
}
struct visitor_without_barrier : steps {
  static constexpr bool visitor_has_barrier = false;
};
MODEL_FINDS(PlantedVisitorsModel, AVisitorWithoutItsBarrier, "destroy") {
  world.is_large(1);
  a_task_drains_until_a_time<visitor_without_barrier>(world);
}
struct drainer_without_barrier : steps {
  static constexpr bool drainer_has_barrier = false;
};
MODEL_FINDS(PlantedVisitorsModel, ADrainerWithoutItsBarrier, "destroy") {
  world.is_large(1);
  a_task_drains_until_a_time<drainer_without_barrier>(world);
}

}  // namespace
}  // namespace weft::impl
