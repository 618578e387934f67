// SPDX-License-Identifier: Apache-2.0

#include "sched/loop.hpp"
#include "sched/runtime_core.hpp"

#include <weft/pin_guard.hpp>

namespace weft::detail {

task_record* pin_task() noexcept {
  impl::task* const self = impl::current_task();
  if (self == nullptr || self->way.is_pinned()) return nullptr;
  impl::worker& here = *impl::current_worker();
  impl::running_fiber(here).pinned_to = &here;
  here.expect_own();
  self->way.pin();
  return &outside(*self);
}

void unpin_task(task_record& pinned) noexcept {
  impl::task* const self = impl::current_task();
  WEFT_CHECK(self == &inside(pinned), "a pin_guard ended in another task than it began in");
  self->way.unpin();
}

}  // namespace weft::detail
