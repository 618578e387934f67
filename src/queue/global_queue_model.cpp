// SPDX-License-Identifier: Apache-2.0
//
// global_queue_model — many push, many take: everything comes out once, each pusher's in order, and nothing is
// called empty that is not.
#include "queue/global_queue.hpp"

#include "model/model.hpp"
#include "support/model_items.hpp"

#include <utility>

namespace weft::impl {
namespace {

using model::platform;
using model::require;
using model::world;

template <class Queue = basic_global_queue<platform>>
struct queue_state : model_items<4> {
  Queue queue;

  void push(std::size_t i) {
    this->write(i);
    queue.push(this->word(i));
  }
  void take_some(std::size_t n) { this->take(queue.try_take(n).items); }
  /// When all pushers are done, everything can be taken.
  void drain(std::size_t expected) {
    for (;;) {
      auto got = queue.try_take(4);
      if (got.outcome == take_outcome::empty) break;
      require(got.outcome == take_outcome::taken, "busy, though nobody is there");
      this->take(std::move(got.items));
    }
    this->expect_all(expected);
  }
};
using state = queue_state<>;

MODEL(GlobalQueueModel, TwoPushersAndATaker) {
  auto& s = world.make<state>();
  world.thread("pushes", [&s] {
    s.push(0);
    s.push(1);
  });
  world.thread("other", [&s] { s.push(2); });
  world.thread("taker", [&s] { s.take_some(2); });
  world.finally([&s] {
    s.drain(3);
    require(s.came_before(0, 1), "one pusher's items changed places");
  });
}

MODEL(GlobalQueueModel, TheLastItemAndThePushBehindIt) {
  auto& s = world.make<state>();
  s.push(0);
  world.thread("pushes", [&s] { s.push(1); });
  world.thread("taker", [&s] {
    s.take_some(4);
    s.take_some(4);
  });
  world.finally([&s] {
    s.drain(2);
    require(s.came_before(0, 1), "the queue is not first in, first out");
  });
}

MODEL(GlobalQueueModel, TwoTakersAndAPusher) {
  auto& s = world.make<state>();
  s.push(0);
  s.push(1);
  world.thread("pushes", [&s] { s.push(2); });
  world.thread("taker", [&s] { s.take_some(1); });
  world.thread("other", [&s] { s.take_some(2); });
  world.finally([&s] { s.drain(3); });
}

/// Taken empty by one, filled again by another who has met neither the taker nor the first pusher.
template <class State>
void empty_and_fill_again(world& in) {
  auto& s = in.make<State>();
  in.thread("pushes", [&s] { s.push(0); });
  in.thread("taker", [&s] { s.take_some(1); });
  in.thread("other", [&s] { s.push(1); });
  in.finally([&s] { s.drain(2); });
}
MODEL(GlobalQueueModel, ItGetsEmptyAndFillsAgain) { empty_and_fill_again<state>(world); }

MODEL(GlobalQueueModel, BatchesStayTogether) {
  auto& s = world.make<state>();
  world.thread("pushes", [&s] {
    basic_run_batch<platform> batch;
    for (const std::size_t i : {std::size_t{0}, std::size_t{1}}) {
      s.write(i);
      batch.push_back(s.word(i));
    }
    s.queue.push(std::move(batch));
  });
  world.thread("other", [&s] { s.push(2); });
  world.thread("taker", [&s] { s.take_some(2); });
  world.finally([&s] {
    s.drain(3);
    require(s.came_before(0, 1) && !(s.came_before(0, 2) && s.came_before(2, 1)), "a batch was torn");
  });
}

MODEL(GlobalQueueModel, WhatIsTakenMayBePushedAgain) {
  auto& s = world.make<state>();
  s.push(0);
  world.thread("pushes", [&s] { s.push(1); });
  world.thread("recycles", [&s] {
    auto got = s.queue.try_take(2);
    while (const runnable back = got.items.pop_front()) s.queue.push(back);
  });
  world.finally([&s] { s.drain(2); });
}

MODEL(GlobalQueueModel, ALookAfterTheBarrierMissesNothing) {
  struct sleepy : state {
    platform::atomic<int> asleep{0};
    bool seen = false;
    bool missed = false;
  };
  auto& s = world.make<sleepy>();
  s.push(0);
  world.thread("pushes", [&s] {
    s.push(1);
    platform::light_barrier(barrier_kind::asymmetric);
    s.seen = s.asleep.load(std::memory_order_relaxed) != 0;
  });
  world.thread("sleeper", [&s] {
    s.take_some(1);
    s.asleep.store(1, std::memory_order_relaxed);
    platform::heavy_barrier(barrier_kind::asymmetric);
    s.missed = s.queue.empty();
  });
  world.finally([&s] {
    require(s.seen || !s.missed, "the push was missed, and the sleeper too");
    s.drain(2);
  });
}

// The faults.

struct relaxed_publish : global_queue_orders {
  static constexpr std::memory_order publish = std::memory_order_relaxed;
};
MODEL_FINDS(PlantedGlobalQueueModel, RelaxedPublish, "data race") {
  auto& s = world.make<queue_state<basic_global_queue<platform, relaxed_publish>>>();
  world.thread("pushes", [&s] { s.push(0); });
  world.thread("taker", [&s] { s.take_some(1); });
}

struct relaxed_finish : global_queue_orders {
  static constexpr std::memory_order finish = std::memory_order_relaxed;
};
MODEL_FINDS(PlantedGlobalQueueModel, TakerThatLeavesWithoutAWord, "busy, though nobody is there") {
  empty_and_fill_again<queue_state<basic_global_queue<platform, relaxed_finish>>>(world);
}

}  // namespace
}  // namespace weft::impl
