// SPDX-License-Identifier: Apache-2.0

#include "sys/clock.hpp"

#include <ctime>

namespace weft::impl {

time_point system_clock::now() const noexcept {
  timespec t{};
  ::clock_gettime(CLOCK_MONOTONIC, &t);
  return time_point(std::chrono::seconds(t.tv_sec) + std::chrono::nanoseconds(t.tv_nsec));
}

}  // namespace weft::impl
