// SPDX-License-Identifier: Apache-2.0
//
// context — a stack that can be left and returned to: registers, exceptions, floating-point control.
//
// Thread safety: a context belongs to whoever may resume it; passing that right on is the owner's business,
// and must happen after the switch away from it is complete.
// Invariants:   C1  parked() is true exactly while the context is not running
//               C2  the stack outlives the context
#pragma once

#include "arch/eh_globals.hpp"
#include "arch/fp_control.hpp"
#include "arch/machine.hpp"
#include "arch/sanitizer.hpp"

#include <weft/detail/assert.hpp>

#include <cstddef>
#include <cstdint>

namespace weft::impl {

struct context {
  machine_context machine;
  exception_state exceptions;       // E1: zero while running
  fp_control fp;                    // used only where the carrier asks for it
  const void* stack_low = nullptr;  // the lowest byte of the stack; null for a thread's own
  [[no_unique_address]] sanitizer_state sanitizers;

  /// Whether the context is parked, and so may be switched to. Exact in debug builds, where arriving clears
  /// it; in release builds a running context may still look parked.
  [[nodiscard]] bool parked() const noexcept { return !machine.empty(); }

  /// The lowest byte of its stack that is in use, while it is parked.
  [[nodiscard]] const void* lowest_in_use() const noexcept { return machine.lowest_in_use(); }
};

/// Makes a context that will run entry(argument) on the stack [low, low + size). The first thing that entry
/// does must be begin_context(), and it must never return. It starts with the creator's fp control words.
inline void make_context(context& made, void* low, std::size_t size, void (*entry)(void*), void* argument,
                         context_identity identity = context_identity::own) noexcept {
  void* const top = static_cast<char*>(low) + size;
  WEFT_CHECK(reinterpret_cast<std::uintptr_t>(top) % 16 == 0, "a stack must end at a multiple of 16 bytes");
  describe_context(made.sanitizers, low, size, identity);
  made.stack_low = low;
  made.exceptions = {};
  made.fp = fp_control::read();
  prepare(made.machine, top, entry, argument);
}

/// Forgets a context that is parked and will never be resumed. Frees nothing: the stack is the caller's.
inline void forget_context(context& gone) noexcept {
  forget_context(gone.sanitizers);
  gone.machine = {};
}

}  // namespace weft::impl
