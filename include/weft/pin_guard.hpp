// SPDX-License-Identifier: Apache-2.0
//
// pin_guard — a stretch of code in which the running task stays on its thread.
#pragma once

#include <weft/config.hpp>

namespace weft {

namespace detail {
struct task_record;
/// Returns the running task, if it was not pinned before; null if it was, and on a plain thread.
[[nodiscard]] WEFT_EXPORT task_record* pin_task() noexcept;
WEFT_EXPORT void unpin_task(task_record& pinned) noexcept;
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
  /// From here on the running task stays where it is.
  pin_guard() noexcept : pinned_(detail::pin_task()) {}
  pin_guard(const pin_guard&) = delete;
  pin_guard& operator=(const pin_guard&) = delete;
  /// It may move again, unless another one lives. In the same task.
  ~pin_guard() {
    if (pinned_ != nullptr) detail::unpin_task(*pinned_);
  }

 private:
  detail::task_record* const pinned_;  // by the outermost
};

}  // namespace weft
