// SPDX-License-Identifier: Apache-2.0
//
// idle_office — what models of the idle protocol have in common: workers that run until all items are done; the one that
// does the last shuts everything down. If a wake-up were lost, nobody would be left to run, which the checker reports.
#pragma once

#include "event/futex_loop.hpp"
#include "model/model.hpp"
#include "sched/idle.hpp"

#include <array>
#include <cstddef>
#include <utility>

namespace weft::testing {

using impl::barrier_kind;
using impl::basic_event_seat;
using impl::basic_futex_loop;
using impl::basic_idle;
using impl::idle_end;
using impl::idle_rules;
using impl::never;
using impl::ready_batch;
using impl::runnable;
using impl::time_point;
using model::platform;
using model::world;

template <std::size_t Items, std::size_t Workers, class Rules = idle_rules,
          barrier_kind Kind = barrier_kind::asymmetric, class Loop = basic_futex_loop<platform>>
struct office {
  Loop loop;
  basic_event_seat<platform> seat{loop};
  basic_idle<platform, Workers, Rules> idle{Workers, 1, seat, Kind};
  std::array<platform::atomic<int>, Items>
      items{};  // 0: to come, 1: there, 2: taken; pushed as into a deque, by a store
  std::array<platform::atomic<int>, Items> done{};
  std::size_t finished = 0;
  std::size_t delivered = 0;

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
  /// What the event loop gives are the last items.
  void deliver(ready_batch& ready) noexcept {
    for ([[maybe_unused]] const runnable each : ready)
      items[Items - ++delivered].store(1, std::memory_order_release);
  }

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

inline constexpr std::array<const char*, 3> worker_names{"first", "second", "third"};

template <class Office>
void staff(world& in, Office& at, std::size_t workers) {
  for (std::size_t w = 0; w < workers; ++w) {
    in.thread(worker_names[w], [&at, w] { at.work(w); });
  }
}

}  // namespace weft::testing
