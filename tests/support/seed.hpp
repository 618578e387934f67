// SPDX-License-Identifier: Apache-2.0
//
// seed — the seed of a randomised test: fresh each time, printed, and taken from WEFT_SEED to repeat a run.
#pragma once

#include "sys/entropy.hpp"

#include <cstdint>
#include <cstdio>
#include <cstdlib>

namespace weft::testing {

inline std::uint64_t test_seed() {
  const char* const given = ::secure_getenv("WEFT_SEED");
  const std::uint64_t seed =
      given != nullptr ? std::strtoull(given, nullptr, 0) : impl::system_entropy::seed();
  std::printf("seed: WEFT_SEED=%llu repeats this run\n", static_cast<unsigned long long>(seed));
  std::fflush(stdout);
  return seed;
}

}  // namespace weft::testing
