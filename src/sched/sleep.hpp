// SPDX-License-Identifier: Apache-2.0
//
// sleep — a wait that a timer ends.
//
// A task has one timer, in its record: it can wait for one thing at a time. The timer is put in after the wait was begun, and
// is out before the next begins; so whoever fires it need not know which wait is meant. It lies there and not on the stack,
// because a million stacks are a million pages, and a wheel visits a timer several times.
#pragma once

#include "event/event_loop.hpp"
#include "event/parker.hpp"
#include "event/timer_wheel.hpp"
#include "sched/fiber.hpp"
#include "sched/task.hpp"

namespace weft::impl {

/// Lets the thread itself sleep, whoever runs on it.
inline void sleep_on_thread(time_point until) noexcept {
  parker bed;
  (void)bed.park_until(until);
}

/// What every timer of a pool does when it is due.
[[nodiscard]] inline runnable end_wait_of(timer_node& due) noexcept {
  task& woken = task::of(due);
  if (woken.claim.try_claim_any(wake_cause::timed_out) != claim_outcome::won) return {};
  __builtin_prefetch(woken.on);  // on its stack, which nobody has touched for long
  return {runnable::kind::fiber, &woken};
}

}  // namespace weft::impl
