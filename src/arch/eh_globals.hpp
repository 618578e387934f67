// SPDX-License-Identifier: Apache-2.0
//
// eh_globals — the exceptions a fiber is handling or unwinding with travel with the fiber.
//
// The C++ runtime keeps two words per thread: the chain of caught exceptions and the number of uncaught ones.
// A fiber that waits inside a catch block and wakes on another thread would find somebody else's: its
// `throw;` would rethrow a stranger's exception. So the switch exchanges the two words, and only when one of
// them is non-zero, which costs a test in the common case (arch/switch.hpp).
//
// Thread safety: an exception_state belongs to its context; *globals belongs to the thread.
// Invariants:   E1  while a context runs, its exception_state is zero: the thread's words are the truth
#pragma once

#include "base/planted.hpp"

#include <weft/config.hpp>

#include <cstdint>

namespace weft::impl {

/// The Itanium C++ ABI's __cxa_eh_globals, whose layout is fixed by that ABI.
struct exception_state {
  void* caught = nullptr;
  unsigned uncaught = 0;
#if defined(__ARM_EABI_UNWINDER__)
  void* propagating = nullptr;
#endif

  /// Zero exactly when there is nothing to keep.
  [[nodiscard]] std::uintptr_t bits() const noexcept {
    return reinterpret_cast<std::uintptr_t>(caught) | uncaught;
  }
  [[nodiscard]] bool empty() const noexcept { return bits() == 0; }
};

/// The current thread's words. Asked for once per thread and kept: the address is the thread's, for its life.
[[nodiscard]] exception_state& thread_exception_state() noexcept;

/// Puts the thread's words into `from` and those of `to` in their place, before the switch from one to the other.
inline void exchange_exception_state(exception_state& thread, exception_state& from,
                                     exception_state& to) noexcept {
  if constexpr (planted::exception_state_stays_with_thread) return;
  from = thread;
  thread = to;
  to = {};
}

}  // namespace weft::impl
