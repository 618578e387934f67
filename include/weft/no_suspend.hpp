// SPDX-License-Identifier: Apache-2.0
//
// no_suspend — a stretch of code in which the running task must not wait.
#pragma once

#include <weft/config.hpp>

namespace weft {

namespace detail {
WEFT_EXPORT void begin_no_suspend() noexcept;
WEFT_EXPORT void end_no_suspend() noexcept;
}  // namespace detail

/// While it lives, a wait of the running task is misuse, and ends the process with a message: for code that holds something of
/// its thread's (a std::mutex, the address of a thread_local) and calls what it does not know. May be nested. On a plain
/// thread it does nothing. What need not wait is allowed: joining a task that has ended, a weft::join whose second half nobody
/// has taken.
///
/// Example:
///     std::scoped_lock hold(registry_mutex);
///     const weft::no_suspend guard;
///     callback();                              // must not wait
class [[nodiscard]] no_suspend {
 public:
  /// From here on the running task must not wait.
  no_suspend() noexcept { detail::begin_no_suspend(); }
  no_suspend(const no_suspend&) = delete;
  no_suspend& operator=(const no_suspend&) = delete;
  /// It may again, unless another one lives. In the same task.
  ~no_suspend() { detail::end_no_suspend(); }
};

}  // namespace weft
