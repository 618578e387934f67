// SPDX-License-Identifier: Apache-2.0

#include "sched/loop.hpp"

#include "arch/switch.hpp"
#include "sched/identity.hpp"
#include "sched/pool.hpp"
#include "sched/unobserved.hpp"
#include "stack/registry.hpp"

namespace weft::impl {
namespace {

task& task_in(runnable r) noexcept { return *static_cast<task*>(r.address()); }

fiber& running_fiber(worker& here) noexcept {
  WEFT_ASSERT(here.current != &here.native, "the thread's own stack runs no task");
  return static_cast<fiber&>(*here.current);
}

// The first thing after a switch. In a task it is the worker that arrives, whoever the switch was to.
WEFT_ALWAYS_INLINE void arrive() noexcept {
  const runtime_section in;
  current_worker()->arrive();
}

// Where to go on: on the stack of the fiber that was picked, or in the loop of a spare one, which gets what was picked.
WEFT_ALWAYS_INLINE fiber& stack_for(worker& here, runnable next) noexcept {
  if (next && next.what() == runnable::kind::fiber) return *task_in(next).on;
  if (next) here.hand_over(next);
  return here.take_spare();
}

// What a task does, from its first moment to its last touch of its record: nobody but itself is seen to do it.
[[gnu::noinline]] task_ending carry_out(task& fresh) noexcept {
  acquire_edge(fresh.record_edge());
  task_outcome outcome = task_outcome::cancelled;
  if (WEFT_LIKELY(!fresh.cancel.requested())) {
    outcome = fresh.code->run(body_of(fresh));
  } else {
    fresh.code->drop(body_of(fresh));
  }
  fresh.outcome.store(outcome, std::memory_order_relaxed);  // relaxed: shown with the end of the task
  fresh.on->running = nullptr;
  fresh.on = nullptr;
  const task_ending ending =
      fresh.handle.finish();  // from here on the record may be gone, unless nobody holds it
  if (ending.duty == finish_duty::free_record) {
    if (outcome == task_outcome::error) report_unobserved(fresh);
    fresh.code->clear(body_of(fresh), outcome);
    release_edge(fresh.record_edge());
  }
  return ending;
}

// Runs a task to its end, as a plain call. When this returns, the stack may be another worker's.
WEFT_UNWATCHED void run_task(fiber& self, task& fresh, void* edge) noexcept {
  self.running = &fresh;
  fresh.on = &self;
  task_ending ending{};
  {
    const task_identity itself(self, edge);
    ending = carry_out(fresh);
  }
  worker& here = *current_worker();
  here.of().end(here, fresh, ending);
}

// A stack that is not needed gives way to a fiber that may go on. Comes back when somebody needs a loop.
WEFT_UNWATCHED WEFT_SWITCHES void give_way(fiber& self, fiber& to) noexcept {
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

// -- The second half of a join that somebody else runs than its caller ------------------------------------------------

task_outcome run_join_arm(void* body) noexcept {
  auto& arm = **static_cast<detail::join_job**>(body);
  arm.run(arm);
  // From here on the caller may be gone, and the arm with it.
  if (detail::join_waiter* const waiter = arm.end.finish()) pool::wake_joiner(task::of(*waiter));
  return task_outcome::value;
}
void drop_join_arm(void* /*body*/) noexcept { WEFT_CHECK(false, "JA1: an arm of a join was dropped"); }
void clear_join_arm(void* /*body*/, task_outcome /*outcome*/) noexcept {}
constexpr task_code join_arm_code{.run = &run_join_arm, .drop = &drop_join_arm, .clear = &clear_join_arm};

// The task in whose frame an arm lies: found by the stack, so that a join need not write it down.
const task& caller_of(const detail::join_job& arm) noexcept {
  const stack_location where = process_slabs.find(arm.frame);
  WEFT_CHECK(where, "the caller of a join stands on a stack of weft's");
  return *fiber::of(*where.slot).running;
}

// As a task of its own, so that it can wait, and can be told from its caller.
WEFT_UNWATCHED void run_taken_arm(fiber& self, detail::join_job& arm) noexcept {
  worker& here = *current_worker();
  result<task*> record = here.new_record();
  while (!record) {
    pool::nap();  // its caller waits for it: it must be run
    record = here.new_record();
  }
  task& made = **record;
  const task& caller = caller_of(arm);
  made.code = &join_arm_code;
  made.home = &here.of();
  made.site = caller.site;
  made.context = caller.context;
  new (body_of(made)) detail::join_job*(&arm);
  here.of().adopt(here, made);
  run_task(self, made, &arm);
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
  caller.on = &self;
  {
    const borrowed_identity as_caller(self, *call.from);
    call.function(call.with);
  }
  caller.on = call.from;
  self.running = nullptr;
  give_way(self, *call.from);
}

}  // namespace

task* current_task() noexcept {
  worker* const here = current_worker();
  return here == nullptr || here->current == &here->native ? nullptr : running_fiber(*here).running;
}

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
    switch (next.what()) {
      case runnable::kind::fiber: give_way(self, *task_in(next).on); break;
      case runnable::kind::task:
        if (here.is_short_of_stacks()) {
          here.of().put_off(next);
        } else {
          run_task(self, task_in(next), task_in(next).spawn_edge());
        }
        break;
      case runnable::kind::join:
        if (here.is_short_of_stacks()) {
          here.put_back(next);
        } else {
          run_taken_arm(self, *static_cast<detail::join_job*>(next.address()));
        }
        break;
      case runnable::kind::call: run_call(self, *static_cast<stack_call*>(next.address())); break;
      default: WEFT_CHECK(false, "a runnable of a kind that no worker runs");
    }
  }
}

WEFT_UNWATCHED void leave_until_claimed(task& self) noexcept {
  const runtime_section in;
  worker& here = *current_worker();
  fiber& to = stack_for(here, here.pick());
  here.leave_duty(worker::duty::park, &self);
  switch_context<switch_edge::unordered>(here, *self.on, to);
  arrive();
}

WEFT_UNWATCHED void let_others_run(task& self) noexcept {
  const runtime_section in;
  worker& here = *current_worker();
  const runnable next = here.pick();
  if (!next) return;
  fiber& to = stack_for(here, next);
  here.leave_duty(worker::duty::requeue, &self);
  switch_context<switch_edge::unordered>(here, *self.on, to);
  arrive();
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
