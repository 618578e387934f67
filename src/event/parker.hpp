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
  called,    ///< by call(); the token is taken
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
  [[nodiscard]] bool park_until(time_point deadline) noexcept {
    return word_.sleep_until(deadline) != wake_token::none;
  }

  /// Sleeps until unpark(), until the deadline, or until something is ready in the event loop, if the seat is free. What
  /// is ready lies in the batch, however the park ended.
  [[nodiscard]] park_end park_until(time_point deadline, ready_batch& ready) noexcept {
    if (seat_ == nullptr || !seat_->try_sit()) return end_by(word_.sleep_until(deadline), park_end::deadline);
    const wake_token token = sleep_in_loop(deadline, ready);
    seat_->leave();
    return end_by(token, ready.empty() ? park_end::deadline : park_end::ready);
  }

  /// Gives the thread a token, and wakes it if it sleeps.
  ///
  /// Ordering:  what was done before is visible to the thread once its park has taken the token.
  /// Returns:   whether it is not there: then the caller sees to it that it comes.
  bool unpark() noexcept {
    seat* const shared = seat_;
    return discharge(word_.notify(), shared);
  }
  /// The same by a lesser token, which does not take the place of the other: who sleeps can tell which it was. Nothing happens where
  /// the thread is not there.
  void call() noexcept {
    seat* const shared = seat_;
    (void)discharge(word_.call(), shared);
  }

  /// The thread goes, unless it has a token: whoever unparks it from now on brings it. Also by whoever has the parker before there
  /// is a thread.
  [[nodiscard]] bool try_go() noexcept { return word_.try_go(); }
  /// It has come. Takes the token that it was brought by.
  void come() noexcept { word_.get_up(); }

  /// Whether there is a token, as far as one can tell.
  [[nodiscard]] bool has_token_approx() const noexcept {
    const sleep_state state = word_.state_approx();
    return state == sleep_state::notified || state == sleep_state::called;
  }
  /// Whether the thread sleeps, as far as one can tell.
  [[nodiscard]] bool is_asleep_approx() const noexcept {
    const sleep_state state = word_.state_approx();
    return state == sleep_state::on_word || state == sleep_state::in_loop;
  }
  /// Whether it is not there, as far as one can tell.
  [[nodiscard]] bool is_absent_approx() const noexcept { return word_.state_approx() == sleep_state::absent; }
  /// Whether it sleeps in the event loop, as far as one can tell.
  [[nodiscard]] bool is_in_loop_approx() const noexcept {
    return word_.state_approx() == sleep_state::in_loop;
  }

 private:
  // Once the word has been notified, the parker may be gone.
  bool discharge(notify_duty duty, seat* shared) noexcept {
    switch (duty) {
      case notify_duty::nothing: return false;
      case notify_duty::wake_word: word_.wake(); return false;  // by its address alone
      case notify_duty::interrupt_loop:
        WEFT_ASSERT(shared != nullptr, "PK2: asleep in a loop without a seat");
        shared->loop().interrupt();
        return false;
      case notify_duty::bring_owner: return true;
    }
    return false;
  }

  [[nodiscard]] static constexpr park_end end_by(wake_token token, park_end otherwise) noexcept {
    switch (token) {
      case wake_token::none: break;
      case wake_token::call: return park_end::called;
      case wake_token::waking: return park_end::notified;
    }
    return otherwise;
  }

  // Returns the token, if there was one. An interrupt that was meant for an earlier sitter ends a wait for nothing.
  [[nodiscard]] wake_token sleep_in_loop(time_point deadline, ready_batch& ready) noexcept {
    for (;;) {
      if (!word_.try_fall_asleep(sleep_state::in_loop)) return word_.get_up();
      const loop_end end = seat_->loop().wait(deadline, ready);
      const wake_token token = word_.get_up();
      if (token != wake_token::none || end != loop_end::interrupted || !ready.empty()) return token;
    }
  }

  basic_sleep_word<Platform> word_;
  seat* const seat_ = nullptr;
};

using parker = basic_parker<default_platform>;

}  // namespace weft::impl
