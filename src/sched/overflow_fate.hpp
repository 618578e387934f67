// SPDX-License-Identifier: Apache-2.0
//
// overflow_fate — what becomes of a task that has run past the end of its stack.
//
// The fault handler decides. Where a task is to fail, the thread leaves the handler for a few instructions on its own stack,
// below what stands there, and goes from there to the loop of a spare one; all the rest is done there. The stack is kept as
// it is until the pool ends: others may know addresses in it.
#pragma once

#include "stack/overflow.hpp"
#include "stack/stack_slot.hpp"

namespace weft::impl {

/// Owner of the stacks of all workers: names the task that stands on one.
extern const stack_owner whoever_runs;

/// The policy of the process; each pool says for its tasks.
[[nodiscard]] overflow_verdict decide_on_overflow(const overflow_event& event) noexcept;

}  // namespace weft::impl
