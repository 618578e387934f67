// SPDX-License-Identifier: Apache-2.0
//
// fiber — a stack with a worker's loop at its base, and the task that stands on it.
//
// A loop runs tasks that never wait as plain calls. When one waits, the stack with all that stands on it becomes that
// task's, and its worker goes on with the loop of another stack. When the task goes on, maybe on another worker, and
// ends, it returns into the loop at the base of its stack, which now works for the worker that it is on.
//
// It lies at the top of its own stack: a parked fiber costs one page and its record.
//
// Thread safety: belongs to the worker that runs it or keeps it, or to the task that stands on it.
// Invariants:   FI1  `running` is null exactly while nothing but the loop stands on the stack
#pragma once

#include "arch/context.hpp"
#include "base/cache_line.hpp"
#include "stack/stack_slot.hpp"

#include <cstddef>

namespace weft::impl {

struct task;
class worker;

struct fiber : context {
  stack_slot* slot = nullptr;
  task* running = nullptr;
  const std::byte* watermark = nullptr;  // below it there is little room left
  fiber* next = nullptr;                 // among a worker's spare ones
  worker* pinned_to = nullptr;           // where its task goes on, if that is pinned
  fiber* below = nullptr;                // where its task stood when it took this one
  std::uint32_t depth = 0;               // how many stacks its task had when it took this one
  bool is_for_one = false;               // its loop runs one task, which has asked for this stack

  /// What it takes of its stack.
  static constexpr std::size_t room() noexcept {
    return (sizeof(fiber) + cache_line_bytes - 1) / cache_line_bytes * cache_line_bytes;
  }
  /// The fiber of a stack that has one.
  [[nodiscard]] static fiber& of(const stack_slot& slot) noexcept {
    return *reinterpret_cast<fiber*>(slot.high() - room());
  }
};

}  // namespace weft::impl
