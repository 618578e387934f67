// SPDX-License-Identifier: Apache-2.0

#include "sys/entropy.hpp"

#include "sys/clock.hpp"

#include <sys/random.h>

namespace weft::impl {

std::uint64_t system_entropy::seed() noexcept {
  std::uint64_t seed = 0;
  if (::getrandom(&seed, sizeof seed, GRND_NONBLOCK) == static_cast<ssize_t>(sizeof seed)) return seed;
  return static_cast<std::uint64_t>(system_clock().now().time_since_epoch().count()) ^
         reinterpret_cast<std::uintptr_t>(&seed);
}

}  // namespace weft::impl
