// SPDX-License-Identifier: Apache-2.0
//
// rng — seeded randomness: xoshiro256** by Blackman and Vigna, seeded through splitmix64.
//
// All chance in weft comes from here, so that a seed replays a run. Not for secrets.
//
// Thread safety: none; each worker has its own, made by split() from its runtime's.
// Invariants:   R1  the state is never all zero (the one state that would stay zero)
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <limits>

namespace weft::impl {

/// A std::uniform_random_bit_generator with a period of 2^256 - 1.
class xoshiro256ss {
 public:
  using result_type = std::uint64_t;

  /// The stream that belongs to the seed; every seed, 0 included, gives a good one (R1 by splitmix64).
  explicit constexpr xoshiro256ss(std::uint64_t seed) noexcept {
    for (std::uint64_t& word : state_) {
      seed += 0x9e3779b97f4a7c15U;
      std::uint64_t z = seed;
      z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9U;
      z = (z ^ (z >> 27U)) * 0x94d049bb133111ebU;
      word = z ^ (z >> 31U);
    }
  }

  /// Starts from a given state, as published test vectors do; it must not be all zero (R1).
  explicit constexpr xoshiro256ss(const std::array<std::uint64_t, 4>& state) noexcept : state_(state) {}

  static constexpr std::uint64_t min() noexcept { return 0; }
  static constexpr std::uint64_t max() noexcept { return std::numeric_limits<std::uint64_t>::max(); }

  constexpr std::uint64_t operator()() noexcept {
    const std::uint64_t number = std::rotl(state_[1] * 5, 7) * 9;
    const std::uint64_t t = state_[1] << 17U;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= t;
    state_[3] = std::rotl(state_[3], 45);
    return number;
  }

  /// A number in [0, bound), each equally likely up to 2^-32 (multiply-shift; bound 0 gives 0).
  constexpr std::uint32_t below(std::uint32_t bound) noexcept {
    return static_cast<std::uint32_t>(((*this)() >> 32U) * bound >> 32U);
  }

  /// A generator for somebody else, independent of what this one gives from now on.
  [[nodiscard]] constexpr xoshiro256ss split() noexcept { return xoshiro256ss((*this)()); }

 private:
  std::array<std::uint64_t, 4> state_{};
};

}  // namespace weft::impl
