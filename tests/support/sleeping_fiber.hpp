// SPDX-License-Identifier: Apache-2.0
//
// sleeping_fiber — a fiber that waits for the end of others, as models see it.
#pragma once

#include "model/model.hpp"
#include "sched/claim_word.hpp"
#include "sched/wait_note.hpp"

#include <cstdint>

namespace weft::testing {

/// The wait of a fiber, as far as a finisher sees it: a claim word, and a note which wait of it is for the end of a task, or for
/// the arm of a join. What makes it runnable is a flag.
struct alignas(8) sleeping_fiber {
  impl::basic_wait_claim<model::platform> claim;
  impl::basic_wait_note<model::platform> note;
  model::platform::atomic<std::uint32_t> runnable{0};

  /// Begins a wait for the end of a task.
  void begin_join() { note.set_join(claim.arm()); }
  /// As whoever ends a task wakes who has registered with it. The waiter wrote the note before it registered; if it has
  /// moved on, this is no ticket of its wait, or that of another wait for a task.
  void wake_joiner() { wake(note.join_ticket()); }
  /// As whoever has run the arm of a join wakes its caller.
  void wake_caller() { wake(note.arm_ticket()); }
  void make_runnable() { runnable.store(1, std::memory_order_release); }

  /// The step after the switch, and being off the stack until somebody makes it runnable. Meanwhile its worker is idle, and does
  /// that again and again.
  template <class Idle>
  [[nodiscard]] impl::wake_cause sleep(Idle&& is_idle) {
    if (claim.complete_park() == impl::park_outcome::must_requeue) make_runnable();
    while (runnable.load(std::memory_order_acquire) == 0) is_idle();
    runnable.store(0, std::memory_order_relaxed);
    return claim.finish();
  }
  [[nodiscard]] impl::wake_cause sleep() { return sleep(&model::platform::pause); }

 private:
  void wake(impl::wait_ticket ticket) {
    if (claim.try_claim(ticket, impl::wake_cause::ready) == impl::claim_outcome::won) make_runnable();
  }
};

}  // namespace weft::testing
