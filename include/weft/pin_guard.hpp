// SPDX-License-Identifier: Apache-2.0
//
// pin_guard — a stretch of code in which the running task stays on its thread.
#pragma once

#include <weft/config.hpp>

namespace weft {

namespace detail {
/// Returns whether the running task was not pinned before.
[[nodiscard]] WEFT_EXPORT bool pin_task() noexcept;
WEFT_EXPORT void unpin_task() noexcept;
}  // namespace detail

/// While it lives, the running task goes on upon the same worker, and so on the same thread, after each wait: for libraries
/// that keep something per thread between calls (a TLS session, a graphics context, an interpreter's state). May be nested.
/// What the task spawns, and the second half of a join, is not pinned. On a plain thread it does nothing.
///
/// A pinned task waits for its own worker though others are idle: keep the stretch short, and do not compute in it.
///
/// Example:
///     const weft::pin_guard here;
///     start_query(thread_session());
///     weft::this_fiber::sleep_for(10ms);
///     finish_query(thread_session());          // the same session
class [[nodiscard]] pin_guard {
 public:
  pin_guard() noexcept : is_outermost_(detail::pin_task()) {}
  pin_guard(const pin_guard&) = delete;
  pin_guard& operator=(const pin_guard&) = delete;
  ~pin_guard() {
    if (is_outermost_) detail::unpin_task();
  }

 private:
  const bool is_outermost_;
};

}  // namespace weft
