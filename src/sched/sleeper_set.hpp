// SPDX-License-Identifier: Apache-2.0
//
// sleeper_set — who sleeps: a bit for each worker, which whoever wants to wake it must win by clearing it.
//
// How many may be woken is the idle word's business: whoever has counted a sleeper out of it holds a promise, and wins
// one bit for it, any. A sleeper sets its bit before it is counted in, so that there are never fewer bits than sleepers
// and promises together. A bit is set once per sleep and cleared once, by a read-modify-write, so that no sleeper is
// woken twice, and nothing can be mistaken for something that was there before.
//
// Thread safety: add(), try_remove() and contains() of a bit by its worker; win() and try_win() by whoever holds a promise.
// Invariants:   SS1  as many bits as sleepers that are counted and promises that are open, or more
#pragma once

#include "sys/platform.hpp"

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace weft::impl {

template <class Platform, std::size_t Capacity>
class basic_sleeper_set {
 public:
  // relaxed, where nothing else is said: a bit hands nothing over but itself. That those who hold a promise find the bits is by
  // the idle word, whose announcement comes after add() and is a release, and whose promise is an acquire. [ID-bed]

  void add(std::size_t worker) noexcept {
    word_of(worker).fetch_or(bit_of(worker), std::memory_order_relaxed);
  }

  /// Whether the bit was there still; it is not any more.
  [[nodiscard]] bool try_remove(std::size_t worker) noexcept {
    const std::uint64_t before = word_of(worker).fetch_and(~bit_of(worker), std::memory_order_relaxed);
    return (before & bit_of(worker)) != 0;
  }

  /// Wins a certain one, for a promise that the caller holds: whether it was there still.
  [[nodiscard]] bool try_win(std::size_t worker) noexcept {
    const std::uint64_t before = word_of(worker).fetch_and(~bit_of(worker), std::memory_order_relaxed);
    return (before & bit_of(worker)) != 0;
  }

  /// Whether the bit is there, as far as one can tell. Once it is not, it will not be, until its worker adds it again; and the token of
  /// whoever has won it is on the way.
  [[nodiscard]] bool contains(std::size_t worker) const noexcept {
    return (word_of(worker).load(std::memory_order_relaxed) & bit_of(worker)) != 0;
  }

  /// Wins a sleeper, for a promise that the caller holds: one of those with the least cost, if it can; zero is the least there is.
  template <class Cost>
  [[nodiscard]] std::size_t win(Cost&& cost) noexcept {
    for (;;) {
      if (const std::optional<std::size_t> won = sweep(cost)) return *won;
      Platform::pause();  // others have won what we saw; what is ours was set behind our back
    }
  }

 private:
  static constexpr std::size_t word_bits = 64;
  static constexpr std::size_t words = (Capacity + word_bits - 1) / word_bits;

  template <class Cost>
  [[nodiscard]] std::optional<std::size_t> sweep(Cost&& cost) noexcept {
    std::optional<std::size_t> cheapest;
    unsigned least = 0;
    for (std::size_t w = 0; w < words; ++w) {
      std::uint64_t there = words_[w].load(std::memory_order_relaxed);
      // With one word there is nothing to be behind, and SS1 can be seen.
      WEFT_ASSERT(words > 1 || there != 0, "SS1: a sleeper was promised, and there is none");
      for (; there != 0; there &= there - 1) {
        const std::size_t worker = w * word_bits + static_cast<std::size_t>(std::countr_zero(there));
        const unsigned now = cost(worker);
        if (now == 0) {
          if (try_win(worker)) return worker;
        } else if (!cheapest || now < least) {
          cheapest = worker;
          least = now;
        }
      }
    }
    if (cheapest && try_win(*cheapest)) return cheapest;
    return std::nullopt;
  }

  [[nodiscard]] auto& word_of(std::size_t worker) noexcept { return words_[worker / word_bits]; }
  [[nodiscard]] const auto& word_of(std::size_t worker) const noexcept { return words_[worker / word_bits]; }
  [[nodiscard]] static constexpr std::uint64_t bit_of(std::size_t worker) noexcept {
    return std::uint64_t{1} << worker % word_bits;
  }

  std::array<typename Platform::template atomic<std::uint64_t>, words> words_{};
};

}  // namespace weft::impl
