// SPDX-License-Identifier: Apache-2.0
//
// futex — a thread sleeps on a word until somebody wakes it: the one way in which weft's threads block.
//
// A sleeper names a word and the value it has seen there; the kernel lets it sleep only while the word still holds that
// value, so whoever changes the word first and wakes then can never be missed. Sleeping ends for any reason, also for
// none: what counts is the word, and the sleeper looks again.
//
// Thread safety: any thread.
#pragma once

#include "base/atomic.hpp"
#include "base/clock.hpp"

#include <concepts>
#include <cstdint>

namespace weft::impl {

/// How a sleep ended.
enum class sleep_end : std::uint8_t {
  woken,     ///< by a wake, because the word had another value, or for no reason: look again
  deadline,  ///< the deadline has passed
};

// Version 14 does not know compound requirements with noexcept.
// clang-format off

/// What a component asks of the sleep it is given; system_sleeper says what each function does. The model checker's
/// blocks where its scheduler can see it.
template <class S, class Word>
concept sleeper_provider = requires(const Word& word, std::uint32_t seen, time_point deadline) {
  { S::wait(word, seen, deadline) } noexcept -> std::same_as<sleep_end>;
  { S::wake_one(word) } noexcept;
  { S::yield() } noexcept;
};

/// A platform whose threads can sleep.
template <class P>
concept sleeping_platform =
    atomics_provider<P> && sleeper_provider<typename P::sleeper, typename P::template atomic<std::uint32_t>>;

// clang-format on

/// Sleep by futex(2), private to the process.
struct system_sleeper {
  /// Sleeps while the word is `seen`, until the deadline (which may be `never`, or long past) by CLOCK_MONOTONIC.
  /// Signals do not end it.
  template <class Word>
  [[nodiscard]] static sleep_end wait(const Word& word, std::uint32_t seen, time_point deadline) noexcept {
    return wait_at(address(word), seen, deadline);
  }

  /// Wakes one of those who sleep on the word. The word is not touched, and its memory may even be gone: a sleeper that
  /// has seen the change may have freed it. At worst, somebody who sleeps there by now is woken for no reason.
  template <class Word>
  static void wake_one(const Word& word) noexcept {
    wake_at(address(word));
  }

  /// Lets others run that are ready, as whoever waits for a few steps of another thread should: that one may have lost
  /// its processor to us.
  static void yield() noexcept;

 private:
  template <class Word>
  static const std::uint32_t* address(const Word& word) noexcept {
    static_assert(sizeof(Word) == sizeof(std::uint32_t),
                  "the kernel reads the atomic as the 32-bit word it is");
    return reinterpret_cast<const std::uint32_t*>(&word);
  }

  [[nodiscard]] static sleep_end wait_at(const std::uint32_t* word, std::uint32_t seen,
                                         time_point deadline) noexcept;
  static void wake_at(const std::uint32_t* word) noexcept;
};
static_assert(sleeper_provider<system_sleeper, std::atomic<std::uint32_t>>);

}  // namespace weft::impl
