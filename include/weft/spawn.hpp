// SPDX-License-Identifier: Apache-2.0
//
// spawn — a function, to run beside its caller.
#pragma once

#include <weft/detail/task_body.hpp>
#include <weft/handle.hpp>
#include <weft/spawn_options.hpp>

#include <concepts>
#include <type_traits>
#include <utility>

namespace weft {

namespace detail {

/// What a task made of F returns.
template <class F>
using task_result = std::invoke_result_t<std::decay_t<F>>;

/// The long way: for a closure that is more than bytes, and for tasks with something of their own.
template <class F>
[[nodiscard]] handle<task_result<F>> spawn_with(context_core* in, const spawn_options* how, F&& function,
                                                source_site site) {
  using body = task_body<std::decay_t<F>, task_result<F>>;
  task_record& made = new_task(in, body::code, packed_site(site));
  try {
    if (how != nullptr) set_options(made, *how);
    body::put(body_of(made), std::forward<F>(function));
  } catch (...) {
    discard_task(made);
    throw;
  }
  begin_task(made);
  return handle<task_result<F>>(made);
}

template <class F>
[[nodiscard]] handle<task_result<F>> spawn_in(context_core* in, F&& function, source_site site) {
  using closure = std::decay_t<F>;
  using body = task_body<closure, task_result<F>>;
  if constexpr (is_closure_of_words<closure>) {
    const closure_copy<closure> words(function);
    return handle<task_result<F>>(spawn_words(in, body::code, packed_site(site), words.get()));
  }
  return spawn_with(in, nullptr, std::forward<F>(function), site);
}

}  // namespace detail

/// Runs the function as a task of the execution context that the caller runs in. It starts when a worker is free; what it returns
/// or throws is for whoever joins the handle.
///
/// The function is moved or copied into the task. A task costs about 200 bytes until it waits, and no system call.
///
/// Never waits, so that a lock may be held over it. (Spawning into a nursery may let the children run first.)
///
/// From a plain thread it goes to the default runtime (see default_context()); runtime::spawn goes to a given one.
///
/// Thread safety:      any thread.
/// Cancellation point: no.
/// Throws:             std::system_error without memory, and what copying the function throws; on a plain thread, also as the
///                     constructor of runtime.
template <std::invocable F>
[[nodiscard]] handle<detail::task_result<F>> spawn(
    F&& function, detail::source_site site = detail::source_site::current()) {
  return detail::spawn_in(nullptr, std::forward<F>(function), site);
}

/// The same for a task with something of its own. It costs an allocation.
///
/// Throws: std::invalid_argument for a stack or a priority that cannot be, too; std::system_error for a context of another runtime
///         (errc::wrong_context), or one that ends (errc::shut_down).
template <std::invocable F>
[[nodiscard]] handle<detail::task_result<F>> spawn(
    const spawn_options& how, F&& function, detail::source_site site = detail::source_site::current()) {
  return detail::spawn_with(detail::target_of(how), &how, std::forward<F>(function), site);
}

}  // namespace weft
