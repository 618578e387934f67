// SPDX-License-Identifier: Apache-2.0
//
// view — what a model thread knows: how far it has seen each location, and what happened before.
//
// The two halves travel together in release and acquire, but not through fences: a sequentially consistent fence
// makes its thread see what others fenced before (the first half) without ordering ordinary data (the second).
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace weft::model {

inline constexpr std::size_t max_locations = 96;  // atomics in one execution
inline constexpr std::size_t max_threads = 8;     // the main thread included

using location_id = std::uint16_t;
using thread_id = std::uint8_t;
// A place in a location's modification order, with room between two; 16 bits, signed: what SSE2 can compare.
using stamp = std::int16_t;

/// An element-wise maximum over numbers that only grow.
template <class T, std::size_t N>
struct high_marks {
  std::array<T, N> at{};

  T& operator[](std::size_t i) noexcept { return at[i]; }
  const T& operator[](std::size_t i) const noexcept { return at[i]; }

  void join(const high_marks& other) noexcept {
    for (std::size_t i = 0; i < N; ++i) at[i] = std::max(at[i], other.at[i]);
  }
};

using sightings =
    high_marks<stamp, max_locations>;  // per location: the oldest message that may still be read
using clocks = high_marks<std::int32_t, max_threads>;  // per thread: how much of it happened before

struct view {
  sightings seen;
  clocks happened;

  void join(const view& other) noexcept {
    seen.join(other.seen);
    happened.join(other.happened);
  }
};

}  // namespace weft::model
