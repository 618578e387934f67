// SPDX-License-Identifier: Apache-2.0
//
// recursion — eats stack, a frame at a time, until there is no more.
#pragma once

#include "arch/attributes.hpp"

#include <climits>

namespace weft::testing {

/// Read at every depth, so that no compiler can see that the recursion has no end.
inline volatile int recursion_end = INT_MAX;

/// Recurses with frames of a good `Bytes` bytes each. Not to be cloned: its name is to be seen in backtraces. Not watched by
/// sanitizers: it is to overflow by itself, and not in a function of theirs.
template <unsigned Bytes = 512>
WEFT_UNWATCHED WEFT_SWITCHES __attribute__((no_sanitize("address", "undefined"))) int recurse(int depth) {
  volatile char frame[Bytes];
  volatile char& somewhere = frame[static_cast<unsigned>(depth) % Bytes];
  somewhere = 1;
  if (depth == recursion_end) return somewhere;
  return recurse<Bytes>(depth + 1) + somewhere;
}

}  // namespace weft::testing
