// SPDX-License-Identifier: Apache-2.0
//
// alarm — until when somebody sleeps on behalf of all timers, and whether a new one must wake it.
//
// One thread sits in the event loop and sleeps until the earliest deadline. Who puts in an earlier one must interrupt it,
// and nobody else need. It is a race of two: the sitter looks at all deadlines and then sleeps; the other puts its deadline in
// and then looks whether somebody sleeps for longer. Both pay a full fence: beside the lock of a wheel that is little, and a
// sitter that is woken often does not disturb the busy, as it would with a heavy barrier.
//
// Thread safety: sit() and rise() by whoever holds the seat; the rest by anyone.
// Invariants:   AL1  no deadline that was put in passes while the sitter sleeps on, beyond what it takes to wake it
#pragma once

#include "base/cache_line.hpp"
#include "base/clock.hpp"
#include "sys/platform.hpp"

#include <atomic>
#include <cstdint>

namespace weft::impl {

/// What makes the protocol hold. A test that wants to see it break derives from this and changes one line.
struct alarm_rules {
  static constexpr bool sitter_has_fence = true;
  static constexpr bool setter_has_fence = true;
};

template <class Platform, class Rules = alarm_rules>
class alignas(contended_bytes) basic_alarm {
 public:
  /// The sitter is about to sleep. Returns until when: what `earliest()` says, which looks at all deadlines.
  template <class Earliest>
  [[nodiscard]] time_point sit(Earliest&& earliest) noexcept {
    set(never);
    // [AL-set] Either this look sees the deadline, or who has put it in sees that somebody sleeps for longer.
    if constexpr (Rules::sitter_has_fence) Platform::full_fence();
    const time_point until = earliest();
    set(until);  // who still reads the value before interrupts in vain
    return until;
  }
  /// The sitter is awake.
  void rise() noexcept { set(nobody_sleeps); }

  /// Follows a deadline that was put where `earliest()` looks. Returns whether the sitter must be interrupted.
  [[nodiscard]] bool must_interrupt(time_point deadline) const noexcept {
    if constexpr (Rules::setter_has_fence) Platform::full_fence();  // [AL-set]
    // relaxed: the fence orders it.
    return deadline.time_since_epoch().count() < until_.load(std::memory_order_relaxed);
  }

 private:
  static constexpr time_point nobody_sleeps = time_point::min();

  void set(time_point until) noexcept {
    until_.store(until.time_since_epoch().count(),
                 std::memory_order_relaxed);  // relaxed: the fence orders it
  }

  typename Platform::template atomic<std::int64_t> until_{nobody_sleeps.time_since_epoch().count()};
};

}  // namespace weft::impl
