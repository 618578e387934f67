// SPDX-License-Identifier: Apache-2.0

#include "sched/await.hpp"
#include "sched/default_runtime.hpp"
#include "sched/nursery_core.hpp"
#include "sched/runtime_core.hpp"
#include "sched/spawn_here.hpp"

#include <weft/cancelled.hpp>
#include <weft/detail/nursery_access.hpp>
#include <weft/error.hpp>

#include <new>
#include <system_error>
#include <utility>

namespace weft::impl {

nursery_core::~nursery_core() {
  failure* each = failures_.load(std::memory_order_relaxed);  // relaxed: nobody else is here any more
  while (each != nullptr) delete std::exchange(each, each->earlier);
}

void nursery_core::count_out(std::uint64_t ended) noexcept {
  if (!children_.count_out(ended)) return;
  const task_ending ending = children_.end();
  if (ending.duty == finish_duty::wake) pool::wake_waiter(ending.waiter);
}

void nursery_core::cancel() noexcept {
  children_.cancel.request();
  if (all_.is_forked()) return;  // its children are in the parent
  cancel_flag::settle(all_.barriers());
  all_.wake_cancelled(as_owner());
}

void nursery_core::fail(std::exception_ptr why) noexcept {
  // NOLINTNEXTLINE(bugprone-unhandled-exception-at-new): without memory that ends the program; it is never silent
  auto* const mine = new failure{std::move(why)};
  // relaxed: the exchange decides.
  mine->earlier = failures_.load(std::memory_order_relaxed);
  // release: who reads the list finds all of it. [NU-failures] Within this, those that came before are not touched.
  while (!failures_.compare_exchange_weak(mine->earlier, mine, std::memory_order_release,
                                          std::memory_order_relaxed)) {
  }
  cancel();
}

std::exception_ptr nursery_core::first_failure() const noexcept {
  const failure* each = failures_.load(std::memory_order_acquire);  // [NU-failures]
  if (each == nullptr) return nullptr;
  while (each->earlier != nullptr) each = each->earlier;
  return each->why;
}

bool nursery_core::close(bool is_cancelled) noexcept {
  if (is_cancelled) cancel();
  if (!children_.close()) {
    task* const self = current_task();
    check_can_be_awaited(all_, self);
    if (self == nullptr) {
      await_on_thread(all_, children_.wait_word());
    } else if (!await_in_task(*self, children_.wait_word(), wait_kind::cancellable)) {
      if (!std::exchange(is_cancelled, true)) cancel();
      (void)await_in_task(*self, children_.wait_word(), wait_kind::shielded);
    }
  }
  acquire_edge(this);
  return is_cancelled;
}

}  // namespace weft::impl

namespace weft::detail {
namespace {

using impl::nursery_core;

static_assert(sizeof(nursery_core) <= sizeof(nursery_state::bytes));
static_assert(alignof(nursery_core) <= alignof(nursery_state));
nursery_core& inside(nursery_state& state) noexcept {
  return *std::launder(reinterpret_cast<nursery_core*>(state.bytes));
}

// The worker that a child can simply be spawned on; null where it is not there that it runs.
WEFT_ALWAYS_INLINE impl::worker* worker_for_child(const nursery_core& of) noexcept {
  impl::worker* const here = impl::current_worker();
  if (here == nullptr) return nullptr;
  const bool is_there = of.only() == nullptr ? here->spawns_here() && &here->all() == &of.all()
                                             : impl::is_at_home(*here, *of.only());
  return is_there ? here : nullptr;
}

context_core* home_for_child(const nursery_core& of) noexcept {
  if (of.only() != nullptr) return static_cast<context_core*>(of.only());
  impl::worker* const here = of.all().worker_here();
  return static_cast<context_core*>(here != nullptr ? &impl::home_of_children(*here) : of.all().first());
}

}  // namespace

void open_nursery(nursery_state& made, context_core* in) {
  const impl::task* const owner = impl::current_task();
  impl::commons& all = in != nullptr ? in->all() : owner != nullptr ? owner->all() : impl::default_runtime();
  new (made.bytes) nursery_core(all, in, owner);
}

task_record& new_child(nursery_state& of, const task_code& code, packed_site site) {
  return new_task(home_for_child(inside(of)), code, site);
}

void begin_child(nursery_state& of, task_record& made) {
  nursery_core& in = inside(of);
  impl::task& child = inside(made);
  if (WEFT_LIKELY(child.home().begin(child, &in))) return;
  in.count_out(1);
  impl::fail(in.all().refusal());
}

void spawn_child_words(nursery_state& of, const task_code& code, packed_site site, closure_words closure) {
  nursery_core& in = inside(of);
  if (impl::worker* const here = worker_for_child(in); WEFT_LIKELY(here != nullptr)) {
    impl::check_stack(*here);
    (void)impl::spawn_here(*here, &in, code, site, closure);
    return;
  }
  task_record& made = new_child(of, code, site);
  impl::put_words(inside(made), closure);
  begin_child(of, made);
}

void cancel_nursery(nursery_state& of) noexcept { inside(of).cancel(); }

void fail_nursery(nursery_state& of, std::exception_ptr why) noexcept { inside(of).fail(std::move(why)); }

void close_nursery(nursery_state& ended, bool is_cancelled) {
  nursery_core& in = inside(ended);
  if (in.all().is_forked()) impl::fail(errc::forked);  // its children are in the parent
  is_cancelled = in.close(is_cancelled);
  const std::exception_ptr failed = in.first_failure();
  in.~nursery_core();
  if (failed != nullptr) std::rethrow_exception(failed);
  if (is_cancelled) throw cancelled();
}

}  // namespace weft::detail
