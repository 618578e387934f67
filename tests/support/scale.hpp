// SPDX-License-Identifier: Apache-2.0
//
// scale — how much a heavy test does in this build.
#pragma once

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

}  // namespace weft::testing
