// SPDX-License-Identifier: Apache-2.0
//
// clock — the one shape of time in weft, and the clock that only moves when a test says so.
//
// Time is a monotonic count of nanoseconds. Whoever needs it is given a clock_source and never asks the
// system: the real one is sys/clock.hpp, tests and simulation hand in a fake_clock.
#pragma once

#include <weft/detail/assert.hpp>

#include <atomic>
#include <chrono>
#include <concepts>
#include <cstdint>
#include <limits>

namespace weft::impl {

/// The epoch is the clock's own business: only differences and comparisons mean anything.
struct monotonic_time {
  using duration = std::chrono::nanoseconds;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<monotonic_time>;
  static constexpr bool is_steady = true;
};

using duration = monotonic_time::duration;
using time_point = monotonic_time::time_point;

/// Later than any time that will ever come.
inline constexpr time_point never = time_point::max();

/// `start + wait` for any int64 of nanoseconds: what would overflow is never, or the beginning of time.
[[nodiscard]] constexpr time_point saturating_add(time_point start, duration wait) noexcept {
  std::int64_t sum = 0;
  if (!__builtin_add_overflow(start.time_since_epoch().count(), wait.count(), &sum))
    return time_point(duration(sum));
  return wait.count() > 0 ? never : time_point::min();
}

/// What a component asks of a clock.
template <class C>
concept clock_source = requires(const C clock) {
  { clock.now() } -> std::same_as<time_point>;
  requires noexcept(clock.now());
};

/// A clock that stands still until a test moves it. Thread safety: any thread.
class fake_clock {
 public:
  explicit fake_clock(time_point start = time_point()) noexcept : now_(start.time_since_epoch().count()) {}

  // acquire: who reads the new time also sees what the test did before it moved the clock. [FC-advance]
  [[nodiscard]] time_point now() const noexcept {
    return time_point(duration(now_.load(std::memory_order_acquire)));
  }

  /// Moves forward; a monotonic clock never goes back.
  void advance(duration by) noexcept {
    WEFT_CHECK(by.count() >= 0, "a monotonic clock cannot be moved back");
    now_.fetch_add(by.count(), std::memory_order_release);  // [FC-advance] pairs with now()
  }

 private:
  std::atomic<std::int64_t> now_;
};

}  // namespace weft::impl
