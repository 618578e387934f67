// SPDX-License-Identifier: Apache-2.0
//
// runtime — workers and everything that tasks need; and run(), which makes one for as long as a program's main lasts.
#pragma once

#include <weft/detail/duration.hpp>
#include <weft/spawn.hpp>
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
[[nodiscard]] runtime_core* core_of(runtime& of) noexcept;
}  // namespace detail

/// Whose threads the tasks run on.
enum class runs_on : std::uint8_t {
  own_threads,  ///< those of the runtime, all the time
  /// That of whoever waits for something of the runtime, and only then: in handle::join(), at the end of a nursery, in shutdown()
  /// and the destructor. One worker, no other threads. One thread at a time waits, and no task of another runtime. Others may spawn
  /// and resume. A deadline of shutdown() is kept only if the tasks give way.
  /// (A library built with WEFT_SINGLE_THREADED knows only this; there nobody else may do anything.)
  caller,
};

/// What happens to tasks that nobody waits for any more.
enum class leftovers : std::uint8_t {
  cancelled,  ///< they are asked to stop, and waited for
  awaited,    ///< they are waited for
};

/// Whom a worker without work tries to rob.
enum class victim_order : std::uint8_t {
  random,       ///< anyone, by the seeded generator of the worker
  round_robin,  ///< one after the other
  most_loaded,  ///< who seems to have the most; looks at all of them each time
};

/// Where a task goes that another task spawns. (One that comes from a thread goes to the workers in turn.)
enum class placement : std::uint8_t {
  local,        ///< to the worker that runs its parent; others come for it
  round_robin,  ///< to the workers in turn
};

/// What happens when a task runs past the end of its stack. Either way it is reported first, with its name and a backtrace.
enum class overflow : std::uint8_t {
  abort,  ///< the process ends
  /// The task fails with errc::stack_overflow, and its worker goes on: for programs that recurse over what others send them and
  /// would rather lose a task than the process. Its stack is left as it is, with everything on it, until the runtime ends: no
  /// destructor of a local runs, what it has locked stays locked, and *nobody waits for what it has begun beside itself*: children
  /// of a nursery on that stack, and second halves of joins that others have begun, go on and must not use what lies outside of
  /// the task. So it is for tasks that compute alone.
  ///
  /// A function of weft that finds little of the stack left throws the same error, and the task may unwind. The process ends all the
  /// same where the overflow comes in another library than the task's function (as malloc), since that may be left locked; and
  /// where nobody looks at the task's failure.
  fail_task,
};

/// What a worker has done so far.
struct worker_statistics {
  std::uint64_t tasks = 0;   ///< ended there
  std::uint64_t stolen = 0;  ///< tasks and fibers taken from other workers, but for what those have sent
  std::uint64_t failed_steals = 0;  ///< attempts to take from a deque that gave nothing
};

/// How a runtime is made. What is left alone is chosen for the machine.
struct runtime_options {
  std::uint32_t workers =
      0;  ///< 1 to 256; 0: as many as this process has processors, or 1 on the caller's thread
  std::uint64_t seed = 0;                       ///< all chance in the runtime comes from it; 0: a random one
  victim_order victims = victim_order::random;  ///< whom a worker without work tries to rob
  placement fresh = placement::local;           ///< where a task goes that another one spawns
  std::uint32_t steal_attempts = 4;  ///< victims that a worker looks at before it looks elsewhere, at most
  bool steal = true;                 ///< whether workers take from each other at all; see set_stealing()
  leftovers at_end =
      leftovers::cancelled;  ///< what happens to tasks that are alive when main, or the runtime, ends
  /// Of about one task in so many it is measured how deep it goes: see stack_uses(). 1: of all, which takes time (but not of stolen
  /// halves of joins); 0: of none.
  std::uint32_t measure_stack_every = 4096;
  overflow on_overflow = overflow::abort;  ///< what happens when a task runs past the end of its stack
  weft::runs_on runs_on = weft::runs_on::own_threads;  ///< whose threads the tasks run on
};

/// A number of workers on which tasks run. Several may exist at a time; none lives by itself.
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
    return detail::spawn_in(core_.get(), std::forward<F>(function), site);
  }

  /// The same with a name, a stack or a priority.
  template <std::invocable F>
  [[nodiscard]] handle<detail::task_result<F>> spawn(
      const spawn_options& how, F&& function, detail::source_site site = detail::source_site::current()) {
    return detail::spawn_with(core_.get(), &how, std::forward<F>(function), site);
  }

  /// Asks all tasks to stop: those that live now, and all that are still to come. There is no way back.
  void request_cancel() noexcept;

  /// Whether workers take tasks from each other's deques and lines from now on. (What others have left for a worker may still be
  /// taken by whoever is woken for it.)
  void set_stealing(bool enabled) noexcept;

  /// What each worker has done so far.
  [[nodiscard]] std::vector<worker_statistics> statistics() const;

  /// How much of their stacks the tasks use, by the places where they are spawned: to choose spawn_options::stack_bytes by. What a
  /// task has used that has only just ended may be missing.
  [[nodiscard]] std::vector<stack_use> stack_uses() const;

  /// How many workers it has.
  [[nodiscard]] std::uint32_t workers() const noexcept;

 private:
  shutdown_report shut_down(std::chrono::nanoseconds within);

  friend detail::runtime_core* detail::core_of(runtime& of) noexcept;

  struct end_core {
    void operator()(detail::runtime_core* core) const noexcept;
  };
  static detail::runtime_core* make_core(const runtime_options& how);

  std::unique_ptr<detail::runtime_core, end_core> core_;
};

/// For other templates of weft's.
inline detail::runtime_core* detail::core_of(runtime& of) noexcept { return of.core_.get(); }

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
