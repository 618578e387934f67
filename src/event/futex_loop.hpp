// SPDX-License-Identifier: Apache-2.0
//
// futex_loop — the event loop without any source of events: it sleeps until it is interrupted.
//
// What remains where neither io_uring nor epoll may be used, and what runtimes without timers and I/O need.
//
// Thread safety: as event_loop says.
#pragma once

#include "event/event_loop.hpp"
#include "event/sleep_word.hpp"

namespace weft::impl {

template <sleeping_platform Platform>
class basic_futex_loop final : public event_loop {
 public:
  [[nodiscard]] loop_end wait(time_point deadline, ready_batch& /*ready*/) noexcept override {
    return word_.sleep_until(deadline) == wake_token::none ? loop_end::deadline : loop_end::interrupted;
  }

  void poll(ready_batch& /*ready*/) noexcept override {}

  void interrupt() noexcept override {
    if (word_.notify() == notify_duty::wake_word) word_.wake();
  }

 private:
  basic_sleep_word<Platform> word_;
};

extern template class basic_futex_loop<default_platform>;
using futex_loop = basic_futex_loop<default_platform>;

}  // namespace weft::impl
