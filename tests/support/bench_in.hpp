// SPDX-License-Identifier: Apache-2.0
//
// bench_in — the scene of a deque's model: at its end everything that was pushed has been taken once.
#pragma once

#include "model/world.hpp"

#include <cstdint>

namespace weft::testing {

/// A deque of this capacity and who has got what of it; `Bench` has a settle() that looks at that.
template <class Bench>
Bench& bench_in(model::world& in, std::uint32_t capacity) {
  auto& b = in.make<Bench>(capacity);
  in.finally([&b] { b.settle(); });
  return b;
}

}  // namespace weft::testing
