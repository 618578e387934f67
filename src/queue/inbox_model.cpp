// SPDX-License-Identifier: Apache-2.0
//
// inbox_model — what is left in an inbox comes out once, in order, with all that was written before.
#include "queue/inbox.hpp"

#include "model/model.hpp"
#include "support/model_items.hpp"

namespace weft::impl {
namespace {

using model::platform;
using model::require;

using items = model_items<4>;

template <class Inbox>
struct inbox_state : items {
  Inbox inbox;

  void push(std::size_t i) {
    write(i);
    inbox.push(word(i));
  }
  void drain() { take(inbox.drain()); }
};
using state = inbox_state<basic_inbox<platform>>;

MODEL(InboxModel, TwoPushersAndTheOwner) {
  auto& s = world.make<state>();
  world.thread("pushes", [&s] {
    s.push(0);
    s.push(1);
  });
  world.thread("other", [&s] { s.push(2); });
  world.thread("owner", [&s] { s.drain(); });
  world.finally([&s] {
    s.drain();
    s.expect_all(3);
  });
}

MODEL(InboxModel, OwnerAndThiefDrain) {
  auto& s = world.make<state>();
  s.push(0);
  world.thread("pushes", [&s] { s.push(1); });
  world.thread("owner", [&s] { s.drain(); });
  world.thread("thief", [&s] { s.drain(); });
  world.finally([&s] {
    s.drain();
    s.expect_all(2);
  });
}

MODEL(InboxModel, OnePusherIsToldThatItWasEmpty) {
  struct told : state {
    int first = 0;
  };
  auto& s = world.make<told>();
  for (const std::size_t i : {std::size_t{0}, std::size_t{1}}) {
    world.thread(i == 0 ? "one" : "other", [&s, i] {
      s.write(i);
      if (s.inbox.push(s.word(i))) ++s.first;
    });
  }
  world.finally([&s] {
    require(s.first == 1, "one push fills an empty inbox, and knows it");
    s.drain();
    s.expect_all(2);
  });
}

MODEL(InboxModel, BatchesStayTogetherAndInOrder) {
  auto& s = world.make<state>();
  world.thread("pushes", [&s] {
    basic_run_batch<platform> batch;
    for (const std::size_t i : {std::size_t{0}, std::size_t{1}}) {
      s.write(i);
      batch.push_back(s.word(i));
    }
    s.inbox.push(std::move(batch));
  });
  world.thread("other", [&s] { s.push(2); });
  world.thread("owner", [&s] { s.drain(); });
  world.finally([&s] {
    s.drain();
    s.expect_all(3);
    require(s.came_before(0, 1), "a batch was turned over");
  });
}

/// What was drained is pushed again while another push is under way: the word is the same, what is behind it is not.
MODEL(InboxModel, ItemsMayComeBackAtOnce) {
  auto& s = world.make<state>();
  s.push(0);
  world.thread("pushes", [&s] { s.push(1); });
  world.thread("recycles", [&s] {
    auto batch = s.inbox.drain();
    while (const runnable back = batch.pop_front()) s.inbox.push(back);
  });
  world.finally([&s] {
    s.drain();
    s.expect_all(2);
  });
}

/// A push that a sleeper's last look misses is by a pusher who sees the sleeper.
MODEL(InboxModel, ALookAfterTheBarrierMissesNothing) {
  struct sleepy : state {
    platform::atomic<int> asleep{0};
    bool seen = false;
    bool missed = false;
  };
  auto& s = world.make<sleepy>();
  world.thread("pushes", [&s] {
    s.push(0);
    platform::light_barrier(barrier_kind::asymmetric);
    s.seen = s.asleep.load(std::memory_order_relaxed) != 0;
  });
  world.thread("sleeper", [&s] {
    s.asleep.store(1, std::memory_order_relaxed);
    platform::heavy_barrier(barrier_kind::asymmetric);
    s.missed = s.inbox.empty_after_barrier();
  });
  world.finally([&s] {
    require(s.seen || !s.missed, "the push was missed, and the sleeper too");
    s.drain();
  });
}

// The faults.

struct relaxed_publish : run_stack_orders {
  static constexpr std::memory_order publish = std::memory_order_relaxed;
};
MODEL_FINDS(PlantedInboxModel, RelaxedPublish, "data race") {
  using faulty = basic_inbox<platform, basic_run_stack<platform, relaxed_publish>>;
  auto& s = world.make<inbox_state<faulty>>();
  world.thread("pushes", [&s] { s.push(0); });
  world.thread("owner", [&s] { s.drain(); });
}

/// The textbook stack that pops one at a time, and so follows a link that may have changed since it was read.
struct popping_stack {
  platform::atomic<std::uintptr_t> top{0};

  void push(runnable r) {
    std::uintptr_t before = top.load(std::memory_order_relaxed);
    do {
      run_link<platform>::of(r).next.write(runnable::from_word(before));
    } while (
        !top.compare_exchange_strong(before, r.word(), std::memory_order_acq_rel, std::memory_order_relaxed));
  }
  runnable pop() {
    std::uintptr_t before = top.load(std::memory_order_acquire);
    while (before != 0) {
      const runnable below = run_link<platform>::of(runnable::from_word(before)).next.read();
      if (top.compare_exchange_strong(before, below.word(), std::memory_order_acq_rel,
                                      std::memory_order_acquire)) {
        return runnable::from_word(before);
      }
    }
    return {};
  }
};
MODEL_FINDS(PlantedInboxModel, PoppingOneAtATimeIsABA, "twice") {
  struct stack_state : items {
    popping_stack stack;
    platform::plain<int> in_use[4];  // by one at a time

    runnable get() {
      const runnable got = stack.pop();
      if (got) require(++held[index(got)] == 1, "an item is held twice");
      return got;
    }
    void put(runnable r) {
      --held[index(r)];
      stack.push(r);
    }
    int held[4]{};
  };
  auto& s = world.make<stack_state>();
  for (const std::size_t i : {std::size_t{2}, std::size_t{1}, std::size_t{0}}) s.stack.push(s.word(i));
  world.thread("one", [&s] {
    (void)s.get();
    (void)s.get();
  });
  world.thread("other", [&s] {
    const runnable first = s.get();
    (void)s.get();
    if (first) s.put(first);
  });
}

}  // namespace
}  // namespace weft::impl
