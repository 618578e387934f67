// SPDX-License-Identifier: Apache-2.0
//
// switch — leaving one context for another.
//
// A function that calls one of these is marked WEFT_SWITCHES and lives in the library, never in a public
// header. After the call, nothing read before it about the thread may be used: the fiber may have moved.
// Whoever makes the parked context available to others does so after the switch, on the other side.
#pragma once

#include "arch/carrier.hpp"
#include "arch/context.hpp"

namespace weft::impl {

/// Exchanges what the thread keeps for the running context: its exceptions and, by option, its floating-point
/// control words. One test where there is nothing to exchange, which is nearly always.
WEFT_ALWAYS_INLINE void exchange_thread_state(carrier& on, context& from, context& to) noexcept {
  const bool exchange_fp = !switch_keeps_fp_control && on.keep_fp_control;
  const std::uintptr_t any = on.exceptions->bits() | to.exceptions.bits() | std::uintptr_t{exchange_fp};
  if (WEFT_LIKELY(any == 0)) return;  // E1: from.exceptions is zero already
  exchange_exception_state(*on.exceptions, from.exceptions, to.exceptions);
  if (exchange_fp) exchange_fp_control(from.fp, to.fp);
}

/// Parks the running context in `from` and goes on in `to`, on the thread of `on`.
template <switch_edge Edge, go_on Where = go_on::anywhere>
WEFT_ALWAYS_INLINE void switch_context(carrier& on, context& from, context& to) noexcept {
  WEFT_ASSERT(to.parked(), "C1: switching to a context that is not parked");
  exchange_thread_state(on, from, to);
  on.current = &to;
  leaving<Edge>(from.sanitizers, to.sanitizers);
  change_stack<Where>(from.machine, to.machine);
  arrived(from.sanitizers);
#ifndef NDEBUG
  from.machine = {};  // C1
#endif
}

/// Leaves a context that will never run again, for `to`.
template <switch_edge Edge>
[[noreturn]] WEFT_ALWAYS_INLINE void switch_for_good(carrier& on, context& from, context& to) noexcept {
  WEFT_ASSERT(to.parked(), "C1: switching to a context that is not parked");
  exchange_thread_state(on, from, to);
  on.current = &to;
  leaving_for_good<Edge>(to.sanitizers);
  change_stack<go_on::anywhere>(from.machine, to.machine);
  __builtin_trap();  // nobody may resume it
}

/// The first thing a new context does, before anything else runs on its stack.
WEFT_ALWAYS_INLINE void begin_context([[maybe_unused]] context& self) noexcept {
  arrived_first();
#ifndef NDEBUG
  self.machine = {};  // C1
#endif
}

}  // namespace weft::impl
