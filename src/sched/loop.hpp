// SPDX-License-Identifier: Apache-2.0
//
// loop — how a worker goes from one stack to another.
//
// Thread safety: on a worker, by the task that runs there.
#pragma once

#include "sched/worker.hpp"

namespace weft::impl {

/// The task that runs this; null on a thread that is no worker. Stays the same over a switch.
[[nodiscard]] task* current_task() noexcept;

/// Leaves the stack of the running task, which has armed its claim; comes back once it was claimed and made runnable.
WEFT_SWITCHES void leave_until_claimed(task& self) noexcept;

/// Lets others run; comes back when it is this task's turn again, at once if there is nobody else.
WEFT_SWITCHES void let_others_run(task& self) noexcept;

/// Goes on with the running task upon another stack, for as long as the function takes. Returns false if there is none; then
/// nothing was called.
[[nodiscard]] WEFT_SWITCHES bool try_call_elsewhere(void (*function)(void*) noexcept, void* with) noexcept;

/// What a thread does that is a worker: runs the loop until the pool shuts down.
WEFT_SWITCHES void run_worker(worker& self) noexcept;

/// The bottom of every fiber's stack. The argument is the fiber.
void fiber_entry(void* raw);

/// The bytes behind the head of a task's record, where its closure or its result lies.
[[nodiscard]] inline void* body_of(task& of) noexcept {
  return reinterpret_cast<std::byte*>(&of) + sizeof(task);
}

}  // namespace weft::impl
