// SPDX-License-Identifier: Apache-2.0
//
// sleep_word — the state of one sleeper in one word: whether it sleeps, where, and whether it was told to get up.
//
// A token that is given to a sleeper who is awake is kept, so that its next sleep ends at once; one is kept, not more. A call is a
// lesser token: the sleeper can tell which it was, and of both the other is kept.
// The owner falls asleep and gets up; anyone may notify. The transitions return what the caller then owes.
//
//                    notify                            empty     awake, no token
//     empty --------------------> notified             notified  awake, or about to be; a token is there
//       |  ^                       |    ^              called    the same, with the token of a call
//       |  '------- get_up --------'    |              on_word   asleep on this very word
//       |--try_fall_asleep--> on_word --+-- notify;    in_loop   asleep in the event loop
//       |                     in_loop --'   the notifier must wake
//       '--try_go--> absent --> notified by notify; the notifier must bring the owner
//
// Thread safety: notify(), call() and the _approx looks by anyone, the rest by the owner.
// Invariants:   SW1  only the owner leaves `notified` (and `called`, but for `notified`), only the owner enters a state of sleep
//               SW2  exactly one notify() or call() per sleep is told to wake
#pragma once

#include "sys/platform.hpp"

#include <cstdint>

namespace weft::impl {

enum class sleep_state : std::uint32_t { empty, called, notified, on_word, in_loop, absent };

/// What a sleeper was given.
enum class wake_token : std::uint8_t {
  none,
  call,    ///< by call()
  waking,  ///< by notify()
};

/// What whoever has notified a sleeper owes it.
enum class notify_duty : std::uint8_t {
  nothing,         ///< it is awake, or somebody else wakes it
  wake_word,       ///< wake it from its word
  interrupt_loop,  ///< interrupt the event loop
  bring_owner,     ///< it is not there: bring it
};

template <class Platform>
class basic_sleep_word {
 public:
  /// Says that the owner is about to sleep there; fails if there is a token, which get_up() then takes.
  [[nodiscard]] bool try_fall_asleep(sleep_state where) noexcept {
    std::uint32_t expected = value(sleep_state::empty);
    // relaxed: it is this word alone that decides between sleeper and notifier.
    return word_.compare_exchange_strong(expected, value(where), std::memory_order_relaxed,
                                         std::memory_order_relaxed);
  }

  /// Says that the owner is not there: by itself before it goes, or by whoever has it alone. Fails if there is a token.
  [[nodiscard]] bool try_go() noexcept { return try_fall_asleep(sleep_state::absent); }

  /// Ends a sleep, whatever ended it; or says that the owner has come. Returns the token, if there was one, which is taken.
  wake_token get_up() noexcept {
    // acquire: what the notifiers did is visible; all of them, hence no plain store even where a token is known to be
    // there: another may have notified since. [SW-token]
    const std::uint32_t before = word_.exchange(value(sleep_state::empty), std::memory_order_acquire);
    if (before == value(sleep_state::notified)) return wake_token::waking;
    return before == value(sleep_state::called) ? wake_token::call : wake_token::none;
  }

  /// Gives a token. What the caller owes concerns a sleeper that cannot get up without it, and that may be gone once
  /// it has: apart from the address of the word, nothing of it may be touched for notify_duty::wake_word.
  [[nodiscard]] notify_duty notify() noexcept {
    const std::uint32_t before = word_.exchange(value(sleep_state::notified),
                                                std::memory_order_release);  // [SW-token] pairs with get_up()
    return duty_after(before);
  }

  /// The same by a lesser token, which does not take the place of the other; and nothing if the owner is not there.
  [[nodiscard]] notify_duty call() noexcept {
    std::uint32_t seen = word_.load(std::memory_order_relaxed);
    for (;;) {
      if (seen == value(sleep_state::absent)) return notify_duty::nothing;
      const std::uint32_t next = seen == value(sleep_state::notified) ? seen : value(sleep_state::called);
      // Also where nothing changes: so that it shows what was done before. [SW-token]
      if (word_.compare_exchange_weak(seen, next, std::memory_order_release, std::memory_order_relaxed))
        return duty_after(seen);
    }
  }

  /// Sleeps on the word itself until there is a token, or until the deadline. Returns the token, if there was one.
  [[nodiscard]] wake_token sleep_until(time_point deadline) noexcept {
    if (!try_fall_asleep(sleep_state::on_word)) return get_up();
    constexpr std::uint32_t asleep = value(sleep_state::on_word);
    while (Platform::sleeper::wait(word_, asleep, deadline) != sleep_end::deadline) {
      if (word_.load(std::memory_order_relaxed) != asleep) break;  // relaxed: get_up() acquires
    }
    return get_up();
  }

  /// Discharges notify_duty::wake_word.
  void wake() noexcept { Platform::sleeper::wake_one(word_); }

  /// The state, which may have changed already.
  [[nodiscard]] sleep_state state_approx() const noexcept {
    return static_cast<sleep_state>(word_.load(std::memory_order_relaxed));  // relaxed: a hint
  }

 private:
  [[nodiscard]] static constexpr notify_duty duty_after(std::uint32_t before) noexcept {
    switch (static_cast<sleep_state>(before)) {
      case sleep_state::on_word: return notify_duty::wake_word;
      case sleep_state::in_loop: return notify_duty::interrupt_loop;
      case sleep_state::absent: return notify_duty::bring_owner;
      default: return notify_duty::nothing;
    }
  }
  [[nodiscard]] static constexpr std::uint32_t value(sleep_state s) noexcept {
    return static_cast<std::uint32_t>(s);
  }

  typename Platform::template atomic<std::uint32_t> word_{value(sleep_state::empty)};
};

}  // namespace weft::impl
