// SPDX-License-Identifier: Apache-2.0
//
// sleeping_fiber — a fiber that waits for the end of others, as models see it.
#pragma once

#include "model/model.hpp"
#include "sched/claim_word.hpp"

#include <cstdint>

namespace weft::testing {

/// The wait of a fiber, as far as a finisher sees it: a claim word, and which wait of it is for the end of a task. What
/// makes it runnable is a flag.
struct alignas(8) sleeping_fiber {
  impl::basic_wait_claim<model::platform> claim;
  model::platform::atomic<std::uint64_t> join_epoch{0};
  model::platform::atomic<std::uint32_t> runnable{0};

  /// Begins a wait for the end of a task.
  void begin_join() { join_epoch.store(claim.arm().epoch, std::memory_order_relaxed); }
  /// As whoever ends a task wakes who has registered with it. relaxed: the waiter wrote the epoch before it registered; if
  /// it has moved on, this is no ticket of its wait, or that of another wait for a task.
  void wake_joiner() {
    const impl::wait_ticket ticket{join_epoch.load(std::memory_order_relaxed)};
    if (claim.try_claim(ticket, impl::wake_cause::ready) == impl::claim_outcome::won) make_runnable();
  }
  void make_runnable() { runnable.store(1, std::memory_order_release); }

  /// The step after the switch, and being off the stack until somebody makes it runnable.
  [[nodiscard]] impl::wake_cause sleep() {
    if (claim.complete_park() == impl::park_outcome::must_requeue) make_runnable();
    while (runnable.load(std::memory_order_acquire) == 0) model::platform::pause();
    runnable.store(0, std::memory_order_relaxed);
    return claim.finish();
  }
};

}  // namespace weft::testing
