// SPDX-License-Identifier: Apache-2.0

#include "sched/runtime_core.hpp"
#include "sched/wait.hpp"

#include <weft/runtime.hpp>
#include <weft/suspend.hpp>
#include <weft/this_fiber.hpp>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <thread>

namespace weft {
namespace detail {

void await_join(join_job& arm) noexcept {
  impl::task* const self = impl::current_task();
  WEFT_CHECK(self != nullptr, "the caller of a join is a task");
  impl::one_wait wait(*self, impl::wait_kind::shielded);
  self->note_arm(wait.ticket());
  if (arm.end.begin_wait(self->as_join_waiter()) == wait_duty::none) {
    (void)wait.abandon();
  } else {
    (void)wait.leave();
  }
}

void call_on_another_stack(void (*function)(void*) noexcept, void* with) noexcept {
  // With no other stack it goes on here, where there is still some room.
  if (!impl::try_call_elsewhere(function, with)) function(with);
}

bool push_slowly(worker_front& here, runnable added) noexcept {
  if (impl::current_worker()->of().is_forked()) impl::pool::fail_in_child();
  if (!here.tasks.push(added)) return false;
  here.tasks.see_to_thieves();
  impl::current_worker()->of().tell_of_push();
  return true;
}

void tell_of_push() noexcept { impl::current_worker()->of().tell_of_push(); }

void suspend(void (*publish)(void* with, resumer by), void* with, const char* reason) {
  impl::task* const self = impl::current_task();
  WEFT_CHECK(self != nullptr, "only a task can be suspended, not a plain thread");
  impl::check_stack(*impl::current_worker());
  impl::one_wait wait(*self);
  self->note_reason(reason);
  {
    ++self->no_suspend;  // there is one wait at a time
    const at_end allow([self] { --self->no_suspend; });
    publish(with, resumer(outside(*self), wait.ticket().epoch));
  }
  if (wait.leave() == impl::wake_cause::cancelled) throw cancelled();
}

}  // namespace detail

bool resumer::resume() const noexcept {
  WEFT_CHECK(task_ != nullptr, "a resumer that is for nothing was used");
  impl::task& task = detail::inside(*task_);
  switch (task.claim.try_claim({epoch_}, impl::wake_cause::ready)) {
    case impl::claim_outcome::lost: return false;
    case impl::claim_outcome::won_early: return true;
    case impl::claim_outcome::won: impl::pool::make_runnable(task); return true;
  }
  return false;
}

namespace this_fiber {

std::uint64_t id() noexcept {
  const impl::task* const self = impl::current_task();
  return self == nullptr ? 0 : self->id();
}

std::string_view name() noexcept {
  const impl::task* const self = impl::current_task();
  return self == nullptr ? std::string_view() : self->name();
}

bool is_cancelled() noexcept {
  const impl::task* const self = impl::current_task();
  return self != nullptr && impl::is_asked_to_stop(*self);
}

}  // namespace this_fiber

namespace {

// An enumeration may have come out of a file.
template <class Enumeration>
void check_option(const char* name, Enumeration value, Enumeration last) {
  const auto number = static_cast<unsigned>(value);
  if (number <= static_cast<unsigned>(last)) return;
  throw std::invalid_argument(std::string("runtime_options::") + name + " is " + std::to_string(number) +
                              "; its enumerators are numbered from 0 to " +
                              std::to_string(static_cast<unsigned>(last)));
}

impl::pool_options checked(const runtime_options& how) {
  constexpr std::uint32_t most_workers = 256;
  impl::pool_options options;
  options.workers =
      how.workers != 0 ? how.workers : std::clamp(std::thread::hardware_concurrency(), 1U, most_workers);
  options.cancels_leftovers = how.at_end == leftovers::cancelled;
  options.victims = how.victims;
  options.fresh = how.fresh;
  options.most_attempts = how.steal_attempts;
  options.steal = how.steal;
  options.measure_stack_every = how.measure_stack_every;
  options.runs_on_caller = detail::is_single_threaded || how.runs_on == runs_on::caller;
  options.fails_tasks_that_overflow = how.on_overflow == overflow::fail_task;
  options.seed = how.seed != 0 ? how.seed : impl::default_platform::entropy::seed();
  check_option("victims", how.victims, victim_order::most_loaded);
  check_option("fresh", how.fresh, placement::round_robin);
  check_option("at_end", how.at_end, leftovers::awaited);
  check_option("on_overflow", how.on_overflow, overflow::fail_task);
  check_option("runs_on", how.runs_on, runs_on::caller);
  if (how.workers > most_workers)
    throw std::invalid_argument("runtime_options::workers is " + std::to_string(how.workers) +
                                "; a runtime has 1 to 256, or 0 for as many as there are processors");
  if (options.runs_on_caller) {
    if (how.workers > 1)
      throw std::invalid_argument("runtime_options::workers is " + std::to_string(how.workers) +
                                  "; a runtime that runs on its caller's thread has 1" +
                                  (detail::is_single_threaded ? " (weft is built for a single thread)" : ""));
    if (impl::current_task() != nullptr)
      throw std::invalid_argument(
          "runtime_options::runs_on is caller in a task; a plain thread makes such a runtime, and waits for "
          "it");
    options.workers = 1;
  }
  if (how.steal_attempts == 0)
    throw std::invalid_argument(
        "runtime_options::steal_attempts is 0; a worker looks at 1 victim or more (to forbid it, set steal "
        "to false)");
  return options;
}

}  // namespace

void runtime::end_core::operator()(detail::runtime_core* core) const noexcept {
  if (!core->is_forked()) delete core;  // else it is left as it is: its threads are another process's
}

detail::runtime_core* runtime::make_core(const runtime_options& how) {
  const impl::pool_options options = checked(how);
  try {
    return new detail::runtime_core(options);
  } catch (const std::bad_alloc&) {
    throw std::system_error(make_error_code(errc::out_of_memory));
  }
}

runtime::runtime(const runtime_options& how) : core_(make_core(how)) {
  if (const result<void> started = core_->start(); !started) throw std::system_error(started.error());
}

runtime::~runtime() {
  if (core_->is_forked()) return;
  core_->close();
  if (core_->options().cancels_leftovers) core_->cancel_all();
}

shutdown_report runtime::shut_down(std::chrono::nanoseconds within) {
  if (core_->is_forked()) throw std::system_error(make_error_code(errc::forked));
  core_->close();
  core_->cancel_all();
  const impl::time_point deadline = impl::saturating_add(impl::default_platform::clock().now(), within);
  if (core_->drain(deadline)) return {};
  return {.still_alive = core_->list()};
}

void runtime::request_cancel() noexcept {
  if (!core_->is_forked()) core_->cancel_all();
}

void runtime::set_stealing(bool enabled) noexcept { core_->set_stealing(enabled); }

std::vector<worker_statistics> runtime::statistics() const {
  std::vector<worker_statistics> all;
  for (const auto& each : core_->workers()) {
    all.push_back({.tasks = each->row().ended(),
                   // relaxed: statistics
                   .stolen = each->counters.stolen.load(std::memory_order_relaxed),
                   .failed_steals = each->counters.failed_steals.load(std::memory_order_relaxed)});
  }
  return all;
}

std::vector<stack_use> runtime::stack_uses() const {
  if (core_->is_forked()) throw std::system_error(make_error_code(errc::forked));
  return core_->depths().list();
}

std::uint32_t runtime::workers() const noexcept { return core_->options().workers; }

}  // namespace weft
