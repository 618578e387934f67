// SPDX-License-Identifier: Apache-2.0

#include "sched/loop.hpp"

#include "arch/switch.hpp"
#include "sched/failure.hpp"
#include "sched/identity.hpp"
#include "sched/nursery_core.hpp"
#include "sched/pool.hpp"
#include "sched/queue_probe.hpp"
#include "sched/unobserved.hpp"
#include "stack/registry.hpp"
#include "stack/usage.hpp"

#include <weft/cancelled.hpp>
#include <weft/detail/sanitizers.hpp>
#include <weft/error.hpp>
#include <weft/this_fiber.hpp>

#include <exception>
#include <new>
#include <system_error>
#include <thread>
#include <utility>

#if WEFT_HAS_RETURN_THUNK
// What WEFT_RETURNS_BY_JUMP makes of a `ret`. The name is the compiler's. Eight jumps instead of one, chosen by three bits of a hash of where
// to (of its place in its page, so that it is the same in each run): so the processor's memory of branches holds something of the
// last returns, and sites that take turns are mostly guessed each by a jump of its own (decision 0009).
#define WEFT_JUMP "notrack jmp *%r11\n\t.p2align 4\n"
// NOLINTNEXTLINE(bugprone-reserved-identifier,readability-identifier-naming)
extern "C" __attribute__((naked, used, externally_visible, visibility("hidden"))) void __x86_return_thunk() {
  asm volatile(
      "popq %r11\n\t"
      ".cfi_def_cfa_offset 0\n\t"
      ".cfi_register rip, r11\n\t"
      "imull $0x9e300000, %r11d, %r10d\n\t"
      "testl %r10d, %r10d\n\t"
      "js 4f\n\t"
      "addl %r10d, %r10d\n\t"
      "js 2f\n\t"
      "addl %r10d, %r10d\n\t"
      "js 1f\n\t" WEFT_JUMP "1:\t" WEFT_JUMP
      "2:\taddl %r10d, %r10d\n\t"
      "js 3f\n\t" WEFT_JUMP "3:\t" WEFT_JUMP
      "4:\taddl %r10d, %r10d\n\t"
      "js 6f\n\t"
      "addl %r10d, %r10d\n\t"
      "js 5f\n\t" WEFT_JUMP "5:\t" WEFT_JUMP
      "6:\taddl %r10d, %r10d\n\t"
      "js 7f\n\t" WEFT_JUMP "7:\tnotrack jmp *%r11");
}
#undef WEFT_JUMP
#endif

