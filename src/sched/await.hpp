// SPDX-License-Identifier: Apache-2.0
//
// await — waiting for the end of a task, or of all of a nursery.
#pragma once

#include "sched/wait.hpp"

namespace weft::impl {

using end_word = decltype(task::handle);

/// A runtime on its caller's thread makes no progress while a task of another one waits for it.
inline void check_can_be_awaited(const commons& there, const task* by) noexcept {
  WEFT_CHECK(
      by == nullptr || !there.runs_on_caller() || &by->all() == &there,
      "a task of another runtime waits for one that runs on its caller's thread: only that thread can");
}

/// Waits on a thread that is no worker, for something of the runtime.
inline void await_on_thread(commons& there, end_word& of) noexcept {
  parker mine;
  if (!of.begin_wait(waiter_word(mine))) return;
  (void)there.wait_on_thread(mine, never);
  WEFT_CHECK(of.is_done(), "woken before it was done");  // and that orders us after it
}

/// Waits in a task. Returns false where it was asked to stop; then it has left.
[[nodiscard]] inline bool await_in_task(task& self, end_word& of, wait_kind kind) noexcept {
  while (!of.is_done()) {
    one_wait wait(self, kind);
    self.note_join(wait.ticket());
    if (!of.begin_wait(waiter_word(self))) {
      (void)wait.abandon();
      return true;
    }
    const wake_cause cause = wait.leave();
    if (cause != wake_cause::cancelled && of.is_done()) return true;
    // Cancelled, or woken by a guest that came late (see wait_note.hpp): it is registered anew with its next wait.
    if (!of.end_wait(waiter_word(self))) return true;
    if (cause == wake_cause::cancelled) return false;
  }
  return true;
}

}  // namespace weft::impl
