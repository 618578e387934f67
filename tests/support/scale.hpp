// SPDX-License-Identifier: Apache-2.0
//
// scale — how much a heavy test does in this build.
#pragma once

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

/// How often a randomised test repeats itself: once, or many times in a long run (WEFT_TEST_LONG=1, which
/// ./do test --full sets).
inline int repetitions(int long_run) {
  const char* const asked = ::secure_getenv("WEFT_TEST_LONG");
  return asked != nullptr && asked[0] == '1' ? long_run : 1;
}

/// The same for a storm, whose long run in a release build would be far too long in one with all assertions.
inline int storm_repetitions(int long_run) {
#ifdef NDEBUG
  return repetitions(long_run);
#else
  return repetitions(long_run > 8 ? long_run / 8 : 1);
#endif
}

}  // namespace weft::testing