namespace weft::impl {
namespace {

// Or it would return from there, by a `ret`.
WEFT_ALWAYS_INLINE void do_not_end_with_a_call() noexcept { asm volatile(""); }

task& task_in(runnable r) noexcept { return *static_cast<task*>(r.address()); }

// The first thing after a switch. In a task it is the worker that arrives, whoever the switch was to.
WEFT_ALWAYS_INLINE void arrive() noexcept {
  const runtime_section in;
  current_worker()->arrive();
}

// The same for a task that was not waiting for anything.
WEFT_ALWAYS_INLINE void arrive_again() noexcept {
  const runtime_section in;
  worker& here = *current_worker();
  running_fiber(here).running->note_progress(task_outcome::begun);
  here.arrive();
}

// Where to go on: on the stack of the fiber that was picked, or in the loop of a spare one, which gets what was picked.
WEFT_ALWAYS_INLINE fiber& stack_for(worker& here, runnable next) noexcept {
  if (next && next.what() == runnable::kind::fiber) {
    if (!WEFT_LIKELY(!here.is_counting())) here.settle_count();
    return *task_in(next).on;
  }
  if (next) here.hand_over(next);
  return here.take_spare();
}

// A task has failed that nobody holds. Its nursery learns of it; where there is none, it is reported.
[[gnu::cold, gnu::noinline]] void dispose_of_error(task& failed, nursery_core* in) noexcept {
  if (in == nullptr) report_unobserved(failed);
  in->fail(detail::error_in(failed.body));
}

[[gnu::cold, gnu::noinline]] void leave_behind(task& ended) noexcept {
  if (ended.has(task_mark::has_extras)) ended.own_extras().locals.clear();
  while (ended.has(task_mark::wrapped)) pool::leave_wrapper(ended);
}

// What is left to be done when a task has ended in one way or another: shows its outcome, and lets go of its record. What it leaves
// behind may spawn and wait as it goes: so this is done as the task, too.
WEFT_ALWAYS_INLINE task_ending conclude(task& ended, task_outcome outcome) noexcept {
  if (!WEFT_LIKELY(!ended.has_any(task_mark::has_extras, task_mark::wrapped))) leave_behind(ended);
  ended.note_progress(outcome);
  const task_ending ending =
      ended.handle.finish();  // from here on the record may be gone, unless nobody holds it
  if (ending.duty == finish_duty::free_record) {
    if (!WEFT_LIKELY(outcome != task_outcome::error))
      dispose_of_error(ended, nursery_core::from(ending.owner));
    clear_result(ended, outcome);
    ended.all().drop_extras(ended);
    release_edge(ended.record_edge());
    if (ending.owner != 0) release_edge(nursery_core::from(ending.owner));
  }
  return ending;
}

// What a task does, from its first moment to its last touch of its record: nobody but itself is seen to do it.
[[gnu::noinline]] task_ending carry_out(const worker& here, fiber& self, task& fresh) noexcept {
  acquire_edge(fresh.record_edge());
  task_outcome outcome = task_outcome::cancelled;
  fresh.note_progress(task_outcome::begun);
  if (WEFT_LIKELY(!is_asked_to_stop(fresh, here))) {
    outcome = fresh.code->run(fresh.body);
  } else {
    fresh.code->drop(fresh.body);
  }
  const task_ending ending = conclude(fresh, outcome);
  const runtime_section in;  // the stack is the worker's, and has borne others
  self.running = nullptr;
  return ending;
}

// Runs a task to its end, as a plain call. When this returns, the stack may be another worker's.
WEFT_UNWATCHED void run_task(const worker& on, fiber& self, task& fresh, void* edge) noexcept {
  self.running = &fresh;
  task_ending ending{};
  {
    const task_identity itself(self, edge);
    ending = carry_out(on, self, fresh);
  }
  worker& here = *current_worker();
  pool::end(here, fresh, ending);
}

// A stack that is not needed gives way to a fiber that may go on. Comes back when somebody needs a loop.
WEFT_UNWATCHED WEFT_SWITCHES void give_way(fiber& self, context& to) noexcept {
  worker& here = *current_worker();
  here.leave_duty(worker::duty::keep, &self);
  switch_context<switch_edge::unordered>(here, self, to);
  current_worker()->arrive();
}

[[noreturn]] WEFT_UNWATCHED WEFT_SWITCHES void return_to_thread(fiber& self) noexcept {
  worker& here = *current_worker();
  here.leave_duty(worker::duty::keep, &self);
  switch_for_good<switch_edge::unordered>(here, self, here.native);
}

// Finds out how deep a task goes: what lies below the loop is painted before. The functions that do so stand there themselves.
WEFT_UNWATCHED [[gnu::noinline]] void run_measured(fiber& self, task& fresh) noexcept {
  constexpr bool has_large_frames = WEFT_ADDRESS_SANITIZER != 0 || WEFT_THREAD_SANITIZER != 0;
  constexpr std::size_t own_frames = has_large_frames ? 16 * 1024 : 2 * 1024;
  stack_slot& stack = *self.slot;
  const char* const below = static_cast<const char*>(__builtin_frame_address(0)) - own_frames;
  const source_site where = fresh.spawned_at();
  stack.deepest = 0;
  if (stack.holds(below)) paint_below(stack, below);
  run_task(*current_worker(), self, fresh, fresh.spawn_edge());
  if (!stack.holds(below)) return;
  (void)measure_depth(stack, below);
  current_worker()->all().depths().note(where, stack.deepest, stack.size());
}

// A task that has asked for a stack of its own begins there, as the only one.
WEFT_UNWATCHED void begin_on_own_stack(fiber& self, task& fresh) noexcept {
  worker& here = *current_worker();
  fiber* const own = here.try_make_fiber(fresh.own_extras().stack);
  const runnable begun(runnable::kind::task, &fresh);
  if (own == nullptr) return here.of().put_off(begun);
  own->is_for_one = true;
  identify_loop(*own, here.native);
  here.hand_over(begun);
  give_way(self, *own);
}

WEFT_UNWATCHED [[gnu::noinline]] void begin_specially(fiber& self, task& fresh) noexcept {
  worker& here = *current_worker();
  if (fresh.has(task_mark::own_stack) && !self.is_for_one) return begin_on_own_stack(self, fresh);
  if (here.is_short_of_stacks()) return here.of().put_off({runnable::kind::task, &fresh});
  if (fresh.has(task_mark::measured)) return run_measured(self, fresh);
  run_task(here, self, fresh, fresh.spawn_edge());
}

// The stack of such a task goes when it has ended.
[[noreturn]] WEFT_UNWATCHED WEFT_SWITCHES void end_of_own_stack(fiber& self) noexcept {
  worker& here = *current_worker();
  while (here.is_short_of_stacks()) pool::nap();
  here.leave_duty(worker::duty::unmake, &self);
  switch_for_good<switch_edge::unordered>(here, self, here.take_spare());
}

// -- The second half of a join that somebody else runs than its caller ------------------------------------------------

task_outcome end_join_arm(detail::join_job& arm) noexcept {
  // From here on the caller may be gone, and the arm with it.
  if (detail::join_waiter* const waiter = arm.end.finish()) pool::wake_caller(task::of(*waiter));
  return task_outcome::value;
}
task_outcome run_join_arm(void* body) noexcept {
  auto& arm = **static_cast<detail::join_job**>(body);
  arm.run(arm, nullptr);
  return end_join_arm(arm);
}
// Asked to stop before it began. Its caller waits for it, and would have run it in any case; its first wait throws.
void drop_join_arm(void* body) noexcept { (void)run_join_arm(body); }
constexpr task_code join_arm_code{.run = &run_join_arm, .drop = &drop_join_arm, .clear = nullptr};

// Whether a task has opened a block further in than the frame of an arm, which is the task's too. What it has inherited, it has
// not opened: where that was may be any stack by now.
bool is_further_in(const context_node& block, const task& caller, const detail::join_job& arm) noexcept {
  if (block.opened_by != &caller || block.life != caller.id()) return false;
  const stack_location where = process_slabs.find(block.frame);
  const stack_location other = process_slabs.find(arm.frame);
  WEFT_CHECK(where && other, "a task stands on stacks of weft's");
  if (where.slot == other.slot) return block.frame < arm.frame;
  return fiber::of(*where.slot).depth > fiber::of(*other.slot).depth;
}

// The task in whose frame an arm lies: found by the stack, so that a join need not write it down. Null if that task has run past
// the end of its stack, and is no more.
task* caller_of(const detail::join_job& arm) noexcept {
  const stack_location where = process_slabs.find(arm.frame);
  WEFT_CHECK(where, "the caller of a join stands on a stack of weft's");
  return fiber::of(*where.slot).running;
}

// The context that an arm was made in. Its caller may have gone further in since: into blocks whose frames lie below the
// arm's, or on a stack that was taken later.
context_node* share_context_around(task& caller, const detail::join_job& arm) noexcept {
  if (WEFT_LIKELY(!caller.has(task_mark::has_context))) return nullptr;
  return caller.context.share_around(
      [&](const context_node& inner) { return is_further_in(inner, caller, arm); });
}

// As a task of its own, so that it can wait, and can be told from its caller.
WEFT_UNWATCHED void run_taken_arm(fiber& self, detail::join_job& arm) noexcept {
  worker& here = *current_worker();
  task* const caller = caller_of(arm);
  if (!WEFT_LIKELY(caller != nullptr)) {  // with it went what it would use
    (void)end_join_arm(arm);
    return;
  }
  result<task*> record = here.new_record();
  while (!record) {
    pool::nap();  // its caller waits for it: it must be run
    record = here.new_record();
  }
  task& made = **record;
  made.begin_life(join_arm_code, caller->site.load(std::memory_order_relaxed), here.usual(), nullptr);
  made.set_context(share_context_around(*caller, arm));
  new (made.body) detail::join_job*(&arm);
  const bool is_asked_to_stop =
      !WEFT_LIKELY(!caller->has(task_mark::wrapped)) && pool::enter_wrapper_of(*caller, made);
  pool::adopt(here, made);
  if (is_asked_to_stop) made.cancel.request();
  run_task(here, self, made, &arm);
}

// -- Going on upon another stack ----------------------------------------------------------------------------------------

struct stack_call {
  void (*function)(void*) noexcept;
  void* with;
  fiber* from;
};

WEFT_UNWATCHED void run_call(fiber& self, const stack_call& call) noexcept {
  task& caller = *call.from->running;
  self.running = &caller;
  self.depth = call.from->depth + 1;
  self.below = call.from;
  self.pinned_to = call.from->pinned_to;
  {
    const borrowed_identity as_caller(self, *call.from);
    call.function(call.with);
  }
  self.running = nullptr;
  self.depth = 0;
  call.from->pinned_to = self.pinned_to;  // pinned there, and still so
  give_way(self, *call.from);
}

}  // namespace

WEFT_UNWATCHED void fiber_entry(void* raw) {
  auto& self = *static_cast<fiber*>(raw);
  begin_context(self);
  current_worker()->arrive();
  for (;;) {
    worker& here = *current_worker();  // afresh: the task before may have brought this stack to another one
    const runnable next = here.next();
    if (!next) return_to_thread(self);
    if (tasks_change_stacks && here.begins_elsewhere(next)) {
      here.hand_over(next);
      give_way(self, here.take_oldest_spare());
      continue;
    }
    if (!WEFT_LIKELY(!here.is_counting())) here.settle_unless_of(next);
    switch (next.what()) {
      case runnable::kind::fiber: give_way(self, *task_in(next).on); break;
      case runnable::kind::task:
        if (!WEFT_LIKELY(!task_in(next).begins_specially())) {
          begin_specially(self, task_in(next));
        } else if (here.is_short_of_stacks()) {
          here.of().put_off(next);
        } else {
          run_task(here, self, task_in(next), task_in(next).spawn_edge());
        }
        if (!WEFT_LIKELY(!self.is_for_one)) end_of_own_stack(self);
        break;
      case runnable::kind::join:
        if (here.is_short_of_stacks()) {
          here.put_back(next);
        } else {
          run_taken_arm(self, *static_cast<detail::join_job*>(next.address()));
        }
        break;
      case runnable::kind::leave: give_way(self, here.native); break;
      case runnable::kind::probe: queue_probe::in(next).arrive(default_platform::clock().now()); break;
      case runnable::kind::call: run_call(self, *static_cast<stack_call*>(next.address())); break;
      default: WEFT_CHECK(false, "a runnable of a kind that no worker runs");
    }
  }
}

bool is_join_arm(const task& one) noexcept { return one.code == &join_arm_code; }

const void* function_of(const task& one) noexcept {
  if (!is_join_arm(one)) return reinterpret_cast<const void*>(one.code->run);
  const detail::join_job& arm = **reinterpret_cast<detail::join_job* const*>(one.body);
  return reinterpret_cast<const void*>(arm.run);
}

void fail_on_low_stack(const worker& here) {
  if (here.all().options().fails_tasks_that_overflow) fail(errc::stack_overflow);
}

// What was in the body of the task, its closure, is left there with all else that is abandoned. What else it leaves may spawn and wait
// as it goes, and so come to another worker.
void abandon(worker& here, fiber& gone) noexcept {
  task& failed = *gone.running;
  fiber& self = running_fiber(here);
  const std::exception_ptr error =
      std::make_exception_ptr(std::system_error(make_error_code(errc::stack_overflow)));
  for (fiber* each = &gone; each != nullptr;) {
    fiber& stack = *std::exchange(each, each->depth == 0 ? nullptr : each->below);
    stack.running = nullptr;
    if (stack.depth != 0) clear_identity(stack);  // it had that of the lowest one
    here.all().keep_abandoned(stack);
  }
  self.running = &failed;
  task_outcome outcome = task_outcome::error;
  if (is_join_arm(failed)) {  // its caller has the error
    detail::join_job& arm = **reinterpret_cast<detail::join_job**>(failed.body);
    arm.run(arm, &error);
    outcome = end_join_arm(arm);
  } else {
    new (failed.body) std::exception_ptr(error);
  }
  const task_ending ending = conclude(failed, outcome);
  self.running = nullptr;
  pool::end(*current_worker(), failed, ending);
}

WEFT_RETURNS_BY_JUMP WEFT_UNWATCHED void leave_until_claimed(task& self) noexcept {
  const runtime_section in;
  worker& here = *current_worker();
  fiber& to = stack_for(here, here.pick());
  self.on = &running_fiber(here);
  here.leave_duty(worker::duty::park, &self);
  switch_context<switch_edge::unordered>(here, *self.on, to);
  arrive();
  do_not_end_with_a_call();
}

// Whatever has its turn: a fiber, a fresh task, or nothing at all.
WEFT_RETURNS_BY_JUMP WEFT_UNWATCHED WEFT_SWITCHES void give_way_to_any(task& self) noexcept {
  const runtime_section in;
  worker& here = *current_worker();
  const runnable next = here.pick();
  if (!next) return;
  fiber& to = stack_for(here, next);
  self.on = &running_fiber(here);
  here.leave_duty(worker::duty::requeue, &self);
  self.note_progress(task_outcome::none);
  switch_context<switch_edge::unordered>(here, *self.on, to);
  arrive_again();
  do_not_end_with_a_call();
}

WEFT_UNWATCHED void go_to(task& self, pool& there) noexcept {
  check_no_lock_held(self);
  const runtime_section in;
  worker& here = *current_worker();
  while (self.has(task_mark::wrapped)) pool::leave_wrapper(self);
  self.belong_to(there.usual(), there.inner() != nullptr);
  fiber& to = stack_for(here, here.pick());
  self.on = &running_fiber(here);
  here.leave_duty(worker::duty::move_out, &self);
  self.note_progress(task_outcome::none);
  switch_context<switch_edge::unordered>(here, *self.on, to);
  arrive_again();
}

WEFT_UNWATCHED void let_children_run(task& self) noexcept {
  check_no_lock_held(self);
  const runtime_section in;
  worker& here = *current_worker();
  fiber& to = here.take_spare();
  self.on = &running_fiber(here);
  here.leave_duty(worker::duty::requeue_behind, &self);
  self.note_progress(task_outcome::none);
  switch_context<switch_edge::unordered>(here, *self.on, to);
  arrive_again();
}

WEFT_UNWATCHED bool try_call_elsewhere(void (*function)(void*) noexcept, void* with) noexcept {
  const runtime_section in;
  worker& here = *current_worker();
  if (here.is_short_of_stacks()) return false;
  fiber& to = here.take_spare();
  if (here.is_short_of_stacks()) {  // WO2: there would be none to go on with when the function waits
    here.keep_spare(to);
    return false;
  }
  stack_call call{function, with, &running_fiber(here)};
  here.hand_over({runnable::kind::call, &call});
  switch_context<switch_edge::unordered>(here, *call.from, to);
  arrive();
  return true;
}

WEFT_UNWATCHED void run_worker(worker& self) noexcept {
  fiber& first = self.take_spare();
  switch_context<switch_edge::unordered>(self, self.native, first);
  self.do_duty();  // back on the thread's own stack: still this worker
}

}  // namespace weft::impl

