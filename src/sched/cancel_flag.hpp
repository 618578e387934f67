// SPDX-License-Identifier: Apache-2.0
//
// cancel_flag — the request that a fiber stop, and how it meets a wait that is just beginning.
//
// Cancellation is a level: once requested it stays. A fiber that begins to wait and a canceller that looks for waits to
// end are two sides of a race, and the fiber's side runs all the time:
//
//     the fiber                                  the canceller
//       claim.arm();                               flag.request(); ... for each fiber to be cancelled
//       if (flag.requested_after_arming(kind))     flag.settle(kind);   once, for all of them
//         disarm and stop                          claim.try_claim_standing(wake_cause::cancelled); ... for each
//
// [CF-wait] Either the fiber sees the request, or the canceller sees the wait.
//
// Thread safety: any thread.
#pragma once

#include "sys/platform.hpp"

#include <cstdint>

namespace weft::impl {

/// What makes the protocol hold. A test that wants to see it break derives from this and changes one line.
struct cancel_rules {
  static constexpr bool waiter_has_barrier = true;
  static constexpr bool canceller_has_barrier = true;
};

template <class Platform, class Rules = cancel_rules>
class basic_cancel_flag {
 public:
  void request() noexcept {
    flag_.store(1, std::memory_order_release);  // [CF-request] pairs with both acquires
  }

  /// Makes the flag ready for another task, by whoever has its record alone.
  void reset() noexcept { flag_.store(0, std::memory_order_relaxed); }  // relaxed: published with the record

  /// Between the requests and the look at the waits, once for any number of them.
  static void settle(barrier_kind kind) noexcept {
    if constexpr (Rules::canceller_has_barrier) Platform::heavy_barrier(kind);  // [CF-wait]
  }

  [[nodiscard]] bool requested() const noexcept {
    return flag_.load(std::memory_order_acquire) != 0;  // [CF-request]
  }

  /// For a fiber that has armed its wait and not yet left its stack.
  [[nodiscard]] bool requested_after_arming(barrier_kind kind) const noexcept {
    if constexpr (Rules::waiter_has_barrier) Platform::light_barrier(kind);  // [CF-wait]
    return flag_.load(std::memory_order_acquire) != 0;                       // [CF-request]
  }

 private:
  typename Platform::template atomic<std::uint8_t> flag_{0};
};

using cancel_flag = basic_cancel_flag<default_platform>;

}  // namespace weft::impl
