// SPDX-License-Identifier: Apache-2.0

#include "base/report.hpp"
#include "sched/checked_options.hpp"
#include "sched/custom_access.hpp"
#include "sched/failure.hpp"
#include "sched/runtime_core.hpp"
#include "sched/task_name.hpp"
#include "stack/overflow.hpp"

#include <weft/custom_context.hpp>
#include <weft/error.hpp>
#include <weft/runtime.hpp>

#include <cstdlib>
#include <memory>
#include <string>
#include <system_error>
#include <utility>

namespace weft {
namespace {

impl::runnable as_runnable(impl::task& ready, bool is_fresh) noexcept {
  return {is_fresh ? impl::runnable::kind::task : impl::runnable::kind::fiber, &ready};
}

detail::context_core& start_custom(impl::commons& in, std::string_view name, const custom_options& how) {
  // Its tasks' timers are the first context's, which must have somebody to look at them.
  if (in.runs_on_caller()) impl::fail(errc::single_threaded);
  return impl::start_context(in, impl::checked(name, how));
}

detail::context_core& start_wrapping(std::string_view name, execution_context& inner,
                                     const wrapping_options& how) {
  detail::context_core& wrapped = detail::core_of(inner);
  if (wrapped.options().spawns_into != nullptr) impl::fail(errc::isolated_context);
  return impl::start_context(wrapped.all(), impl::checked(name, how, wrapped));
}

// Who calls a virtual function of something that is half gone calls the wrong one.
void check_left(impl::pool& ended, const char* what_to_do) noexcept {
  if (ended.all().is_forked()) return;
  ended.close(impl::turned_away::strangers);
  if (ended.is_left()) return;
  ended.await_guests();  // who is turned away counts itself in and out again
  if (ended.is_left()) return;
  impl::text_line line;
  line << "execution context '" << ended.options().name
       << "' was destroyed with tasks in it; in the destructor of its class " << what_to_do;
  impl::report(line);
  std::abort();
}

}  // namespace

// -- A task in the hands of its context ------------------------------------------------------------------------------------------

ready_task& ready_task::operator=(ready_task&& other) noexcept {
  if (this == &other) return *this;
  if (task_ != nullptr) fail_as_lost();
  task_ = std::exchange(other.task_, nullptr);
  is_fresh_ = other.is_fresh_;
  return *this;
}

std::uint64_t ready_task::id() const noexcept { return detail::inside(*task_).id(); }
std::string_view ready_task::name() const noexcept { return detail::inside(*task_).name(); }
priority ready_task::priority() const noexcept { return detail::inside(*task_).goes().lane(); }

void ready_task::fail_as_lost() const noexcept {
  if (detail::inside(*task_).all().is_forked()) return;  // nobody runs there
  impl::text_line line;
  line << "a ready_task was destroyed, and so would never run: ";
  impl::append_task(line, detail::inside(*task_));
  line << "; a context runs what it is given, or passes it on";
  impl::report(line);
  std::abort();
}

arranging_context::~arranging_context() = default;

// -- Custom ----------------------------------------------------------------------------------------------------------------------

custom_context::custom_context(std::string_view name, const custom_options& how)
    : arranging_context(start_custom(impl::runtime_here(), name, how)) {}
custom_context::custom_context(runtime& in, std::string_view name, const custom_options& how)
    : arranging_context(start_custom(*detail::core_of(in), name, how)) {}

custom_context::~custom_context() {
  if (core_->all().is_forked()) return;
  check_left(*core_, "call close(), and run what comes until is_over()");
  WEFT_CHECK(core_->places_taken() == 0,
             "a custom_context is destroyed before its runner; destroy the runner first");
}

void custom_context::close() noexcept {
  if (core_->all().is_forked()) return;
  core_->close(impl::turned_away::strangers);
  core_->cancel_all();
}

bool custom_context::is_over() noexcept { return core_->all().is_forked() || core_->is_left(); }

custom_context::runner::runner(custom_context& of) : of_(of), place_(0), faults_(new impl::alternate_stack) {
  std::unique_ptr<impl::alternate_stack> faults(static_cast<impl::alternate_stack*>(faults_));
  impl::pool& core = *of.core_;
  WEFT_CHECK(impl::current_worker() == nullptr,
             "a runner of a custom_context is made by a thread of weft's, or in a task");
  if (core.all().is_forked()) impl::fail(errc::forked);
  if (const result<void> installed = faults->install(); !installed) impl::fail(installed.error());
  const result<std::uint32_t> place = core.take_place();
  if (!place && place.error() == errc::would_block)
    throw std::system_error(make_error_code(errc::would_block),
                            "context '" + core.options().name +
                                "' has all the runners that custom_options::runners allows, " +
                                std::to_string(core.limit()));
  if (!place) impl::fail(place.error());
  place_ = *place;
  (void)faults.release();
}

custom_context::runner::~runner() {
  if (!of_.core_->all().is_forked()) of_.core_->give_place(place_);
  delete static_cast<impl::alternate_stack*>(faults_);
}

void custom_context::runner::run(ready_task ready) noexcept {
  WEFT_CHECK(ready, "a runner of a custom_context is given no task");
  WEFT_CHECK(impl::current_worker() == nullptr,
             "a runner of a custom_context is used by a thread of weft's, or in a task");
  const bool is_fresh = ready.is_fresh();
  impl::task& task = detail::context_access::take(ready);
  if (task.all().is_forked()) impl::commons::fail_in_child();
  WEFT_CHECK(impl::is_within(task.goes().home(), of_.core_->id()),
             "a runner of a custom_context is given a task of another context");
  of_.core_->run_one(place_, as_runnable(task, is_fresh));
}

// -- Wrapping --------------------------------------------------------------------------------------------------------------------

wrapping_context::wrapping_context(std::string_view name, execution_context& inner,
                                   const wrapping_options& how)
    : arranging_context(start_wrapping(name, inner, how)), inner_(inner) {}

wrapping_context::~wrapping_context() { check_left(*core_, "call end()"); }

void wrapping_context::pass_on(ready_task ready) noexcept {
  WEFT_CHECK(ready, "a wrapping_context passes no task on");
  const bool is_fresh = ready.is_fresh();
  impl::task& task = detail::context_access::take(ready);
  WEFT_CHECK(impl::is_within(task.goes().home(), core_->id()),
             "a wrapping_context passes on a task of another context");
  core_->inner()->accept(as_runnable(task, is_fresh), task);
}

void wrapping_context::end() noexcept {
  if (core_->all().is_forked()) return;
  core_->close(impl::turned_away::strangers);
  if (core_->options().cancels_leftovers) core_->cancel_all();
  (void)core_->drain();
  while (!core_->is_left()) {
  }
}

// -- What a pool asks of them ------------------------------------------------------------------------------------------------------

impl::task& detail::context_access::take(ready_task& from) noexcept {
  return inside(*std::exchange(from.task_, nullptr));
}

void detail::context_access::enqueue(execution_context& arranges, impl::task& ready, bool is_fresh) noexcept {
  static_cast<arranging_context&>(arranges).enqueue({outside(ready), is_fresh});
}

void detail::context_access::note_leave(execution_context& left, const impl::task& leaving) noexcept {
  static_cast<wrapping_context&>(left).on_leave({.id = leaving.id(), .name = leaving.name()});
}

namespace impl {

void enqueue(execution_context& arranges, task& ready, bool is_fresh) noexcept {
  detail::context_access::enqueue(arranges, ready, is_fresh);
}
void note_leave(execution_context& left, const task& leaving) noexcept {
  detail::context_access::note_leave(left, leaving);
}

}  // namespace impl
}  // namespace weft
