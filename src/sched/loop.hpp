// SPDX-License-Identifier: Apache-2.0
//
// loop — how a worker goes from one stack to another.
//
// Thread safety: on a worker, by the task that runs there.
#pragma once

#include "sched/worker.hpp"

namespace weft::impl {

/// Throws stack_overflow, in a pool whose tasks fail by it.
[[gnu::cold]] void fail_on_low_stack(const worker& here);

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

/// Whether little is left of the stack that the caller stands on.
[[nodiscard]] WEFT_ALWAYS_INLINE bool is_stack_low(const worker& here) noexcept {
  return static_cast<const std::byte*>(__builtin_frame_address(0)) <= here.watermark;
}

/// Where a task that overflows its stack is to fail alone, one that has little left of it fails here, in a known state: weft's own
/// functions must not overflow. By functions that may throw.
WEFT_ALWAYS_INLINE void check_stack(const worker& here) {
  if (!WEFT_LIKELY(!is_stack_low(here))) fail_on_low_stack(here);
}

/// The same for those that may not: if the stack ends here, so does the process.
class low_stack_section {
 public:
  explicit low_stack_section(worker* here) noexcept {
    if (!WEFT_LIKELY(here == nullptr || !is_stack_low(*here))) {
      low_ = here;
      ++here->low_stack_depth;
    }
  }
  low_stack_section(const low_stack_section&) = delete;
  low_stack_section& operator=(const low_stack_section&) = delete;
  ~low_stack_section() {
    if (!WEFT_LIKELY(low_ == nullptr)) --low_->low_stack_depth;
  }

 private:
  worker* low_ = nullptr;
};

/// The context of a thread that is no worker; null if it has none.
[[nodiscard]] context_node* context_of_thread() noexcept;

/// Leaves the stack of the running task, which has armed its claim; comes back once it was claimed and made runnable.
WEFT_SWITCHES void leave_until_claimed(task& self) noexcept;

/// Gives way to whatever has its turn, if anything has.
WEFT_SWITCHES void give_way_to_any(task& self) noexcept;

/// Goes on in another pool, which has counted the task in.
WEFT_SWITCHES void go_to(task& self, pool& there) noexcept;

/// A task has spawned so many that wait on its worker: they go first, for a while.
WEFT_SWITCHES void let_children_run(task& self) noexcept;

/// Goes on with the running task upon another stack, for as long as the function takes. Returns false if there is none; then
/// nothing was called.
[[nodiscard]] WEFT_SWITCHES bool try_call_elsewhere(void (*function)(void*) noexcept, void* with) noexcept;

/// The user's function that a task was made for: where its code lies.
[[nodiscard]] const void* function_of(const task& one) noexcept;
/// Whether it is the second half of a join, which another worker has taken.
[[nodiscard]] bool is_join_arm(const task& one) noexcept;

/// The task that stood on the fiber is not to go on: it has failed.
void abandon(worker& here, fiber& gone) noexcept;

/// What a thread does that is a worker: runs the loop until the pool shuts down.
WEFT_SWITCHES void run_worker(worker& self) noexcept;

/// The bottom of every fiber's stack. The argument is the fiber.
void fiber_entry(void* raw);

}  // namespace weft::impl
