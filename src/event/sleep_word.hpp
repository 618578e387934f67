// SPDX-License-Identifier: Apache-2.0
//
// sleep_word — the state of one sleeper in one word: whether it sleeps, where, and whether it was told to get up.
//
// A token that is given to a sleeper who is awake is kept, so that its next sleep ends at once; one is kept, not more.
// The owner falls asleep and gets up; anyone may notify. The transitions return what the caller then owes.
//
//                    notify                            empty     awake, no token
//     empty --------------------> notified             notified  awake, or about to be; a token is there
//       |  ^                       |    ^              on_word   asleep on this very word
//       |  '------- get_up --------'    |              in_loop   asleep in the event loop
//       '--try_fall_asleep--> on_word --+-- notify; the notifier must wake
//                             in_loop --'
//
// Thread safety: notify() and the _approx looks by anyone, the rest by the owner.
// Invariants:   SW1  only the owner leaves `notified`, only the owner enters a state of sleep
//               SW2  exactly one notify() per sleep is told to wake
#pragma once

#include "sys/platform.hpp"

#include <cstdint>

namespace weft::impl {

enum class sleep_state : std::uint32_t { empty, notified, on_word, in_loop };

/// What whoever has notified a sleeper owes it.
enum class notify_duty : std::uint8_t {
  nothing,         ///< it is awake, or somebody else wakes it
  wake_word,       ///< wake it from its word
  interrupt_loop,  ///< interrupt the event loop
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

  /// Ends a sleep, whatever ended it. Returns whether there was a token, which is taken.
  [[nodiscard]] bool get_up() noexcept {
    // acquire: what the notifiers did is visible; all of them, hence no plain store even where a token is known to be
    // there: another may have notified since. [SW-token]
    const std::uint32_t before = word_.exchange(value(sleep_state::empty), std::memory_order_acquire);
    return before == value(sleep_state::notified);
  }

  /// Gives a token. What the caller owes concerns a sleeper that cannot get up without it, and that may be gone once
  /// it has: apart from the address of the word, nothing of it may be touched for notify_duty::wake_word.
  [[nodiscard]] notify_duty notify() noexcept {
    const std::uint32_t before = word_.exchange(value(sleep_state::notified),
                                                std::memory_order_release);  // [SW-token] pairs with get_up()
    switch (static_cast<sleep_state>(before)) {
      case sleep_state::on_word: return notify_duty::wake_word;
      case sleep_state::in_loop: return notify_duty::interrupt_loop;
      default: return notify_duty::nothing;
    }
  }

  /// Sleeps on the word itself until there is a token, or until the deadline. Returns whether there was a token.
  [[nodiscard]] bool sleep_until(time_point deadline) noexcept {
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
  [[nodiscard]] static constexpr std::uint32_t value(sleep_state s) noexcept {
    return static_cast<std::uint32_t>(s);
  }

  typename Platform::template atomic<std::uint32_t> word_{value(sleep_state::empty)};
};

}  // namespace weft::impl
