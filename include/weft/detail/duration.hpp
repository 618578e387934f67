// SPDX-License-Identifier: Apache-2.0
//
// duration — any duration as nanoseconds: what does not fit is the longest there is.
#pragma once

#include <chrono>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace weft::detail {

/// Rounded up, so that nothing ends early.
template <class Rep, class Period>
[[nodiscard]] constexpr std::chrono::nanoseconds to_nanoseconds(
    const std::chrono::duration<Rep, Period>& wait) noexcept {
  using std::chrono::nanoseconds;
  // A double is exact enough to tell what does not fit, with a margin of a microsecond in 292 years.
  const double about = std::chrono::duration<double, std::nano>(wait).count();
  constexpr double most = 9.223372036854774e18;
  if (!(about < most)) return nanoseconds::max();  // also what is no number
  if (about < -most) return nanoseconds::min();
  return std::chrono::ceil<nanoseconds>(wait);
}

/// `later - earlier`, as far as it can be counted.
template <class Clock, class Duration, class Other>
[[nodiscard]] constexpr std::chrono::nanoseconds difference(
    const std::chrono::time_point<Clock, Duration>& later,
    const std::chrono::time_point<Clock, Other>& earlier) noexcept {
  using std::chrono::nanoseconds;
  const nanoseconds to = to_nanoseconds(later.time_since_epoch());
  const nanoseconds from = to_nanoseconds(earlier.time_since_epoch());
  std::int64_t between = 0;
  if (!__builtin_sub_overflow(to.count(), from.count(), &between)) return nanoseconds(between);
  return to > from ? nanoseconds::max() : nanoseconds::min();
}

}  // namespace weft::detail
