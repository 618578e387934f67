// SPDX-License-Identifier: Apache-2.0
//
// idle_call_model — a worker that is called comes, and no wake-up for others is lost by it.
#include "support/idle_office.hpp"

namespace weft::impl {
namespace {

using model::platform;
using model::world;
using testing::office;
using testing::worker_names;

/// An office in which the first item is for the first worker alone, which is called for it.
template <std::size_t Items, std::size_t Workers, class Rules>
struct office_with_calls : office<Items, Workers, Rules> {
  platform::atomic<int> own{0};  // 0: to come, 1: there, 2: done
  bool own_done = false;
  std::size_t shared_done = 0;

  void push_own() {
    own.store(1, std::memory_order_relaxed);  // relaxed: the call shows it
    this->idle.call(0);
  }

  /// The item that others must not take is not among those they look at.
  [[nodiscard]] bool take(std::size_t worker) {
    if (worker == 0 && !own_done && own.load(std::memory_order_relaxed) == 1) {
      own_done = true;
      end_if_all();
      return true;
    }
    for (std::size_t i = 0; i < Items; ++i) {
      int there = 1;
      if (this->items[i].load(std::memory_order_relaxed) != 1) continue;
      if (!this->items[i].compare_exchange_strong(there, 2, std::memory_order_acquire,
                                                  std::memory_order_relaxed))
        continue;
      ++shared_done;
      end_if_all();
      return true;
    }
    return false;
  }
  void end_if_all() {
    if (own_done && shared_done == Items) this->idle.shut_down();
  }
  [[nodiscard]] bool sees_work(std::size_t worker) {
    return this->has_work() || (worker == 0 && !own_done && own.load(std::memory_order_relaxed) == 1);
  }

  void work_with_calls(std::size_t worker) {
    for (;;) {
      if (take(worker)) continue;
      bool searches = this->idle.try_search(worker);
      for (;;) {
        if (searches && sees_work(worker)) break;
        if (this->idle.sleep(worker, testing::never, *this) == idle_end::closed) return;
        searches = true;
      }
      this->idle.found_work(worker);
    }
  }
};

template <class Office>
void staff_with_calls(world& in, Office& at, std::size_t workers) {
  for (std::size_t w = 0; w < workers; ++w) in.thread(worker_names[w], [&at, w] { at.work_with_calls(w); });
}

template <class Rules>
void a_call_and_a_push(world& in) {
  in.is_large(2);
  auto& s = in.make<office_with_calls<1, 1, Rules>>();
  staff_with_calls(in, s, 1);
  in.thread("caller", [&s] { s.push_own(); });
  in.thread("pusher", [&s] { s.push(0); });
}
template <class Rules>
void a_call_then_a_push(world& in) {
  in.is_large(3);
  auto& s = in.make<office_with_calls<1, 1, Rules>>();
  staff_with_calls(in, s, 1);
  in.thread("caller", [&s] {
    s.push_own();
    s.push(0);
  });
}
template <class Rules>
void a_call_to_one_of_two(world& in) {
  in.is_large(0);
  auto& s = in.make<office_with_calls<1, 2, Rules>>();
  staff_with_calls(in, s, 2);
  in.thread("caller", [&s] {
    s.push(0);
    s.push_own();
  });
}

MODEL(IdleCallModel, ACallWakes) {
  auto& s = world.make<office_with_calls<0, 1, idle_rules>>();
  staff_with_calls(world, s, 1);
  world.thread("caller", [&s] { s.push_own(); });
}
MODEL(IdleCallModel, ACallAndAPush) { a_call_and_a_push<idle_rules>(world); }
MODEL(IdleCallModel, ACallThenAPush) { a_call_then_a_push<idle_rules>(world); }
MODEL(IdleCallModel, ACallToOneOfTwo) { a_call_to_one_of_two<idle_rules>(world); }

struct called_as_if_woken : idle_rules {
  static constexpr bool callers_win_no_bit = false;
};
MODEL_FINDS(PlantedIdleCallModel, WhoWasCalledIsStillCountedAsleep, "a check in the code under test failed") {
  a_call_and_a_push<called_as_if_woken>(world);
}

}  // namespace
}  // namespace weft::impl
