// SPDX-License-Identifier: Apache-2.0
//
// this_fiber — what a task can say about itself, and how it gives way to others.
#pragma once

#include <weft/config.hpp>
#include <weft/detail/duration.hpp>

#include <chrono>
#include <cstdint>
#include <string_view>
#include <type_traits>

namespace weft::detail {
WEFT_EXPORT void sleep_for(std::chrono::nanoseconds wait);
}  // namespace weft::detail

namespace weft::this_fiber {

/// Lets others run first. On a plain thread: as std::this_thread::yield().
///
/// Cancellation point: yes.
WEFT_EXPORT void yield();

/// For tasks that compute for long: gives way if others have waited for a while, which costs next to nothing where they have not. On
/// a plain thread it does nothing.
///
/// Cancellation point: yes.
WEFT_EXPORT void checkpoint();

/// Lets the running task, or on a plain thread the thread, sleep for at least that long. Any duration will do: one that is
/// not positive is a yield(), and what is longer than a clock can count never ends by itself.
///
/// Cancellation point: yes.
template <class Rep, class Period>
void sleep_for(const std::chrono::duration<Rep, Period>& wait) {
  detail::sleep_for(detail::to_nanoseconds(wait));
}

/// The same until a clock shows that time. A clock that can be set is looked at again when the time has come.
///
/// Cancellation point: yes.
template <class Clock, class Duration>
void sleep_until(const std::chrono::time_point<Clock, Duration>& time) {
  if constexpr (std::is_same_v<Clock, std::chrono::steady_clock>) {
    sleep_for(detail::difference(time, Clock::now()));
  } else {
    for (auto now = Clock::now(); now < time; now = Clock::now()) sleep_for(detail::difference(time, now));
  }
}

/// The number of the running task; main's is 0. Zero on a plain thread, too.
[[nodiscard]] WEFT_EXPORT std::uint64_t id() noexcept;

/// The name that the running task was spawned with; empty where it has none, and on a plain thread. Good while the task
/// lives.
[[nodiscard]] WEFT_EXPORT std::string_view name() noexcept;

/// Whether the running task was asked to stop.
[[nodiscard]] WEFT_EXPORT bool is_cancelled() noexcept;

}  // namespace weft::this_fiber
