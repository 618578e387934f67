// SPDX-License-Identifier: Apache-2.0

#include "sched/loop.hpp"

#include "arch/switch.hpp"
#include "sched/pool.hpp"

namespace weft::impl {
namespace {

task& task_in(runnable r) noexcept { return *static_cast<task*>(r.address()); }

fiber& running_fiber(worker& here) noexcept {
  WEFT_ASSERT(here.current != &here.native, "the thread's own stack runs no task");
  return static_cast<fiber&>(*here.current);
}

// Where to go on: on the stack of the fiber that was picked, or in the loop of a spare one, which gets what was picked.
WEFT_ALWAYS_INLINE fiber& stack_for(worker& here, runnable next) noexcept {
  if (next && next.what() == runnable::kind::fiber) return *task_in(next).on;
  if (next) here.hand_over(next);
  return here.take_spare();
}

// Runs a task to its end, as a plain call. When this returns, the stack may be another worker's.
void run_task(fiber& self, task& fresh) noexcept {
  self.running = &fresh;
  fresh.on = &self;
  task_outcome outcome = task_outcome::cancelled;
  if (WEFT_LIKELY(!fresh.cancel.requested())) {
    outcome = fresh.code->run(body_of(fresh));
  } else {
    fresh.code->drop(body_of(fresh));
  }
  fresh.outcome.store(outcome, std::memory_order_relaxed);  // relaxed: shown with the end of the task
  fresh.on = nullptr;
  self.running = nullptr;
  worker& here = *current_worker();
  here.of().end(here, fresh);
}

// A stack that is not needed gives way to a fiber that may go on. Comes back when somebody needs a loop.
WEFT_SWITCHES void give_way(fiber& self, fiber& to) noexcept {
  worker& here = *current_worker();
  here.leave_duty(worker::duty::keep, &self);
  switch_context<switch_edge::unordered>(here, self, to);
  current_worker()->do_duty();
}

[[noreturn]] WEFT_SWITCHES void return_to_thread(fiber& self) noexcept {
  worker& here = *current_worker();
  here.leave_duty(worker::duty::keep, &self);
  switch_for_good<switch_edge::unordered>(here, self, here.native);
}

}  // namespace

task* current_task() noexcept {
  worker* const here = current_worker();
  return here == nullptr || here->current == &here->native ? nullptr : running_fiber(*here).running;
}

void fiber_entry(void* raw) {
  auto& self = *static_cast<fiber*>(raw);
  begin_context(self);
  current_worker()->do_duty();
  for (;;) {
    worker& here = *current_worker();  // afresh: the task before may have brought this stack to another one
    const runnable next = here.next();
    if (!next) return_to_thread(self);
    switch (next.what()) {
      case runnable::kind::fiber: give_way(self, *task_in(next).on); break;
      case runnable::kind::task:
        if (here.is_short_of_stacks()) {
          here.of().put_off(next);
        } else {
          run_task(self, task_in(next));
        }
        break;
      default: WEFT_CHECK(false, "a runnable of a kind that no worker runs");
    }
  }
}

void leave_until_claimed(task& self) noexcept {
  worker& here = *current_worker();
  fiber& to = stack_for(here, here.pick());
  here.leave_duty(worker::duty::park, &self);
  switch_context<switch_edge::unordered>(here, *self.on, to);
  current_worker()->do_duty();
}

void let_others_run(task& self) noexcept {
  worker& here = *current_worker();
  const runnable next = here.pick();
  if (!next) return;
  fiber& to = stack_for(here, next);
  here.leave_duty(worker::duty::requeue, &self);
  switch_context<switch_edge::unordered>(here, *self.on, to);
  current_worker()->do_duty();
}

void run_worker(worker& self) noexcept {
  fiber& first = self.take_spare();
  switch_context<switch_edge::unordered>(self, self.native, first);
  self.do_duty();  // back on the thread's own stack: still this worker
}

}  // namespace weft::impl
