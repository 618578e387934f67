// SPDX-License-Identifier: Apache-2.0
//
// scale — how much a heavy test does in this build.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>

namespace weft::testing {

/// `full` in ordinary builds, `small` in builds that are many times slower (sanitizers, emulation, coverage).
template <class T>
constexpr T scaled([[maybe_unused]] T full, [[maybe_unused]] T small) {
#if defined(WEFT_TEST_SCALE_full)
  return full;
#else
  return small;
#endif
}

/// Whether this is a long run: WEFT_TEST_LONG=1, which ./do test --full sets.
inline bool is_long_run() {
  const char* const asked = ::secure_getenv("WEFT_TEST_LONG");
  return asked != nullptr && asked[0] == '1';
}

/// How often a randomised test repeats itself: once, or many times in a long run.
inline int repetitions(int long_run) { return is_long_run() ? long_run : 1; }

/// How many operations a storm consists of.
struct storm_length {
  std::uint64_t usual = 0;     ///< in ordinary builds
  std::uint64_t slow = 0;      ///< in slow ones, as for scaled()
  std::uint64_t long_run = 0;  ///< in a long run of the release
  std::uint64_t long_slow =
      0;  ///< in a long run of asan and tsan, if not ten times as much as in a usual one

  [[nodiscard]] std::uint64_t now() const {
#if defined(WEFT_TEST_LONG_STORMS)
    if (is_long_run()) return scaled(long_run, long_slow != 0 ? long_slow : std::min(long_run, 10 * slow));
#endif
    return scaled(usual, slow);
  }
};

}  // namespace weft::testing
