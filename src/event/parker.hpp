// SPDX-License-Identifier: Apache-2.0
//
// parker — how one thread sleeps until somebody has something for it, one per worker.
//
// park() returns once unpark() was called, at once if it was called before: one token is kept, not more. A parker with
// a seat sleeps in the event loop while the seat is free, and then also comes back with what became ready there. Any
// other sleeps on its own word. Waking costs a system call only if the thread really sleeps.
//
// Thread safety: unpark() and the _approx looks by anyone; the rest by the thread that the parker belongs to.
// Invariants:   PK1  a token is taken by exactly one park
//               PK2  asleep in the loop only while sitting in the seat
#pragma once

#include "event/seat.hpp"
#include "event/sleep_word.hpp"

namespace weft::impl {

/// How a park ended.
enum class park_end : std::uint8_t {
  notified,  ///< by unpark(); the token is taken
  ready,     ///< something became ready in the event loop
  deadline,  ///< the deadline has passed
};

template <sleeping_platform Platform>
class basic_parker {
 public:
  using seat = basic_event_seat<Platform>;

  /// A parker that never sits in an event loop: for threads that are no workers.
  basic_parker() noexcept = default;
  /// A parker that shares the seat with others.
  explicit basic_parker(seat& shared) noexcept : seat_(&shared) {}
  basic_parker(const basic_parker&) = delete;
  basic_parker& operator=(const basic_parker&) = delete;
  ~basic_parker() = default;

  /// Sleeps until unpark(), on the thread's own word.
  void park() noexcept { (void)park_until(never); }

  /// Sleeps until unpark() or the deadline, on the thread's own word. Returns whether there was a token.
  [[nodiscard]] bool park_until(time_point deadline) noexcept { return word_.sleep_until(deadline); }

  /// Sleeps until unpark(), until the deadline, or until something is ready in the event loop, if the seat is free. What
  /// is ready lies in the batch, however the park ended.
  [[nodiscard]] park_end park_until(time_point deadline, ready_batch& ready) noexcept {
    if (seat_ == nullptr || !seat_->try_sit())
      return word_.sleep_until(deadline) ? park_end::notified : park_end::deadline;
    const bool notified = sleep_in_loop(deadline, ready);
    seat_->leave();
    if (notified) return park_end::notified;
    return ready.empty() ? park_end::deadline : park_end::ready;
  }

  /// Gives the thread a token, and wakes it if it sleeps.
  ///
  /// Ordering:  what was done before is visible to the thread once its park has taken the token.
  void unpark() noexcept {
    seat* const shared = seat_;
    switch (word_.notify()) {  // after that the parker may be gone
      case notify_duty::nothing: return;
      case notify_duty::wake_word: return word_.wake();  // by its address alone
      case notify_duty::interrupt_loop:
        WEFT_ASSERT(shared != nullptr, "PK2: asleep in a loop without a seat");
        return shared->loop().interrupt();
    }
  }

  /// Whether there is a token, as far as one can tell.
  [[nodiscard]] bool has_token_approx() const noexcept {
    return word_.state_approx() == sleep_state::notified;
  }
  /// Whether the thread sleeps, as far as one can tell.
  [[nodiscard]] bool is_asleep_approx() const noexcept {
    const sleep_state state = word_.state_approx();
    return state == sleep_state::on_word || state == sleep_state::in_loop;
  }
  /// Whether it sleeps in the event loop, as far as one can tell.
  [[nodiscard]] bool is_in_loop_approx() const noexcept {
    return word_.state_approx() == sleep_state::in_loop;
  }

 private:
  // Returns whether there was a token. An interrupt that was meant for an earlier sitter ends a wait for nothing.
  [[nodiscard]] bool sleep_in_loop(time_point deadline, ready_batch& ready) noexcept {
    for (;;) {
      if (!word_.try_fall_asleep(sleep_state::in_loop)) return word_.get_up();
      const loop_end end = seat_->loop().wait(deadline, ready);
      if (word_.get_up()) return true;
      if (end != loop_end::interrupted || !ready.empty()) return false;
    }
  }

  basic_sleep_word<Platform> word_;
  seat* const seat_ = nullptr;
};

using parker = basic_parker<default_platform>;

}  // namespace weft::impl
