// SPDX-License-Identifier: Apache-2.0
//
// runtime_core — what the public headers only know by name, and how to get from one side to the other.
#pragma once

#include "sched/commons.hpp"
#include "sched/pool.hpp"

#include <weft/detail/task_access.hpp>
#include <weft/execution_context.hpp>

#include <memory>

namespace weft {
class ready_task;
}  // namespace weft

namespace weft::detail {

struct context_core : impl::pool {
  using pool::pool;
};

struct runtime_core : impl::commons {
  using commons::commons;

  /// Starts the first context. Throws: std::system_error.
  void start(const impl::pool_options& first);

  std::unique_ptr<parallel_context> main;
};

[[nodiscard]] context_core& core_of(execution_context& of) noexcept;

/// What a context lets nobody else see.
struct context_access {
  static context_core* target(const execution_context& of) noexcept { return of.target(); }
  static impl::task& take(ready_task& from) noexcept;
  static void enqueue(execution_context& arranges, impl::task& ready, bool is_fresh) noexcept;
  static void note_leave(execution_context& left, const impl::task& leaving) noexcept;
};

[[nodiscard]] inline impl::task& inside(task_record& record) noexcept {
  return reinterpret_cast<impl::task&>(record);
}
[[nodiscard]] inline const impl::task& inside(const task_record& record) noexcept {
  return reinterpret_cast<const impl::task&>(record);
}
[[nodiscard]] inline task_record& outside(impl::task& task) noexcept {
  return reinterpret_cast<task_record&>(task);
}

}  // namespace weft::detail

namespace weft::impl {

/// The runtime of the running task; on a plain thread the default one. Throws: std::system_error.
[[nodiscard]] commons& runtime_here();
/// Makes a context of it, and starts it. Throws: std::system_error.
[[nodiscard]] detail::context_core& start_context(commons& in, pool_options options);

}  // namespace weft::impl
