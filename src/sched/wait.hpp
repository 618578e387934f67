// SPDX-License-Identifier: Apache-2.0
//
// wait — one wait of the running task: published, left, and ended by exactly one.
//
//     one_wait wait(self);                    // from here on it can be claimed
//     ... put wait.ticket() where whoever ends the wait will find it ...
//     switch (wait.leave()) { ... }           // off the stack, until somebody has claimed it
//
// Nothing else in weft parks a task.
//
// Thread safety: the task that waits.
#pragma once

#include "sched/loop.hpp"
#include "sched/nursery_core.hpp"
#include "sched/pool.hpp"

namespace weft::impl {

class one_wait {
 public:
  explicit one_wait(task& self, wait_kind kind = wait_kind::cancellable) noexcept
      : self_(allowed(self)), kind_(kind), ticket_(self.claim.arm(kind)) {}
  one_wait(const one_wait&) = delete;
  one_wait& operator=(const one_wait&) = delete;
  ~one_wait() {
    if (stands_) (void)abandon();
  }

  [[nodiscard]] wait_ticket ticket() const noexcept { return ticket_; }

  /// Waits. Returns what has ended it; a task that was asked to stop does not begin to wait, unless it is shielded.
  [[nodiscard]] wake_cause leave() noexcept {
    if (kind_ == wait_kind::cancellable && is_asked_after_arming()) {
      const wake_cause cause = abandon();
      return cause == wake_cause::none ? wake_cause::cancelled : cause;
    }
    stands_ = false;
    leave_until_claimed(self_);
    return self_.claim.finish();
  }

  /// The same, until a time at the latest: timed_out then. The task's timer is nobody's any more afterwards.
  [[nodiscard]] wake_cause leave_until(time_point deadline) noexcept {
    worker& here = *current_worker();
    if (here.all().is_forked()) commons::fail_in_child();  // before a lock that nobody opens here
    timer_loop& events = here.of().events();
    const std::size_t shard = events.shard_of(here.index());
    events.set(shard, self_.timer, deadline);
    const wake_cause cause = leave();
    if (cause != wake_cause::timed_out) events.drop(shard, self_.timer);
    return cause;
  }

  /// Goes on without waiting. Returns none, or what had ended the wait already.
  wake_cause abandon() noexcept {
    stands_ = false;
    return self_.claim.try_disarm() == disarm_outcome::disarmed ? wake_cause::none : self_.claim.finish();
  }

 private:
  [[nodiscard]] static task& allowed(task& self) noexcept {
    WEFT_CHECK(self.no_suspend == 0,
               "a task waits although a no_suspend forbids it, or in the function that it gives to suspend");
    check_no_lock_held(self);
    return self;
  }
  // [CF-wait] for the task's own flag, its nursery's and its worker's: the barrier stands between arming and all of them.
  [[nodiscard]] bool is_asked_after_arming() const noexcept {
    worker& here = *current_worker();
    return self_.cancel.requested_after_arming(here.barriers) || is_asked_to_stop(self_, here);
  }

  task& self_;
  const wait_kind kind_;
  const wait_ticket ticket_;
  bool stands_ = true;
};

}  // namespace weft::impl
