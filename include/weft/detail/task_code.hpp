// SPDX-License-Identifier: Apache-2.0
//
// task_code — what the library has to know of a task's closure and result, which only the compiler knows the types of.
//
// The closure lies in the body of the task's record. When it has run it makes room for what it returned, or for the
// exception that it threw.
#pragma once

#include <cstdint>
#include <exception>

namespace weft::detail {

/// How a task came out.
enum class task_outcome : std::uint8_t {
  none,       ///< it has not begun, or waits for its turn
  begun,      ///< it has, and has not ended
  value,      ///< the body holds what it returned
  error,      ///< the body holds an exception
  cancelled,  ///< it stopped because it was asked to; the body holds nothing
};

/// One for each type of closure, immutable.
struct task_code {
  /// Runs the closure, destroys it, and leaves its result in its place.
  task_outcome (*run)(void* body) noexcept;
  /// Destroys a closure that will not run.
  void (*drop)(void* body) noexcept;
  /// Destroys a value that nobody wants; null where that is nothing.
  void (*clear)(void* body) noexcept;
};

/// The exception in the body of a task whose outcome is error: there it lies at the beginning, whatever the closure was.
[[nodiscard]] inline std::exception_ptr& error_in(void* body) noexcept {
  return *static_cast<std::exception_ptr*>(body);
}

}  // namespace weft::detail
