// SPDX-License-Identifier: Apache-2.0
//
// check — the few words a cure needs to say what it expects. A cure is a test that also runs inside a shared
// library and under link-time optimisation, so it brings no test framework along.
#pragma once

#include <cstdio>

namespace cures {

inline int failures = 0;

inline void expect(bool holds, const char* condition, const char* file, int line) {
  if (holds) return;
  ++failures;
  std::fprintf(stderr, "%s:%d: expected %s\n", file, line, condition);
}

/// What a cure returns: 0, or 1 after saying how much failed.
inline int verdict() {
  if (failures != 0)
    std::fprintf(stderr, "cure: %d expectation%s failed\n", failures, failures == 1 ? "" : "s");
  return failures == 0 ? 0 : 1;
}

}  // namespace cures

#define WEFT_CURE_EXPECT(condition) \
  ::cures::expect(static_cast<bool>(condition), #condition, __FILE__, __LINE__)

/// Defined by each cure, and called by main.cpp.
extern "C" __attribute__((visibility("default"))) int weft_run_cure();