namespace weft {
namespace {

[[noreturn, gnu::cold, gnu::noinline]] void stop_as_asked() { throw cancelled(); }

}  // namespace

void this_fiber::checkpoint() {
  impl::worker* const here = impl::current_worker();
  if (here == nullptr || here->current == &here->native) return;
  if (!WEFT_LIKELY(!impl::is_asked_to_stop(*impl::running_fiber(*here).running, *here))) stop_as_asked();
  if (WEFT_LIKELY(!here->take_yield_request())) return;
  here->all().watcher().note_awake();  // which may have gone to sleep while this worker was blocked
  if (impl::running_fiber(*here).running->no_suspend == 0) yield();
}

// Here, and not in a function that calls another: a processor guesses wrongly where the frames above a switch return to, and
// each costs as much as all the rest. And in one piece: to guess where this returns to, some remember no more than a few jumps.
WEFT_RETURNS_BY_JUMP WEFT_UNWATCHED WEFT_SWITCHES void this_fiber::yield() {
  impl::worker* const found = impl::current_worker();
  if (!WEFT_LIKELY(found != nullptr && found->current != &found->native)) return std::this_thread::yield();
  impl::worker& here = *found;
  impl::fiber& mine = impl::running_fiber(here);
  impl::task& self = *mine.running;
  if (!WEFT_LIKELY(!impl::is_asked_to_stop(self, here))) stop_as_asked();
  WEFT_CHECK(self.no_suspend == 0, "a task yields although a no_suspend forbids it to wait");
  impl::check_no_lock_held(self);
  impl::check_stack(here);
  const impl::runtime_section in;
  const impl::runnable next = here.try_change_places(self);
  if (!WEFT_LIKELY(next)) return impl::give_way_to_any(self);
  self.on = &mine;
  here.leave_duty(impl::worker::duty::leave_line, nullptr);
  self.note_progress(impl::task_outcome::none);
  impl::switch_context<impl::switch_edge::unordered, impl::go_on::likely_here>(here, mine,
                                                                               *impl::task_in(next).on);
  impl::arrive_again();
  impl::do_not_end_with_a_call();
}

}  // namespace weft
