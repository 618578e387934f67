// SPDX-License-Identifier: Apache-2.0

#include "sched/identity.hpp"
#include "sched/loop.hpp"
#include "sched/pool.hpp"
#include "sched/unobserved.hpp"
#include "sched/wait.hpp"

#include <weft/runtime.hpp>
#include <weft/suspend.hpp>
#include <weft/this_fiber.hpp>

#include <stdexcept>
#include <string>
#include <thread>

namespace weft {
namespace detail {

struct runtime_core : impl::pool {
  using pool::pool;
};

namespace {

static_assert(sizeof(impl::task) == 112, "detail::body_of() says where the body begins");

impl::task& inside(task_record& record) noexcept { return reinterpret_cast<impl::task&>(record); }
const impl::task& inside(const task_record& record) noexcept {
  return reinterpret_cast<const impl::task&>(record);
}
task_record& outside(impl::task& task) noexcept { return reinterpret_cast<task_record&>(task); }

[[noreturn]] void fail(std::error_code why) { throw std::system_error(why); }

// Waits on a thread that is no worker.
void await_on_thread(impl::task& of) noexcept {
  impl::parker mine;
  if (!of.handle.begin_wait(impl::waiter_word(mine))) return;
  mine.park();
  WEFT_CHECK(of.handle.is_done(), "woken before the task was done");  // and that orders us after it
}

// Waits in a task. Throws where it is cancelled, and has left then.
void await_in_task(impl::task& self, impl::task& of) {
  while (!of.handle.is_done()) {
    impl::one_wait wait(self);
    self.note_join(wait.ticket());
    if (!of.handle.begin_wait(impl::waiter_word(self))) {
      (void)wait.abandon();
      return;
    }
    if (wait.leave() != impl::wake_cause::cancelled) continue;
    if (of.handle.end_wait(impl::waiter_word(self))) throw cancelled();
    return;
  }
}

// The last thing that a holder does with a record.
void give_back(impl::task& ended) noexcept {
  impl::pool& home = *ended.home;
  impl::release_edge(ended.record_edge());
  home.release(ended);
}

}  // namespace

task_record& new_task(runtime_core* in, const task_code& code, source_site site) {
  impl::pool* where = in;
  impl::task* const parent = impl::current_task();
  if (where == nullptr) {
    if (parent == nullptr) fail(errc::no_runtime);
    where = parent->home;
  }
  const result<impl::task*> made = where->new_task();
  if (!made) fail(made.error());
  impl::task& task = **made;
  impl::acquire_edge(task.record_edge());
  task.code = &code;
  task.home = where;
  task.site = impl::packed_site(site);
  task.context = parent != nullptr ? parent->context : nullptr;
  return outside(task);
}

void discard_task(task_record& blank) noexcept { inside(blank).home->discard(inside(blank)); }

void begin_task(task_record& made) {
  impl::task& task = inside(made);
  if (task.home->begin(task)) return;
  fail(errc::closed);
}

task_outcome await_end(task_record& of) {
  impl::task& child = inside(of);
  if (!child.handle.is_done()) {
    if (impl::task* const self = impl::current_task()) {
      await_in_task(*self, child);
    } else {
      await_on_thread(child);
    }
  }
  return child.outcome.load(std::memory_order_relaxed);  // relaxed: shown with the end of the task
}

bool has_ended(const task_record& one) noexcept { return inside(one).handle.is_done(); }

void release_task(task_record& ended) noexcept { give_back(inside(ended)); }

void drop_task(task_record& held) noexcept {
  impl::task& task = inside(held);
  if (!task.handle.drop()) return;
  const task_outcome outcome = task.outcome.load(std::memory_order_relaxed);  // relaxed: shown with its end
  if (outcome == task_outcome::error) impl::report_unobserved(task);
  task.code->clear(impl::body_of(task), outcome);
  give_back(task);
}

void request_cancel(task_record& held) noexcept { inside(held).home->cancel(inside(held)); }

std::uint64_t id_of(const task_record& one) noexcept { return inside(one).id; }

void await_join(join_job& arm) noexcept {
  impl::task& self = *impl::current_task();
  impl::one_wait wait(self, impl::wait_kind::shielded);
  self.note_join(wait.ticket());
  if (arm.end.begin_wait(self.as_join_waiter()) == wait_duty::none) {
    (void)wait.abandon();
  } else {
    (void)wait.leave();
  }
}

void call_on_another_stack(void (*function)(void*) noexcept, void* with) noexcept {
  // With no other stack it goes on here, where there is still some room.
  if (!impl::try_call_elsewhere(function, with)) function(with);
}

void tell_of_push() noexcept { impl::current_worker()->of().tell_of_push(); }

void suspend(void (*publish)(void* with, resumer by), void* with, const char* reason) {
  impl::task* const self = impl::current_task();
  WEFT_CHECK(self != nullptr, "only a task can be suspended, not a plain thread");
  impl::one_wait wait(*self);
  self->note_reason(reason);
  publish(with, resumer(outside(*self), wait.ticket().epoch));
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

void yield() {
  impl::task* const self = impl::current_task();
  if (self == nullptr) return std::this_thread::yield();
  if (self->cancel.requested()) throw cancelled();
  impl::let_others_run(*self);
}

std::uint64_t id() noexcept {
  const impl::task* const self = impl::current_task();
  return self == nullptr ? 0 : self->id;
}

bool is_cancelled() noexcept {
  const impl::task* const self = impl::current_task();
  return self != nullptr && self->cancel.requested();
}

}  // namespace this_fiber

namespace {

impl::pool_options checked(const runtime_options& how) {
  constexpr std::uint32_t most_workers = 256;
  impl::pool_options options;
  options.workers = how.workers != 0 ? how.workers : std::max(1U, std::thread::hardware_concurrency());
  options.seed = how.seed != 0 ? how.seed : impl::default_platform::entropy::seed();
  if (how.workers > most_workers)
    throw std::invalid_argument("runtime_options::workers is " + std::to_string(how.workers) +
                                "; a runtime has 1 to 256, or 0 for as many as there are processors");
  return options;
}

}  // namespace

void runtime::end_core::operator()(detail::runtime_core* core) const noexcept { delete core; }

runtime::runtime(const runtime_options& how) : core_(new detail::runtime_core(checked(how))) {
  if (const result<void> started = core_->start(); !started) throw std::system_error(started.error());
}

runtime::~runtime() {
  core_->close();
  core_->cancel_all();
}

void runtime::request_cancel() noexcept { core_->cancel_all(); }

std::uint32_t runtime::workers() const noexcept { return core_->options().workers; }

}  // namespace weft
