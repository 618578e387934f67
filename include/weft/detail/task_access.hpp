// SPDX-License-Identifier: Apache-2.0
//
// task_access — what the templates that make tasks ask of the library.
#pragma once

#include <weft/config.hpp>
#include <weft/detail/source_site.hpp>
#include <weft/detail/task_code.hpp>
#include <weft/spawn_options.hpp>
#include <weft/task_info.hpp>

#include <cstddef>
#include <cstdint>

namespace weft::detail {

/// A task's record, of which the templates know nothing but the body.
struct task_record;
/// What an execution context keeps to itself.
struct context_core;

/// How much of a closure or a result fits into a record; what is larger goes to the heap.
inline constexpr std::size_t task_body_offset = 56;
inline constexpr std::size_t task_body_bytes = 72;
inline constexpr std::size_t task_body_alignment = 8;

/// A record for a task of this context; null: of the one that the caller runs in.
///
/// Throws: std::system_error without memory, or where there is no runtime.
[[nodiscard]] WEFT_EXPORT task_record& new_task(context_core* in, const task_code& code, packed_site site);

/// Where to put the closure.
[[nodiscard]] inline void* body_of(task_record& made) noexcept {
  return reinterpret_cast<std::byte*>(&made) + task_body_offset;  // asserted by the library
}

/// A closure that is nothing but bytes, as words.
struct closure_words {
  const std::uint64_t* first;
  std::size_t count;
};
/// All three steps at once, for such a closure: a record is made, the closure put into it, and the task begun.
///
/// Throws: as new_task() and begin_task().
[[nodiscard]] WEFT_EXPORT task_record& spawn_words(context_core* in, const task_code& code, packed_site site,
                                                   closure_words closure);

/// The context that the options name; null where they name none.
[[nodiscard]] WEFT_EXPORT context_core* target_of(const spawn_options& how) noexcept;

/// Gives a record what the options say, before it is begun.
///
/// Throws: std::invalid_argument for a stack that cannot be; std::bad_alloc; std::system_error(errc::wrong_context) for a context of
///         another runtime than that of the record.
WEFT_EXPORT void set_options(task_record& blank, const spawn_options& how);

/// Gives back a record whose closure could not be made.
WEFT_EXPORT void discard_task(task_record& blank) noexcept;

/// Lets the task run. Throws std::system_error(errc::shut_down) if its runtime takes no more; then the closure is destroyed.
WEFT_EXPORT void begin_task(task_record& made);

/// Waits until the task has ended. A cancellation point.
[[nodiscard]] WEFT_EXPORT task_outcome await_end(task_record& of);
/// What it is doing.
[[nodiscard]] WEFT_EXPORT task_state state_of(const task_record& one) noexcept;
[[nodiscard]] WEFT_EXPORT bool has_ended(const task_record& one) noexcept;
/// Gives back the record of a task that has ended and whose result was taken.
WEFT_EXPORT void release_task(task_record& ended) noexcept;
/// Gives up the handle. A failure that nobody can look at any more is reported when it comes.
WEFT_EXPORT void drop_task(task_record& held) noexcept;
/// Asks the task to stop.
WEFT_EXPORT void request_cancel(task_record& held) noexcept;
[[nodiscard]] WEFT_EXPORT std::uint64_t id_of(const task_record& one) noexcept;

}  // namespace weft::detail
