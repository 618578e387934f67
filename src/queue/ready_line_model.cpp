// SPDX-License-Identifier: Apache-2.0
//
// ready_line_model — an owner that comes and goes, and others who ask or seize: each item goes to one of them.
#include "queue/ready_line.hpp"

#include "model/model.hpp"
#include "queue/inbox.hpp"
#include "support/model_items.hpp"

namespace weft::impl {
namespace {

using model::platform;
using model::require;

constexpr thief_id alice{1};
constexpr thief_id bob{2};

template <class Rules = ready_line_rules>
struct line_state : model_items<3> {
  explicit line_state(barrier_kind barriers = barrier_kind::asymmetric) : line(barriers) {}

  basic_ready_line<platform, Rules> line;
  basic_inbox<platform> sent;

  void push(std::size_t i) {
    write(i);
    line.push(word(i));
  }
  void pop() {
    if (const runnable r = line.pop()) take(r);
  }
  void pop_all() {
    while (const runnable r = line.pop()) take(r);
  }
  void answer(std::uint32_t keep) {
    auto [items, to] = line.answer(keep);
    require(items.empty() == (to == thief_id{}), "something is sent to somebody, nothing to nobody");
    sent.push(std::move(items));
  }
  void take_sent() { take(sent.drain()); }
};

template <class Rules>
void owner_and_visitor(model::world& world, barrier_kind barriers = barrier_kind::asymmetric) {
  auto& s = world.make<line_state<Rules>>(barriers);
  s.push(0);
  s.push(1);
  world.thread("owner", [&s] {
    s.pop();
    s.push(2);
    s.pop();
  });
  world.thread("visitor", [&s] {
    require(s.line.ask(alice), "the door was free");
    s.take(s.line.seize(alice));
  });
  world.finally([&s] {
    s.pop_all();
    s.expect_all(3);
  });
}
MODEL(ReadyLineModel, OwnerAndVisitor) { owner_and_visitor<ready_line_rules>(world); }

/// Who changes places with another is put into the line before it is off its stack: what it leaves there is written last.
template <class Rules>
void change_of_places(model::world& world, barrier_kind barriers = barrier_kind::asymmetric) {
  auto& s = world.make<line_state<Rules>>(barriers);
  s.push(0);
  world.thread("owner", [&s] {
    const runnable next = s.line.exchange(s.word(1));
    s.write(1);
    if (next) {
      s.take(next);
      s.line.leave();
    } else {
      s.line.push(s.word(1));
    }
  });
  world.thread("visitor", [&s] {
    require(s.line.ask(alice), "the door was free");
    s.take(s.line.seize(alice));
  });
  world.finally([&s] {
    s.pop_all();
    s.expect_all(2);
  });
}
MODEL(ReadyLineModel, NobodyGetsWhoIsStillOnItsStack) { change_of_places<ready_line_rules>(world); }
MODEL(FallBackReadyLineModel, NobodyGetsWhoIsStillOnItsStack) {
  change_of_places<ready_line_rules>(world, barrier_kind::symmetric);
}

void two_visitors(model::world& world, barrier_kind barriers) {
  auto& s = world.make<line_state<>>(barriers);
  for (const std::size_t i : {0U, 1U, 2U}) s.push(i);
  for (const thief_id who : {alice, bob}) {
    world.thread(who == alice ? "alice" : "bob", [&s, who] {
      if (s.line.ask(who)) s.take(s.line.seize(who));
    });
  }
  world.thread("owner", [&s] { s.pop(); });
  world.finally([&s] {
    s.pop_all();
    s.expect_all(3);
  });
}
MODEL(ReadyLineModel, TwoVisitors) { two_visitors(world, barrier_kind::asymmetric); }
MODEL(FallBackReadyLineModel, TwoVisitors) { two_visitors(world, barrier_kind::symmetric); }

MODEL(ReadyLineModel, AnAnswerAndASeizureExcludeEachOther) {
  auto& s = world.make<line_state<>>();
  s.push(0);
  s.push(1);
  world.thread("owner", [&s] {
    s.answer(0);
    s.pop();
  });
  world.thread("visitor", [&s] {
    require(s.line.ask(alice), "the door was free");
    s.take(s.line.seize(alice));
    s.take_sent();
  });
  world.finally([&s] {
    s.pop_all();
    s.take_sent();
    s.expect_all(2);
  });
}

MODEL(ReadyLineModel, WhoCannotWithdrawHasBeenSentSomething) {
  auto& s = world.make<line_state<>>();
  s.push(0);
  world.thread("owner", [&s] { s.answer(0); });
  world.thread("visitor", [&s] {
    require(s.line.ask(alice), "the door was free");
    if (s.line.withdraw(alice)) {
      require(s.sent.empty_approx(), "sent to somebody who has left");
    }
  });
  world.finally([&s] {
    s.take_sent();
    s.pop_all();
    s.expect_all(1);
  });
}

/// The look of a worker that goes to sleep, after its heavy barrier.
MODEL(ReadyLineModel, ALookAfterTheBarrierMissesNothing) {
  struct sleepy : line_state<> {
    platform::atomic<int> asleep{0};
    bool told = false;
    bool found = false;
  };
  auto& s = world.make<sleepy>();
  world.thread("owner", [&s] {
    s.push(0);
    platform::light_barrier(barrier_kind::asymmetric);
    s.told = s.asleep.load(std::memory_order_relaxed) != 0;
  });
  world.thread("sleeper", [&s] {
    s.asleep.store(1, std::memory_order_relaxed);
    platform::heavy_barrier(barrier_kind::asymmetric);
    s.found = s.line.size_approx() != 0;
  });
  world.finally([&s] {
    require(s.told || s.found, "the push was overlooked");
    s.pop_all();
    s.expect_all(1);
  });
}

MODEL(FallBackReadyLineModel, OwnerAndVisitor) {
  owner_and_visitor<ready_line_rules>(world, barrier_kind::symmetric);
}

struct owner_without_barrier : ready_line_rules {
  static constexpr bool owner_has_barrier = false;
};
MODEL_FINDS(PlantedReadyLineModel, OwnerWithoutItsBarrier, "") {
  owner_and_visitor<owner_without_barrier>(world);
}
struct visitor_without_barrier : ready_line_rules {
  static constexpr bool visitor_has_barrier = false;
};
MODEL_FINDS(PlantedReadyLineModel, VisitorWithoutItsBarrier, "") {
  owner_and_visitor<visitor_without_barrier>(world);
}
struct leaves_without_a_trace : ready_line_rules {
  static constexpr std::memory_order leave = std::memory_order_relaxed;
};
MODEL_FINDS(PlantedReadyLineModel, OwnerLeavesWithoutATrace, "") {
  owner_and_visitor<leaves_without_a_trace>(world);
}
MODEL_FINDS(PlantedReadyLineModel, OwnerChangesPlacesWithoutItsBarrier, "") {
  change_of_places<owner_without_barrier>(world);
}
MODEL_FINDS(PlantedReadyLineModel, OwnerChangesPlacesWithoutATrace, "") {
  change_of_places<leaves_without_a_trace>(world);
}

}  // namespace
}  // namespace weft::impl
