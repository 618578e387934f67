// SPDX-License-Identifier: Apache-2.0
//
// timer_loop — the event loop whose only events are timers: it sleeps until the next is due, or until it is interrupted.
//
// Thread safety: as event_loop says; set() and drop() by anyone.
#pragma once

#include "event/alarm.hpp"
#include "event/event_loop.hpp"
#include "event/futex_loop.hpp"
#include "event/timers.hpp"

#include <algorithm>

namespace weft::impl {

class timer_loop final : public event_loop {
 public:
  timer_loop(std::size_t shards, timers::fire_function fire) : timers_(shards, clock_.now(), fire) {}

  /// Which shard a worker uses.
  [[nodiscard]] std::size_t shard_of(std::size_t worker) const noexcept { return worker % timers_.shards(); }

  /// Makes a timer pending, in one of the shards.
  void set(std::size_t into, timer_node& timer, time_point deadline) noexcept {
    timers_.insert(into, timer, deadline);
    if (alarm_.must_interrupt(deadline)) interrupt();
  }
  /// Takes a timer out if it has not fired. When this returns, nobody touches it any more.
  void drop(std::size_t from, timer_node& timer) noexcept { timers_.remove(from, timer); }

  /// For a worker that is busy, between two pieces of work: what is due in one shard, or in all. Costs a load where nothing is
  /// pending, and a look at the clock where something is.
  void poll_of(std::size_t one, ready_batch& ready) noexcept {
    if (timers_.earliest_of(one) != never) timers_.expire_of(one, clock_.now(), ready);
  }
  void poll(ready_batch& ready) noexcept override {
    if (timers_.earliest() != never) timers_.expire(clock_.now(), ready);
  }

  [[nodiscard]] loop_end wait(time_point deadline, ready_batch& ready) noexcept override {
    const time_point until = alarm_.sit([&] { return std::min(deadline, timers_.earliest()); });
    const bool interrupted = bed_.wait(until, ready) == loop_end::interrupted;
    alarm_.rise();
    poll(ready);
    if (!ready.empty()) return loop_end::ready;
    // A timer that was cancelled ends the wait for nothing.
    return interrupted || until != deadline ? loop_end::interrupted : loop_end::deadline;
  }

  void interrupt() noexcept override { bed_.interrupt(); }

  /// Whether a timer is due for which nobody has come yet.
  [[nodiscard]] bool is_due(time_point now) const noexcept { return timers_.earliest() <= now; }
  /// Whether no timer is pending.
  [[nodiscard]] bool empty_approx() const noexcept { return timers_.earliest() == never; }

 private:
  system_clock clock_;
  futex_loop bed_;
  basic_alarm<default_platform> alarm_;
  timers timers_;
};

}  // namespace weft::impl
