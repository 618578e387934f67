// SPDX-License-Identifier: Apache-2.0
//
// runtime_options — how runtimes and execution contexts are made.
#pragma once

#include <weft/backoff.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace weft {

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

/// Where a task goes that another task spawns. (One that comes from a thread goes to the workers in turn, but for `shared`.)
enum class placement : std::uint8_t {
  local,        ///< to the worker that runs its parent; others come for it
  round_robin,  ///< to the workers in turn
  shared,       ///< to a queue that all workers take from, first in, first out
};

/// Who wakes tasks whose time has come.
enum class timer_mode : std::uint8_t {
  workers,     ///< the workers, between tasks, or the first of them that sleeps
  own_thread,  ///< a thread that does nothing else
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

/// When a context gets more workers than it was made with: while those that it has are stuck and work waits. They go again when there is
/// nothing for them to do.
///
/// One that is blocked in the system is replaced at once, so that as many run as were asked for. Beside those that compute for long
/// others are started later, and not many: they make nothing faster, but let the rest have its turn.
struct autoscale {
  bool is_on = true;    ///< otherwise it never does
  double growth = 0.5;  ///< more of them each time, of those that run: above 0, 16 at most
  double most = 2.0;    ///< times the number asked for, those that are blocked not counted: 1 to 16
  std::chrono::nanoseconds stuck_after = std::chrono::microseconds(250);  ///< one task runs for so long
  std::chrono::nanoseconds busy_after =
      std::chrono::milliseconds(10);  ///< work waits so long for those that compute
};

/// Whatever comes to a context has to wait for long until it runs: more comes than its workers can do.
struct overload {
  std::string context;           ///< its name
  std::chrono::nanoseconds age;  ///< how long it has taken, or takes already
};

/// What is to be done about it: refuse new work, for instance.
struct overload_hook {
  std::chrono::nanoseconds after = {};  ///< 0: never
  /// Called when that is passed, and again when it is passed after it was half as long in between; on a thread of weft's own, which
  /// looks after all contexts. So it does little, does not wait and does not throw. The context is there until it has returned: it
  /// must not end it.
  std::function<void(const overload&)> call = {};
};

/// How many workers: some from the beginning, and more when there is work for them.
struct worker_count {
  std::uint32_t least = 0;  ///< from the beginning; 0: one
  std::uint32_t most = 0;   ///< 1 to 256; 0: as many as this process may use processors

