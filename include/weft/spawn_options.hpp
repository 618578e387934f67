// SPDX-License-Identifier: Apache-2.0
//
// spawn_options — what a task may have of its own: a name, a stack, a priority, an execution context.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace weft {

/// In which lane a task waits for a worker.
///
/// A task of high priority goes before the others, sixteen in a row at most; one of low priority waits until there is
/// nothing else, but is remembered after some hundreds of others. So nobody starves.
enum class priority : std::uint8_t {
  normal,  ///< as most
  high,    ///< before the others
  low,     ///< after them
};

class execution_context;

/// How a task is spawned. What is left alone is as for all tasks, and costs nothing.
struct spawn_options {
  std::string_view name = {};   ///< for reports and this_fiber::name(); it is copied
  std::size_t stack_bytes = 0;  ///< a stack of its own, of 8 KiB to 8 MiB; 0: one like all others
  weft::priority priority = weft::priority::normal;  ///< its lane, also each time that it goes on
  execution_context* context = nullptr;              ///< where it runs; null: where it is spawned
};

}  // namespace weft
