// SPDX-License-Identifier: Apache-2.0

#include "sched/sleep.hpp"

#include "sched/wait.hpp"

#include <weft/cancelled.hpp>
#include <weft/this_fiber.hpp>

namespace weft::impl {
namespace {

wake_cause sleep_in_task(task& self, time_point until) noexcept {
  one_wait wait(self);
  self.note_reason("sleep");
  return wait.leave_until(until);
}

}  // namespace
}  // namespace weft::impl

namespace weft {

void detail::sleep_for(std::chrono::nanoseconds wait) {
  if (wait <= std::chrono::nanoseconds::zero()) return this_fiber::yield();
  const impl::time_point until = impl::saturating_add(impl::default_platform::clock().now(), wait);
  impl::task* const self = impl::current_task();
  if (self == nullptr) return impl::sleep_on_thread(until);
  impl::check_stack(*impl::current_worker());
  if (impl::sleep_in_task(*self, until) == impl::wake_cause::cancelled) throw cancelled();
}

}  // namespace weft