  constexpr worker_count() noexcept = default;
  /// So many, from the beginning; 0: chosen for the machine.
  // NOLINTNEXTLINE(google-explicit-constructor): written as a number
  constexpr worker_count(std::uint32_t exactly) noexcept : least(exactly), most(exactly) {}
  /// So many from the beginning, and at most.
  constexpr worker_count(std::uint32_t at_first, std::uint32_t at_most) noexcept
      : least(at_first), most(at_most) {}
};

/// How a runtime is made. What is left alone is chosen for the machine.
struct runtime_options {
  worker_count workers = {};    ///< 1 to 256; 0: as many as this process may use, or 1 on the caller's thread
  std::uint64_t seed = 0;       ///< all chance in the runtime comes from it; 0: a random one
  std::size_t stack_bytes = 0;  ///< of tasks that ask for no other: 8 KiB to 8 MiB; 0: 256 KiB
  victim_order victims = victim_order::random;  ///< whom a worker without work tries to rob
  placement fresh = placement::local;           ///< where a task goes that another one spawns
  std::uint32_t steal_attempts = 4;  ///< victims that a worker looks at before it looks elsewhere, at most
  /// Whether workers take from each other at all; see set_stealing(). If not, what a task has spawned waits while its worker is blocked.
  bool steal = true;
  std::optional<backoff_mode> backoff =
      {};  ///< how a worker without work looks around before it sleeps; none: weft's own way
  std::chrono::nanoseconds idle_poll =
      {};  ///< how often one that sleeps looks around though nobody wakes it; 0: never
  /// Whether what a worker puts into its own queues wakes others. If not, those that sleep come by idle_poll alone, and those that have
  /// no thread yet only for what comes from elsewhere: to see what waking is worth.
  bool wake_on_spawn = true;
  timer_mode timers = timer_mode::workers;  ///< who wakes tasks whose time has come
  std::chrono::nanoseconds timer_idle_cap =
      {};  ///< how often a timer's own thread looks up though nothing is due; 0: never
  leftovers at_end =
      leftovers::cancelled;  ///< what happens to tasks that are alive when main, or the runtime, ends
  /// Of about one task in so many it is measured how deep it goes: see stack_uses(). 1: of all, which takes time (but not of stolen
  /// halves of joins); 0: of none.
  std::uint32_t measure_stack_every = 4096;
  weft::autoscale autoscale = {};  ///< when it gets more workers than that
  std::vector<std::uint32_t> processors =
      {};  ///< that the threads of its first context run on, by number; none: where the caller may run
  std::optional<int> niceness =
      {};  ///< of those threads, -20 to 19: the nicer, the less they get when others compete
  overload_hook on_overload = {};  ///< what is to be done when the first context cannot keep up
  std::chrono::nanoseconds name_hogs_after =
      {};  ///< tasks are reported that run for so long without a wait; 0: none
  std::uint32_t blocking_threads =
      64;  ///< for what runs by weft::blocking(), 1 to 4096: they come when they are needed
  bool dumps_on_quit =
      false;  ///< SIGQUIT writes weft::dump() to the standard error, instead of what it did before
  overflow on_overflow = overflow::abort;  ///< what happens when a task runs past the end of its stack
  weft::runs_on runs_on = weft::runs_on::own_threads;  ///< whose threads the tasks run on
};

/// How an execution context of several threads is made. What is left alone is chosen for the machine.
struct context_options {
  worker_count workers = {};                    ///< 1 to 256; 0: as many as this process may use
  victim_order victims = victim_order::random;  ///< whom a worker without work tries to rob
  placement fresh = placement::local;           ///< where a task goes that another one spawns
  std::uint32_t steal_attempts = 4;  ///< victims that a worker looks at before it looks elsewhere, at most
  bool steal = true;                 ///< whether workers take from each other at all; see runtime_options
  std::optional<backoff_mode> backoff =
      {};  ///< how a worker without work looks around before it sleeps; none: weft's own way
  std::chrono::nanoseconds idle_poll =
      {};  ///< how often one that sleeps looks around though nobody wakes it; 0: never
  /// Whether what a worker puts into its own queues wakes others. If not, those that sleep come by idle_poll alone, and those that have
  /// no thread yet only for what comes from elsewhere: to see what waking is worth.
  bool wake_on_spawn = true;
  timer_mode timers = timer_mode::workers;  ///< who wakes tasks whose time has come
  std::chrono::nanoseconds timer_idle_cap =
      {};  ///< how often a timer's own thread looks up though nothing is due; 0: never
  weft::autoscale autoscale = {};  ///< when it gets more workers than that
  std::vector<std::uint32_t> processors =
      {};  ///< that its threads run on, by number; none: where the runtime's maker may run
  std::optional<int> niceness =
      {};  ///< of its threads, -20 to 19: the nicer, the less they get when others compete
  overload_hook on_overload = {};           ///< what is to be done when it cannot keep up
  leftovers at_end = leftovers::cancelled;  ///< what happens to tasks that are alive when it ends
};

/// How an execution context of one thread is made, whose tasks take turns.
struct concurrent_options {
  std::vector<std::uint32_t> processors =
      {};  ///< that its thread runs on, by number; none: where the runtime's maker may run
  std::optional<int> niceness = {};         ///< of its thread, -20 to 19
  overload_hook on_overload = {};           ///< what is to be done when it cannot keep up
  leftovers at_end = leftovers::cancelled;  ///< what happens to tasks that are alive when it ends
};

class execution_context;

/// How an execution context of one thread for one function is made.
struct isolated_options {
  std::vector<std::uint32_t> processors =
      {};  ///< that its thread runs on, by number; none: where the runtime's maker may run
  std::optional<int> niceness = {};  ///< of its thread, -20 to 19
  execution_context* spawns_into =
      nullptr;  ///< where what it spawns goes, not an isolated one; null: the first context of the runtime
};

}  // namespace weft
