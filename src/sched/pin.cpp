// SPDX-License-Identifier: Apache-2.0

#include "sched/identity.hpp"
#include "sched/loop.hpp"
#include "sched/runtime_core.hpp"

#include <weft/pin_guard.hpp>

namespace weft::detail {

task_record* pin_task() noexcept {
  const impl::runtime_section in;
  impl::task* const self = impl::current_task();
  if (self == nullptr || self->goes().is_pinned()) return nullptr;
  impl::worker& here = *impl::current_worker();
  WEFT_CHECK(!here.of().is_arranged(),
             "a task of a custom_context is pinned to a thread, but it is the context that says where its "
             "tasks run");
  impl::running_fiber(here).pinned_to = &here;
  here.expect_own();
  here.count_pinned(1);
  self->go(self->goes().pinned());
  return &outside(*self);
}

void unpin_task(task_record& pinned) noexcept {
  const impl::runtime_section in;
  impl::task* const self = impl::current_task();
  WEFT_CHECK(self == &inside(pinned), "a pin_guard ended in another task than it began in");
  self->go(self->goes().unpinned());
  impl::current_worker()->count_pinned(-1);
}

}  // namespace weft::detail
