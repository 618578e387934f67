// SPDX-License-Identifier: Apache-2.0

#include "sched/await.hpp"
#include "sched/default_runtime.hpp"
#include "sched/runtime_core.hpp"
#include "sched/spawn_here.hpp"
#include "sched/unobserved.hpp"

#include <weft/cancelled.hpp>
#include <weft/detail/task_access.hpp>
#include <weft/error.hpp>

#include <memory>
#include <stdexcept>
#include <string>

namespace weft::detail {
namespace {

using impl::fail;

// Not done yet.
[[gnu::noinline]] void await_slowly(impl::task& child) {
  if (child.all().is_forked()) fail(errc::forked);
  impl::task* const self = impl::current_task();
  WEFT_CHECK(&child != self, "a task joins itself, and would wait for ever");
  impl::check_can_be_awaited(child.all(), self);
  if (self == nullptr) return impl::await_on_thread(child.all(), child.handle);
  impl::check_stack(*impl::current_worker());
  if (!impl::await_in_task(*self, child.handle, impl::wait_kind::cancellable)) throw cancelled();
}

// From a thread that is no worker, or into another runtime.
[[gnu::noinline]] task_record& spawn_elsewhere(context_core* in, const task_code& code, packed_site site,
                                               closure_words closure) {
  task_record& made = new_task(in, code, site);
  impl::put_words(inside(made), closure);
  begin_task(made);
  return made;
}

// Where those go who come from a plain thread and do not say where to.
[[gnu::noinline]] context_core& default_pool() { return core_of(*impl::default_runtime().main); }

// The last thing that a holder does with a record.
void give_back(impl::task& ended) noexcept {
  impl::commons& all = ended.all();
  const impl::low_stack_section low(impl::current_worker());
  impl::release_edge(ended.record_edge());
  all.release(ended);
}

}  // namespace

task_record& new_task(context_core* in, const task_code& code, packed_site site) {
  impl::task* const parent = impl::current_task();
  if (parent != nullptr) impl::check_stack(*impl::current_worker());
  if (!WEFT_LIKELY(in != nullptr || parent != nullptr)) in = &default_pool();
  impl::pool* const where = in != nullptr ? in : &impl::home_of_children(*impl::current_worker());
  const result<impl::task*> made = where->all().new_task();
  if (!made) fail(made.error());
  impl::task& task = **made;
  impl::acquire_edge(task.record_edge());
  task.begin_life(code, site, where->usual(), parent);
  task.belong_to(where->usual(), where->inner() != nullptr);
  if (parent == nullptr) task.set_context(impl::share_context(impl::context_of_thread()));
  return outside(task);
}

task_record& spawn_words(context_core* in, const task_code& code, packed_site site, closure_words closure) {
  impl::worker* const here = impl::current_worker();
  if (here != nullptr) impl::check_stack(*here);
  if (WEFT_LIKELY(here != nullptr && (in == nullptr ? here->spawns_here() : impl::is_at_home(*here, *in))))
    return outside(impl::spawn_here(*here, nullptr, code, site, closure));
  return spawn_elsewhere(in, code, site, closure);
}

void set_options(task_record& blank, const spawn_options& how) {
  impl::task& task = inside(blank);
  if (const impl::pool* const target = target_of(how)) {
    if (&target->all() != &task.all()) fail(errc::wrong_context);
    task.belong_to(target->usual(), target->inner() != nullptr);
  }
  const bool has_own_stack = how.stack_bytes != 0;
  const auto stack = impl::stack_class::holding(how.stack_bytes);
  if (has_own_stack && !stack)
    throw std::invalid_argument("spawn_options::stack_bytes is " + std::to_string(how.stack_bytes) +
                                "; a stack has 8192 to 8388608 bytes, or 0 for one like all others");
  if (has_own_stack || !how.name.empty()) {
    impl::task_extras& extras = task.make_extras();
    extras.name = how.name;
    if (has_own_stack) {
      extras.stack = *stack;
      task.add(impl::task_mark::own_stack);
    }
  }
  if (how.priority > priority::low)
    throw std::invalid_argument("spawn_options::priority is " +
                                std::to_string(static_cast<unsigned>(how.priority)) +
                                "; there are normal (0), high (1) and low (2)");
  task.go(task.goes().in(how.priority));
}

void discard_task(task_record& blank) noexcept { inside(blank).all().discard(inside(blank)); }

void begin_task(task_record& made) {
  impl::task& task = inside(made);
  impl::pool& home = task.home();
  impl::commons& all = task.all();
  if (!WEFT_LIKELY(home.begin(task))) fail(all.refusal());
}

task_outcome await_end(task_record& of) {
  impl::task& child = inside(of);
  if (!child.handle.is_done()) await_slowly(child);
  return child.outcome.load(std::memory_order_relaxed);  // relaxed: shown with the end of the task
}

task_state state_of(const task_record& one) noexcept { return inside(one).state_approx(); }

bool has_ended(const task_record& one) noexcept { return inside(one).handle.is_done(); }

void release_task(task_record& ended) noexcept { give_back(inside(ended)); }

void drop_task(task_record& held) noexcept {
  impl::task& task = inside(held);
  if (!task.handle.drop()) return;
  const task_outcome outcome = task.outcome.load(std::memory_order_relaxed);  // relaxed: shown with its end
  if (outcome == task_outcome::error) impl::report_unobserved(task);
  impl::clear_result(task, outcome);
  give_back(task);
}

void request_cancel(task_record& held) noexcept { impl::pool::cancel(inside(held)); }

std::uint64_t id_of(const task_record& one) noexcept { return inside(one).id(); }

}  // namespace weft::detail
