// SPDX-License-Identifier: Apache-2.0
//
// runtime — workers and everything that tasks need; and run(), which makes one for as long as a program's main lasts.
#pragma once

#include <weft/detail/duration.hpp>
#include <weft/execution_context.hpp>
#include <weft/runtime_options.hpp>
#include <weft/spawn.hpp>
#include <weft/statistics.hpp>
#include <weft/task_info.hpp>

#include <chrono>
#include <concepts>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

namespace weft {

class runtime;

namespace detail {
/// What a runtime keeps to itself.
struct runtime_core;
[[nodiscard]] runtime_core* core_of(runtime& of) noexcept;
[[nodiscard]] context_core* context_of(runtime& of) noexcept;
}  // namespace detail

/// A number of workers on which tasks run. Several may exist at a time. None lives by itself but the default one, which is there once
/// it is needed: see default_context().
///
/// Thread safety: any thread; destroyed by a thread, or by a task of another runtime, which leaves its worker to others meanwhile.
class WEFT_EXPORT runtime {
 public:
  /// Starts the workers.
  ///
  /// Throws: std::system_error if the system has no thread, memory or stack for them; std::invalid_argument for options
  ///         that cannot be.
  explicit runtime(const runtime_options& how = {});
  runtime(const runtime&) = delete;
  runtime& operator=(const runtime&) = delete;
  /// Asks all tasks to stop unless the options say otherwise, waits for them, and ends the workers.
  ~runtime();

  /// Asks all tasks to stop and waits for them, but no longer than that; no thread can spawn any more. Returns who has not
  /// stopped. The destructor still waits for those.
  ///
  /// Thread safety: by one at a time: a thread, or a task of another runtime.
  template <class Rep, class Period>
  shutdown_report shutdown(const std::chrono::duration<Rep, Period>& within) {
    return shut_down(detail::to_nanoseconds(within));
  }

  /// Runs the function as a task. From a task of this runtime or any thread.
  template <std::invocable F>
  [[nodiscard]] handle<detail::task_result<F>> spawn(
      F&& function, detail::source_site site = detail::source_site::current()) {
    return detail::spawn_in(main_, std::forward<F>(function), site);
  }

  /// The same with a name, a stack or a priority.
  template <std::invocable F>
  [[nodiscard]] handle<detail::task_result<F>> spawn(
      const spawn_options& how, F&& function, detail::source_site site = detail::source_site::current()) {
    return detail::spawn_with(main_, &how, std::forward<F>(function), site);
  }

  /// Asks all tasks to stop: those that live now, and all that are still to come. There is no way back.
  void request_cancel() noexcept;

  /// Whether workers take tasks from each other's deques and lines from now on. (What others have left for a worker may still be
  /// taken by whoever is woken for it.)
  void set_stealing(bool enabled) noexcept;

  /// What it has done so far, and what it has to do.
  [[nodiscard]] runtime_statistics statistics() const;

  /// How much of their stacks the tasks use, by the places where they are spawned: to choose spawn_options::stack_bytes by. What a
  /// task has used that has only just ended may be missing.
  [[nodiscard]] std::vector<stack_use> stack_uses() const;

  /// How many workers it has.
  [[nodiscard]] std::uint32_t workers() const noexcept;

 private:
  shutdown_report shut_down(std::chrono::nanoseconds within);

  friend detail::runtime_core* detail::core_of(runtime& of) noexcept;
  friend detail::context_core* detail::context_of(runtime& of) noexcept;

  struct end_core {
    void operator()(detail::runtime_core* core) const noexcept;
  };
  static detail::runtime_core* make_core(const runtime_options& how);

  std::unique_ptr<detail::runtime_core, end_core> core_;
  detail::context_core* main_;  // where tasks go that do not say where to
};

/// For other templates of weft's.
inline detail::runtime_core* detail::core_of(runtime& of) noexcept { return of.core_.get(); }
inline detail::context_core* detail::context_of(runtime& of) noexcept { return of.main_; }

/// Runs `main` as task 0 of a runtime that lives as long, and gives what it returns: for nothing, 0. When main has
/// returned or thrown, tasks that are still alive are asked to stop, unless the options say otherwise, and waited for.
///
/// Throws: what main throws; what the constructor of runtime throws.
template <std::invocable F>
auto run(F&& main, const runtime_options& how = {},
         detail::source_site site = detail::source_site::current()) {
  runtime all(how);
  if constexpr (std::is_void_v<detail::task_result<F>>) {
    all.spawn(std::forward<F>(main), site).join();
    return 0;
  } else {
    return all.spawn(std::forward<F>(main), site).join();
  }
}

}  // namespace weft
