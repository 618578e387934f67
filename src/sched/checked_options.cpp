// SPDX-License-Identifier: Apache-2.0

#include "sched/checked_options.hpp"

#include "sched/environment.hpp"
#include "sched/loop.hpp"
#include "sys/processors.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>

namespace weft::impl {
namespace {

constexpr std::string_view first_name = "DEFAULT";

// What whoever has built the library says, for programs that say nothing.
constexpr std::uint32_t built_in_workers = WEFT_FIXED_WORKERS;
constexpr std::size_t built_in_stack = WEFT_DEFAULT_STACK_SIZE;
static_assert(built_in_workers <= most_workers);

[[noreturn]] void refuse(std::string_view of, const std::string& name, const std::string& value,
                         std::string_view legal) {
  throw std::invalid_argument(std::string(of) + (of.ends_with(')') ? ": " : "::") + name + " is " + value +
                              "; " + std::string(legal));
}

// An enumeration may have come out of a file.
template <class Enumeration>
void check_option(std::string_view of, const char* name, Enumeration value, Enumeration last) {
  const auto number = static_cast<unsigned>(value);
  if (number <= static_cast<unsigned>(last)) return;
  refuse(of, name, std::to_string(number),
         "its enumerators are numbered from 0 to " + std::to_string(static_cast<unsigned>(last)));
}

void check_time(std::string_view of, const char* name, std::chrono::nanoseconds time) {
  if (time < std::chrono::nanoseconds::zero())
    refuse(of, name, std::to_string(time.count()) + " ns", "it is 0 or more");
}

void check_scaling(std::string_view of, const autoscale& how) {
  constexpr double most_times = 16.0;
  if (!(how.growth > 0.0 && how.growth <= most_times))
    refuse(of, "autoscale.growth", std::to_string(how.growth), "it is above 0, and at most 16");
  if (!(how.most >= 1.0 && how.most <= most_times))
    refuse(of, "autoscale.most", std::to_string(how.most), "it is from 1 to 16");
  check_time(of, "autoscale.stuck_after", how.stuck_after);
  check_time(of, "autoscale.busy_after", how.busy_after);
}

void check_workers(std::string_view of, worker_count wished) {
  if (std::max(wished.least, wished.most) > most_workers)
    refuse(of, "workers", std::to_string(std::max(wished.least, wished.most)),
           "there are 1 to 256, or 0 for as many as this process may use processors");
  if (wished.most != 0 && wished.least > wished.most)
    refuse(of, "workers", std::to_string(wished.least) + " to " + std::to_string(wished.most),
           "no more are there at first than at most");
}

// Who says which processors wants one worker for each, if nothing else. `like`: a thread that may use what the workers may.
crew_size whole(worker_count wished, std::size_t processors, pid_t like) {
  const bool is_chosen = wished.most == 0 && processors == 0;
  const std::uint32_t usual =
      processors != 0 ? static_cast<std::uint32_t>(processors) : read_processor_limits(like).effective();
  const std::uint32_t most =
      wished.most == 0 ? std::max(std::min(usual, most_workers), wished.least) : wished.most;
  return {std::clamp(wished.least, 1U, most), most, is_chosen, wished.most != 1};
}

duration or_never(std::chrono::nanoseconds time) {
  return time == std::chrono::nanoseconds::zero() ? duration::max() : duration(time);
}

thread_place checked_place(std::string_view of, std::span<const std::uint32_t> processors,
                           std::optional<int> niceness, pid_t like) {
  thread_place place;
  if (!processors.empty()) {
    if (const std::optional<std::uint32_t> missing = thread_place::of_thread(like).first_unusable(processors))
      refuse(of, "processors", "one with the number " + std::to_string(*missing),
             "this process may not use that: `taskset -p` shows which it may");
    place.use_only(processors);
  }
  if (!niceness) return place;
  if (*niceness < thread_place::least_nice || *niceness > thread_place::most_nice)
    refuse(of, "niceness", std::to_string(*niceness), "it is from -20 to 19");
  if (!thread_place::may_be_as_nice_as(*niceness))
    refuse(of, "niceness", std::to_string(*niceness),
           "to be less nice than it is this process needs CAP_SYS_NICE, or a higher RLIMIT_NICE");
  place.set_niceness(*niceness);
  return place;
}

void take_hook(std::string_view of, const overload_hook& hook, pool_options& options) {
  check_time(of, "on_overload.after", hook.after);
  if (hook.after == std::chrono::nanoseconds::zero()) return;
  if (hook.call == nullptr) refuse(of, "on_overload.call", "empty", "it is what on_overload.after calls");
  options.oversight.overload_after = hook.after;
  options.on_overload = std::make_shared<const overload_hook>(hook);
}

// What runtimes and contexts have in common.
template <class Options>
pool_options checked_pool(std::string_view of, std::string_view name, const Options& how) {
  check_workers(of, how.workers);
  if (how.steal_attempts == 0)
    refuse(of, "steal_attempts", "0",
           "a worker looks at 1 victim or more (to forbid it, set steal to false)");
  check_scaling(of, how.autoscale);
  check_option(of, "victims", how.victims, victim_order::most_loaded);
  check_option(of, "fresh", how.fresh, placement::shared);
  check_option(of, "timers", how.timers, timer_mode::own_thread);
  if (how.backoff) check_option(of, "backoff", *how.backoff, backoff_mode::power_saving);
  check_time(of, "idle_poll", how.idle_poll);
  if (!how.wake_on_spawn && how.idle_poll == std::chrono::nanoseconds::zero())
    refuse(of, "wake_on_spawn", "false", "then idle_poll is above 0, or those that sleep would never come");
  check_time(of, "timer_idle_cap", how.timer_idle_cap);
  check_option(of, "at_end", how.at_end, leftovers::awaited);
  pool_options options;
  options.name = name;
  options.victims = how.victims;
  options.fresh = how.fresh;
  options.most_attempts = how.steal_attempts;
  options.steal = how.steal;
  options.backoff = how.backoff;
  options.idle_poll = or_never(how.idle_poll);
  options.wake_on_spawn = how.wake_on_spawn;
  options.has_timer_thread = how.timers == timer_mode::own_thread;
  options.timer_idle_cap = or_never(how.timer_idle_cap);
  options.cancels_leftovers = how.at_end == leftovers::cancelled;
  options.capacity = most_workers;
  options.oversight.scaling = {.is_on = how.autoscale.is_on,
                               .growth = how.autoscale.growth,
                               .most = how.autoscale.most,
                               .stuck_after = how.autoscale.stuck_after,
                               .busy_after = how.autoscale.busy_after};
  take_hook(of, how.on_overload, options);
  return options;
}

void check_caller(const runtime_options& how) {
  if (how.workers.most > 1)
    refuse("runtime_options", "workers", std::to_string(how.workers.most),
           std::string("a runtime that runs on its caller's thread has 1") +
               (detail::is_single_threaded ? " (weft is built for a single thread)" : ""));
  if (current_task() != nullptr)
    refuse("runtime_options", "runs_on", "caller in a task",
           "a plain thread makes such a runtime, and waits for it");
}

stack_class checked_stack(std::size_t bytes) {
  if (bytes == 0) bytes = built_in_stack;
  const result<stack_class> found = stack_class::holding(bytes);
  if (!found)
    refuse("runtime_options", "stack_bytes", std::to_string(bytes),
           "a stack has 8192 to 8388608 bytes, or 0 for the usual one");
  return *found;
}

}  // namespace

core_options checked(const runtime_options& how) {
  const environment_settings environment = read_environment();
  core_options options;
  options.first = checked_pool("runtime_options", first_name, how);
  check_option("runtime_options", "on_overflow", how.on_overflow, overflow::fail_task);
  check_option("runtime_options", "runs_on", how.runs_on, runs_on::caller);
  options.all.stack =
      checked_stack(how.stack_bytes != 0 ? how.stack_bytes : environment.stack_bytes.value_or(0));
  options.all.cancels_leftovers = how.at_end == leftovers::cancelled;
  constexpr std::uint32_t most_blocking = 4096;
  if (how.blocking_threads == 0 || how.blocking_threads > most_blocking)
    refuse("runtime_options", "blocking_threads", std::to_string(how.blocking_threads),
           "there are 1 to 4096");
  options.all.blocking_threads = how.blocking_threads;
  options.all.measure_stack_every = how.measure_stack_every;
  options.all.fails_tasks_that_overflow = how.on_overflow == overflow::fail_task;
  options.all.seed = how.seed != 0 ? how.seed : environment.seed.value_or(0);
  if (options.all.seed == 0) options.all.seed = default_platform::entropy::seed();
  options.first.seed = options.all.seed;
  options.first.runs_on_caller = detail::is_single_threaded || how.runs_on == runs_on::caller;
  if (options.first.runs_on_caller) {
    check_caller(how);
    options.first.size = {};
    options.first.capacity = 1;
    options.first.has_timer_thread = false;
  } else {
    const bool is_open = how.workers.most == 0 && how.workers.least == 0;
    const auto& wished = environment.workers;
    worker_count workers = how.workers;
    if (is_open && how.processors.empty()) workers = built_in_workers;
    if (is_open && wished) workers = worker_count(wished->least, wished->most);
    options.first.size = whole(workers, how.processors.size(), 0);
  }
  options.all.dumps_on_quit = how.dumps_on_quit;
  options.all.reports_statistics = environment.prints_statistics;
  options.all.reports_stacks = environment.debugs_stacks;
  if (environment.debugs_stacks) options.all.measure_stack_every = 1;
  constexpr duration usual_hog = std::chrono::milliseconds(100);
  check_time("runtime_options", "name_hogs_after", how.name_hogs_after);
  options.all.debugs_sysmon = environment.debugs_sysmon;
  options.all.hog_after = or_never(how.name_hogs_after);
  if (environment.debugs_sysmon) options.all.hog_after = std::min(options.all.hog_after, usual_hog);
  options.first.place = checked_place("runtime_options", how.processors, how.niceness, 0);
  return options;
}

crew_size checked(worker_count wished, const commons& in) {
  check_workers("resize()", wished);
  return whole(wished, 0, in.watcher().thread_number());
}

pool_options checked(std::string_view name, const context_options& how, const commons& in) {
  pool_options options = checked_pool("context_options", name, how);
  options.size = whole(how.workers, how.processors.size(), in.watcher().thread_number());
  options.place =
      checked_place("context_options", how.processors, how.niceness, in.watcher().thread_number());
  return options;
}

pool_options checked(std::string_view name, const concurrent_options& how, const commons& in) {
  check_option("concurrent_options", "at_end", how.at_end, leftovers::awaited);
  pool_options options;
  options.name = name;
  options.cancels_leftovers = how.at_end == leftovers::cancelled;
  options.place =
      checked_place("concurrent_options", how.processors, how.niceness, in.watcher().thread_number());
  take_hook("concurrent_options", how.on_overload, options);
  return options;
}

pool_options checked(std::string_view name, const isolated_options& how, const commons& in) {
  pool_options options;
  options.name = name;
  options.place =
      checked_place("isolated_options", how.processors, how.niceness, in.watcher().thread_number());
  return options;
}

pool_options checked(std::string_view name, const custom_options& how) {
  if (how.runners == 0 || how.runners > most_workers)
    refuse("custom_options", "runners", std::to_string(how.runners), "there are 1 to 256");
  pool_options options;
  options.name = name;
  options.is_arranged = true;
  options.fresh = placement::shared;
  options.size = {.least = how.runners, .most = how.runners};
  options.capacity = how.runners;
  return options;
}

pool_options checked(std::string_view name, const wrapping_options& how, pool& inner) {
  check_option("wrapping_options", "at_end", how.at_end, leftovers::awaited);
  pool_options options;
  options.name = name;
  options.is_arranged = true;
  options.inner = &inner;
  options.cancels_leftovers = how.at_end == leftovers::cancelled;
  return options;
}

}  // namespace weft::impl
