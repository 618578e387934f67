// SPDX-License-Identifier: Apache-2.0

#include "base/report.hpp"
#include "sched/checked_options.hpp"
#include "sched/runtime_core.hpp"
#include "sched/wait.hpp"

#include <weft/runtime.hpp>
#include <weft/suspend.hpp>
#include <weft/this_fiber.hpp>

#include <memory>
#include <new>
#include <system_error>

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
  if (impl::current_worker()->all().is_forked()) impl::commons::fail_in_child();
  if (!here.tasks.push(added)) return false;
  here.tasks.see_to_thieves();
  here.tell_if_somebody_is_idle(here.barriers);
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
  return self != nullptr && impl::is_asked_to_stop(*self, *impl::current_worker());
}

}  // namespace this_fiber

void runtime::end_core::operator()(detail::runtime_core* core) const noexcept {
  if (!core->is_forked()) delete core;  // else it is left as it is: its threads are another process's
}

detail::runtime_core* runtime::make_core(const runtime_options& how) {
  const impl::core_options options = impl::checked(how);
  try {
    auto made = std::make_unique<detail::runtime_core>(options.all);
    made->start(options.first);
    return made.release();
  } catch (const std::bad_alloc&) {
    throw std::system_error(make_error_code(errc::out_of_memory));
  }
}

runtime::runtime(const runtime_options& how) : core_(make_core(how)), main_(&detail::core_of(*core_->main)) {}

runtime::~runtime() {
  if (core_->is_forked()) return;
  core_->close();
  if (core_->options().cancels_leftovers) core_->cancel_all();
  const impl::commons_options& how = core_->options();
  if (!how.reports_statistics && !how.reports_stacks) return;
  (void)core_->drain(impl::never);
  try {
    if (how.reports_statistics) core_->report_statistics();
    if (how.reports_stacks) core_->report_stacks();
  } catch (const std::bad_alloc&) {
    impl::report(impl::text_line() << "no memory for the statistics of a runtime");
  }
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

void runtime::set_stealing(bool enabled) noexcept { main_->set_stealing(enabled); }

runtime_statistics runtime::statistics() const {
  if (core_->is_forked()) throw std::system_error(make_error_code(errc::forked));
  return core_->statistics();
}

std::vector<stack_use> runtime::stack_uses() const {
  if (core_->is_forked()) throw std::system_error(make_error_code(errc::forked));
  return core_->depths().list();
}

std::uint32_t runtime::workers() const noexcept { return main_->limit(); }

}  // namespace weft
