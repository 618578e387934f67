// SPDX-License-Identifier: Apache-2.0
//
// context_table — the execution contexts of the process, by their numbers. A task's record has room for a number, and not for an
// address.
//
// Thread safety: any thread.
// Invariants:   XT1  a number names one context from add() to remove(); while a task is alive, so is the number of its home
#pragma once

#include "sched/route.hpp"

#include <weft/result.hpp>

namespace weft::impl {

class pool;

/// Gives a context its number. `inner`: the one that it wraps. Fails with errc::out_of_memory where 65,535 of them live.
[[nodiscard]] result<context_id> add_context(pool& made, context_id inner = 0) noexcept;
void remove_context(context_id gone) noexcept;

/// The context of a number; null where there is none.
[[nodiscard]] pool* find_context(context_id number) noexcept;

/// Whether what belongs to the one belongs to the other: it is the same, or wraps it.
[[nodiscard]] bool is_within(context_id one, context_id other) noexcept;

/// The table, by number; for debuggers.
[[nodiscard]] const void* place_of_contexts() noexcept;

}  // namespace weft::impl
