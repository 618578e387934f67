// SPDX-License-Identifier: Apache-2.0

#include "base/report.hpp"
#include "sched/commons.hpp"
#include "sched/pool.hpp"

#include <weft/statistics.hpp>

namespace weft::impl {
namespace {

worker_statistics statistics_of(const worker& one) {
  return {.tasks = one.row().ended(),
          // relaxed: statistics
          .stolen = one.counters.stolen.load(std::memory_order_relaxed),
          .failed_steals = one.counters.failed_steals.load(std::memory_order_relaxed),
          .waiting = one.waiting_approx(),
          .has_thread = one.thread_number() != 0};
}

void report_worker(const worker_statistics& one, std::size_t number) noexcept {
  text_line line;
  line << "    worker " << std::uint64_t{number} << ": " << one.tasks << " tasks ended, " << one.stolen
       << " runnables stolen, " << one.failed_steals << " attempts failed";
  if (!one.has_thread) line << "; has no thread now";
  report(line);
}

void report_context(const context_statistics& one) noexcept {
  text_line line;
  line << "  context '" << one.name << "': " << one.begun << " tasks begun, " << one.ended << " ended; "
       << one.limit << " workers, " << one.threads << " threads; woken " << one.wakes << " times; added "
       << one.added_for_blocked << " for blocked workers and " << one.added_for_busy << " for busy ones, "
       << one.failed_starts << " could not be started";
  report(line);
  for (std::size_t i = 0; i < one.workers.size(); ++i) report_worker(one.workers[i], i);
}

}  // namespace

// All ends first, so that no more have ended than have begun.
context_statistics pool::statistics() const {
  context_statistics found;
  found.name = options_.name;
  found.limit = limit();
  found.threads = is_arranged() ? places_taken() : options_.runs_on_caller ? 0 : crew_.there();
  found.ended = ended();
  found.begun = begun();
  found.queue_age = queue_age();
  found.wakes = idle_.wake_count();
  const overseer_counters& scaled = overseer_.counters();
  // relaxed: statistics
  found.added_for_blocked = scaled.replaced.load(std::memory_order_relaxed);
  found.added_for_busy = scaled.joined.load(std::memory_order_relaxed);
  found.failed_starts = scaled.failed.load(std::memory_order_relaxed);
  for (const worker& each : crew_) found.workers.push_back(statistics_of(each));
  return found;
}

void pool::report_statistics() const {
  report(text_line() << "statistics of an execution context, at its end");
  report_context(statistics());
}

runtime_statistics commons::statistics() {
  runtime_statistics found;
  for_each_context([&](const pool& each) { found.contexts.push_back(each.statistics()); });
  const blocking_counts blocking = blocking_.counts();
  found.blocking = {.threads = blocking.threads,
                    .busy = blocking.busy,
                    .most_busy = blocking.most_busy,
                    .waiting = blocking.waiting,
                    .begun = blocking.begun};
  return found;
}

// As tools/doctor reads it.
void commons::report_stacks() const {
  for (const stack_use& each : depths_.list()) {
    text_line line;
    line << "stack use: " << std::uint64_t{each.deepest} << " of " << std::uint64_t{each.stack}
         << " bytes by " << each.samples << " tasks spawned at " << each.file << ":" << each.line;
    report(line);
  }
}

void commons::report_statistics() {
  report(text_line() << "statistics of a runtime, at its end");
  const runtime_statistics found = statistics();
  for (const context_statistics& each : found.contexts) report_context(each);
  text_line line;
  line << "  blocking(): " << found.blocking.begun << " calls, on " << found.blocking.most_busy
       << " threads at the same time at most";
  report(line);
}

}  // namespace weft::impl
