// SPDX-License-Identifier: Apache-2.0

#include "sched/farewell.hpp"

#include "sched/loop.hpp"
#include "sched/pool.hpp"
#include "sched/wait.hpp"

#include <thread>

namespace weft::impl {

void farewell::tell() noexcept {
  const visit in(visitors_);
  told_.unpark();
  if (task* const waiting = in.who_drains()) pool::wake_joiner(*waiting);
}

bool farewell::await(farewell_host& of, time_point deadline) noexcept {
  // Again each time, for its barrier: told by a stranger, this also sees the ends that workers have counted. [CE-last]
  while (!of.is_over_now()) {
    if (!await_once(of, deadline)) return of.is_over_now();
  }
  return true;
}

void farewell::await_guests() const noexcept {
  while (visitors_.any()) std::this_thread::yield();
}

// Returns false at the deadline. May return too early.
bool farewell::await_once(farewell_host& of, time_point deadline) noexcept {
  task* const self = current_task();
  const bool can_leave = self != nullptr && self->no_suspend == 0;
  return can_leave ? await_in_task(of, *self, deadline) : of.wait_on_thread(told_, deadline);
}

// A task gives its worker to others meanwhile.
bool farewell::await_in_task(farewell_host& of, task& self, time_point deadline) noexcept {
  one_wait wait(self, wait_kind::shielded);
  self.note_join(wait.ticket());
  visitors_.expect(self);
  const auto leave = [&] { return deadline == never ? wait.leave() : wait.leave_until(deadline); };
  // [CE-last] its barrier: either the last one out finds us, or we see that it was the last
  const wake_cause cause = of.is_over_now() ? wait.abandon() : leave();
  visitors_.withdraw();
  await_guests();  // [PO-drainer] who has found us must be gone before this task can end
  return cause != wake_cause::timed_out;
}

}  // namespace weft::impl
