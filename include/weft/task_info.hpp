// SPDX-License-Identifier: Apache-2.0
//
// task_info — what anybody may know of a task: what it is doing, and who it is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace weft {

/// What a task is doing.
enum class task_state : std::uint8_t {
  ready,             ///< it waits for a worker, to begin or to go on
  running,           ///< a worker runs it
  blocked,           ///< it waits for something else
  completed,         ///< it has returned or thrown
  cancelled,         ///< it has stopped because it was asked to
  budget_exhausted,  ///< it has spent what it was granted
};

/// The state's name, as the enumerator is spelled.
[[nodiscard]] constexpr const char* to_string(task_state state) noexcept {
  switch (state) {
    case task_state::ready: return "ready";
    case task_state::running: return "running";
    case task_state::blocked: return "blocked";
    case task_state::completed: return "completed";
    case task_state::cancelled: return "cancelled";
    case task_state::budget_exhausted: return "budget_exhausted";
  }
  return "unknown";
}

/// A task, as it was at one moment.
struct task_info {
  std::uint64_t id = 0;                  ///< as this_fiber::id(); main's is 0
  std::string name;                      ///< empty where it has none
  task_state state = task_state::ready;  ///< what it was doing
  std::string waits_for;   ///< what a blocked task waits for: "join", "sleep", or what suspend() was told
  std::string file;        ///< where it was spawned
  std::uint32_t line = 0;  ///< and the line there
};

/// How deep the tasks go that are spawned at one place, as far as they were measured.
struct stack_use {
  std::string file;           ///< where they are spawned
  std::uint32_t line = 0;     ///< and the line there
  std::uint64_t samples = 0;  ///< how many were measured
  std::size_t deepest = 0;    ///< bytes that the deepest of them used of its stack; 4 KiB where it was less
  std::size_t stack = 0;      ///< the size of that stack
};

/// How a runtime was shut down.
struct shutdown_report {
  std::vector<task_info> still_alive;  ///< those that had not stopped in time

  /// Whether all tasks have ended.
  [[nodiscard]] bool is_complete() const noexcept { return still_alive.empty(); }
};

}  // namespace weft
