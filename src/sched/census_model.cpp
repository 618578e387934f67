// SPDX-License-Identifier: Apache-2.0
//
// census_model — nobody is overlooked: when all are said to be dead, they are.
#include "sched/census.hpp"

#include "model/model.hpp"

#include <array>

namespace weft::impl {
namespace {

using model::platform;
using model::require;
using model::world;

template <class Rules>
struct state {
  using row = basic_census_row<platform, Rules>;
  basic_census<platform, Rules> census{barrier_kind::asymmetric};
  std::array<row, 2> rows;
  platform::atomic<int> child_queued{0};
  int alive = 0;       // as it is, whoever knows
  bool quiet = false;  // somebody has said so, with the census closed

  void begin(std::size_t in_row) {
    require(!quiet, "a task began after all were said to be dead");
    ++alive;
    rows[in_row].begin();
  }
  void end(std::size_t in_row) {
    --alive;
    rows[in_row].end();
  }
  void look() {
    if (!census.is_quiet(rows)) return;
    require(alive == 0, "said to be dead, and alive");
    quiet = true;
  }
};

/// A task begins on one worker and its child runs on another.
template <class Rules>
void parent_and_child(world& in) {
  auto& s = in.make<state<Rules>>();
  s.begin(0);
  s.census.close();
  in.thread("first", [&s] {
    s.begin(0);
    s.child_queued.store(1, std::memory_order_release);
    s.end(0);
  });
  in.thread("second", [&s] {
    if (s.child_queued.load(std::memory_order_acquire) != 0) {
      s.child_queued.store(2, std::memory_order_relaxed);
      s.end(1);
    }
  });
  in.thread("asks", [&s] { s.look(); });
  in.finally([&s] {
    if (s.child_queued.load(std::memory_order_relaxed) == 1) s.end(0);
    s.look();
    require(s.quiet, "all are dead, and it is not said");
  });
}
MODEL(CensusModel, AChildIsCountedBeforeItsParentIsGone) { parent_and_child<census_rules>(world); }

/// A stranger comes while the census is being closed.
template <class Rules>
void stranger_and_closer(world& in) {
  auto& s = in.make<state<Rules>>();
  in.thread("stranger", [&s] {
    ++s.alive;  // it may be, from now on
    if (!s.census.try_begin()) {
      --s.alive;
      return;
    }
    require(!s.quiet, "a task began after all were said to be dead");
    s.end(1);  // it runs to its end at once
  });
  in.thread("closes", [&s] {
    s.census.close();
    if (s.census.is_quiet(s.rows)) s.quiet = true;
  });
  in.finally([&s] {
    s.look();
    require(s.quiet, "all are dead, and it is not said");
  });
}
MODEL(CensusModel, AStrangerIsTurnedAwayOrCounted) { stranger_and_closer<census_rules>(world); }

/// The end that a stranger counts who is turned away must not stand for that of a task which is alive.
MODEL(CensusModel, ARefusalIsNotMistakenForAnEnd) {
  auto& s = world.make<state<census_rules>>();
  s.begin(0);
  s.census.close();
  world.thread("stranger", [&s] { require(!s.census.try_begin(), "let in after the door was closed"); });
  world.thread("asks", [&s] { s.look(); });
  world.finally([&s] {
    s.end(0);
    s.look();
    require(s.quiet, "all are dead, and it is not said");
  });
}

/// Two workers end a task each and go to sleep; one of them, or whoever has closed the census, finds that it is over.
template <class Rules>
void last_one_out(world& in) {
  struct told : state<Rules> {
    platform::atomic<int> is_told{0};
  };
  auto& s = in.make<told>();
  s.begin(0);
  s.begin(1);
  for (const std::size_t row : {0U, 1U}) {
    in.thread(row == 0 ? "first" : "second", [&s, row] {
      s.rows[row].end();
      if (s.census.is_last_one_out(s.rows)) s.is_told.store(1, std::memory_order_relaxed);
    });
  }
  in.thread("closes", [&s] {
    s.census.close();
    if (s.census.is_quiet(s.rows)) s.is_told.store(1, std::memory_order_relaxed);
  });
  in.finally(
      [&s] { require(s.is_told.load(std::memory_order_relaxed) == 1, "all are dead, and nobody is told"); });
}
MODEL(CensusModel, TheLastOneOutTells) { last_one_out<census_rules>(world); }

struct sleeper_without_barrier : census_rules {
  static constexpr bool sleeper_has_barrier = false;
};
MODEL_FINDS(PlantedCensusModel, ASleeperWithoutItsBarrier, "nobody is told") {
  last_one_out<sleeper_without_barrier>(world);
}
struct last_without_barrier : census_rules {
  static constexpr bool last_has_barrier = false;
};
MODEL_FINDS(PlantedCensusModel, TheLastOneWithoutItsBarrier, "nobody is told") {
  last_one_out<last_without_barrier>(world);
}

struct adds_up_beginnings_first : census_rules {
  static constexpr bool ends_first = false;
};
MODEL_FINDS(PlantedCensusModel, BeginningsAreAddedUpFirst, "said to be dead") {
  parent_and_child<adds_up_beginnings_first>(world);
}
struct closes_without_barrier : census_rules {
  static constexpr bool closer_has_barrier = false;
};
MODEL_FINDS(PlantedCensusModel, ClosedWithoutABarrier, "said to be dead") {
  stranger_and_closer<closes_without_barrier>(world);
}
struct stranger_without_barrier : census_rules {
  static constexpr bool stranger_has_barrier = false;
};
MODEL_FINDS(PlantedCensusModel, AStrangerWithoutItsBarrier, "said to be dead") {
  stranger_and_closer<stranger_without_barrier>(world);
}
struct forgets_who_began : census_rules {
  static constexpr std::memory_order write_end = std::memory_order_relaxed;
};
MODEL_FINDS(PlantedCensusModel, AnEndDoesNotShowWhatCameBefore, "said to be dead") {
  parent_and_child<forgets_who_began>(world);
}

}  // namespace
}  // namespace weft::impl
