// SPDX-License-Identifier: Apache-2.0

#include "sched/loop.hpp"

#include <weft/no_suspend.hpp>

namespace weft::detail {

void begin_no_suspend() noexcept {
  if (impl::task* const self = impl::current_task()) {
    WEFT_CHECK(self->no_suspend != 255, "no_suspend is nested 256 times");
    ++self->no_suspend;
  }
}

void end_no_suspend() noexcept {
  if (impl::task* const self = impl::current_task()) {
    WEFT_CHECK(self->no_suspend != 0, "a no_suspend ended in another task than it began in");
    --self->no_suspend;
  }
}

}  // namespace weft::detail
