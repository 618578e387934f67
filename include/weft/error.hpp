// SPDX-License-Identifier: Apache-2.0
//
// error — the outcomes that weft reports as values.
//
// weft divides failures in three. Misuse (a broken precondition) aborts with a message. Exceptions thrown by
// the user's own code travel as themselves. Everything that a correct program must expect — a closed channel,
// a passed deadline, a spent budget, no memory for a stack — is a value: a std::error_code whose category
// is weft::error_category() or, for a failed system call, std::system_category().
#pragma once

#include <weft/config.hpp>

#include <system_error>
#include <type_traits>

namespace weft {

/// What went wrong, where weft itself is the one to say so. Values are part of the ABI: none is ever reused.
enum class errc : int {
  /// The other side has been closed; nothing more can be sent or received.
  closed = 1,
  /// The deadline passed before the operation could complete.
  timed_out = 2,
  /// The fiber was asked to stop.
  cancelled = 3,
  /// The operation would have to wait, and the caller asked not to.
  would_block = 4,
  /// The task has no spawns left in its budget: recharge it, or let the spawn fail.
  spawn_budget_exhausted = 10,
  /// The task has no memory left in its budget: recharge it, or let the allocation fail.
  memory_budget_exhausted = 11,
  /// A task was spawned where no nursery is active to own it.
  nursery_not_active = 12,
  /// A task ran past the end of its stack.
  stack_overflow = 13,
  /// A worker failed and was replaced.
  worker_panic = 14,
  /// The stack size asked for lies outside what weft offers (8 KiB to 8 MiB).
  invalid_stack_size = 20,
  /// No address space or memory is left for another stack.
  out_of_stacks = 21,
  /// Another guarded stack would pass the kernel's limit on mappings (vm.max_map_count).
  mapping_limit = 22,
  /// The process runs with a hardware shadow stack, which the context switch does not support.
  shadow_stack_active = 23,
  /// No memory is left for what weft keeps of a task.
  out_of_memory = 24,
  /// The caller runs in no runtime: call weft::run, or the member of a weft::runtime.
  no_runtime = 25,
  /// The process was forked: the runtime's workers are in the parent. In the child make a runtime of its own.
  forked = 26,
  /// The runtime or the execution context shuts down, and takes no more tasks.
  shut_down = 27,
  /// The execution context belongs to another runtime.
  wrong_context = 28,
  /// The execution context is isolated: it runs its own function, and nothing else.
  isolated_context = 29,
  /// The library was built for a single thread (WEFT_SINGLE_THREADED), or the runtime runs on its caller's: it has one worker, and no
  /// context that needs another.
  single_threaded = 30,
  /// The default runtime has been started already: configure_default() comes before anything is spawned.
  already_started = 31,
};

/// The category of every weft::errc; its name is "weft".
///
/// Thread safety: any thread, at any time, also during static initialisation and exit.
WEFT_EXPORT const std::error_category& error_category() noexcept;

/// Makes the error_code for an errc; found by argument-dependent lookup, as `<system_error>` expects.
[[nodiscard]] inline std::error_code make_error_code(errc e) noexcept {
  return {static_cast<int>(e), error_category()};
}

}  // namespace weft

/// Lets a weft::errc convert to std::error_code by itself.
template <>
struct std::is_error_code_enum<weft::errc> : std::true_type {};
