// SPDX-License-Identifier: Apache-2.0
//
// loop — how a worker goes from one stack to another.
//
// Thread safety: on a worker, by the task that runs there.
#pragma once

#include "sched/worker.hpp"

namespace weft::impl {

/// The fiber that a worker runs: by code that stands on it.
[[nodiscard]] WEFT_ALWAYS_INLINE fiber& running_fiber(worker& here) noexcept {
  WEFT_ASSERT(here.current != &here.native, "the thread's own stack runs no task");
  return static_cast<fiber&>(*here.current);
}

/// The task that runs this; null on a thread that is no worker. Stays the same over a switch.
[[nodiscard]] inline task* current_task() noexcept {
  worker* const here = current_worker();
  return here == nullptr || here->current == &here->native ? nullptr : running_fiber(*here).running;
}

/// The context of a thread that is no worker; null if it has none.
[[nodiscard]] context_node* context_of_thread() noexcept;

/// Leaves the stack of the running task, which has armed its claim; comes back once it was claimed and made runnable.
WEFT_SWITCHES void leave_until_claimed(task& self) noexcept;

/// A task has spawned so many that wait on its worker: they go first, for a while.
WEFT_SWITCHES void let_children_run(task& self) noexcept;

/// Goes on with the running task upon another stack, for as long as the function takes. Returns false if there is none; then
/// nothing was called.
[[nodiscard]] WEFT_SWITCHES bool try_call_elsewhere(void (*function)(void*) noexcept, void* with) noexcept;

/// The task that stood on the fiber is not to go on: it has failed.
void abandon(worker& here, fiber& gone) noexcept;

/// What a thread does that is a worker: runs the loop until the pool shuts down.
WEFT_SWITCHES void run_worker(worker& self) noexcept;

/// The bottom of every fiber's stack. The argument is the fiber.
void fiber_entry(void* raw);

}  // namespace weft::impl
