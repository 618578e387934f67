// SPDX-License-Identifier: Apache-2.0

#include "base/report.hpp"
#include "sched/checked_options.hpp"
#include "sched/default_runtime.hpp"
#include "sched/failure.hpp"
#include "sched/runtime_core.hpp"
#include "sched/wait.hpp"

#include <weft/error.hpp>
#include <weft/execution_context.hpp>
#include <weft/runtime.hpp>

#include <new>
#include <system_error>
#include <utility>

namespace weft::impl {

commons& runtime_here() {
  const worker* const here = current_worker();
  return here != nullptr ? here->all() : default_runtime();
}

// The seed of a context comes out of that of the runtime, so that a run can be repeated.
detail::context_core& start_context(commons& in, pool_options options) {
  if (in.is_forked()) fail(errc::forked);
  if (detail::is_single_threaded || in.runs_on_caller()) fail(errc::single_threaded);
  options.seed = in.next_seed();
  try {
    auto made = std::make_unique<detail::context_core>(in, options);
    if (const result<void> started = made->start(); !started) fail(started.error());
    return *made.release();
  } catch (const std::bad_alloc&) {
    fail(errc::out_of_memory);
  }
}

}  // namespace weft::impl

namespace weft {
namespace {

using impl::runtime_here;
using impl::start_context;

impl::pool_options isolated(impl::commons& in, std::string_view name, const isolated_options& how) {
  impl::pool_options options = impl::checked(name, how, in);
  options.spawns_into = in.first();
  if (how.spawns_into == nullptr) return options;
  impl::pool& target = detail::core_of(*how.spawns_into);
  if (&target.all() != &in) impl::fail(errc::wrong_context);
  if (target.options().spawns_into != nullptr) impl::fail(errc::isolated_context);
  options.spawns_into = &target;
  return options;
}

}  // namespace

detail::context_core& detail::core_of(execution_context& of) noexcept { return *of.core_; }

detail::context_core* detail::target_of(const spawn_options& how) noexcept {
  return how.context != nullptr ? context_access::target(*how.context) : nullptr;
}

void detail::runtime_core::start(const impl::pool_options& first) {
  if (const result<void> ready = commons::start(); !ready) impl::fail(ready.error());
  auto made = std::make_unique<context_core>(*this, first);
  if (const result<void> started = made->start(); !started) impl::fail(started.error());
  main.reset(new parallel_context(*made.release()));
}

execution_context::execution_context(detail::context_core& started) noexcept
    : core_(&started), target_(&started) {
  started.show(*this);
  if (started.options().spawns_into != nullptr)
    target_ = static_cast<detail::context_core*>(started.options().spawns_into);
}

execution_context::~execution_context() = default;

void execution_context::end_core::operator()(detail::context_core* core) const noexcept {
  if (core->all().is_forked()) return;  // it is left as it is: its threads are another process's
  if (core->options().cancels_leftovers) {
    core->close(impl::turned_away::strangers);
    core->cancel_all();
  }
  if (core->all().options().reports_statistics && core != core->all().first()) {
    (void)core->drain();
    try {
      core->report_statistics();
    } catch (const std::bad_alloc&) {
      impl::report(impl::text_line() << "no memory for the statistics of an execution context");
    }
  }
  delete core;
}

void execution_context::request_cancel() noexcept {
  if (!core_->all().is_forked()) core_->cancel_all();
}

std::string_view execution_context::name() const noexcept { return core_->options().name; }

std::uint32_t execution_context::workers() const noexcept { return core_->limit(); }
std::uint32_t execution_context::threads() const noexcept {
  if (core_->is_arranged()) return core_->places_taken();
  return core_->options().runs_on_caller ? 0 : core_->workers().there();
}

context_statistics execution_context::statistics() const { return core_->statistics(); }

execution_context* execution_context::current() noexcept {
  const impl::task* const self = impl::current_task();
  return self == nullptr ? nullptr : self->home().face();
}

parallel_context::parallel_context(std::string_view name, const context_options& how)
    : execution_context(start_context(runtime_here(), impl::checked(name, how, runtime_here()))) {}
parallel_context::parallel_context(runtime& in, std::string_view name, const context_options& how)
    : execution_context(start_context(*detail::core_of(in), impl::checked(name, how, *detail::core_of(in)))) {
}
parallel_context::~parallel_context() = default;

void parallel_context::resize(worker_count workers) {
  if (core_->all().is_forked()) impl::fail(errc::forked);
  if (core_->options().runs_on_caller) impl::fail(errc::single_threaded);
  if (const result<void> resized = core_->resize(impl::checked(workers, core_->all())); !resized)
    impl::fail(resized.error());
}

concurrent_context::concurrent_context(std::string_view name, const concurrent_options& how)
    : execution_context(start_context(runtime_here(), impl::checked(name, how, runtime_here()))) {}
concurrent_context::concurrent_context(runtime& in, std::string_view name, const concurrent_options& how)
    : execution_context(start_context(*detail::core_of(in), impl::checked(name, how, *detail::core_of(in)))) {
}
concurrent_context::~concurrent_context() = default;

isolated_context::isolated_context(std::string_view name, std::function<void()> function,
                                   const isolated_options& how, detail::source_site site)
    : execution_context(start_context(runtime_here(), isolated(runtime_here(), name, how))),
      only_(detail::spawn_with(core_.get(), nullptr, std::move(function), site)) {}
isolated_context::isolated_context(runtime& in, std::string_view name, std::function<void()> function,
                                   const isolated_options& how, detail::source_site site)
    : execution_context(start_context(*detail::core_of(in), isolated(*detail::core_of(in), name, how))),
      only_(detail::spawn_with(core_.get(), nullptr, std::move(function), site)) {}

isolated_context::~isolated_context() {
  if (only_) only_.request_cancel();
}

void isolated_context::join() { only_.join(); }

void move_to(execution_context& to) {
  impl::task* const self = impl::current_task();
  if (self == nullptr) impl::fail(errc::no_runtime);
  WEFT_CHECK(self->no_suspend == 0,
             "a task goes to another context although a no_suspend forbids it to wait");
  WEFT_CHECK(!self->goes().is_pinned(),
             "a task goes to another context although a pin_guard forbids it to move");
  impl::pool& there = detail::core_of(to);
  impl::worker& here = *impl::current_worker();
  impl::check_stack(here);
  if (&there == &self->home()) return;
  if (&there.all() != &here.all()) impl::fail(errc::wrong_context);
  if (there.options().spawns_into != nullptr) impl::fail(errc::isolated_context);
  if (!there.try_enter(false)) impl::fail(errc::shut_down);
  if (impl::is_asked_to_stop(*self, here))
    self->cancel.request();  // with all that were there; so it goes along
  impl::go_to(*self, there);
}

}  // namespace weft
