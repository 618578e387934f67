// SPDX-License-Identifier: Apache-2.0
//
// sanitizer — tells AddressSanitizer, ThreadSanitizer and valgrind which stack is running.
//
// Found out by themselves: the sanitizers from the compiler's flags, valgrind when the program runs under it.
// In every other build these types are empty and these functions nothing. The order around a switch is
// leaving(), the switch, arrived(); a new context begins with arrived_first(); the last switch away from a
// context that will never run again is announced by leaving_for_good().
//
// ThreadSanitizer sees each context as a thread of its own. Whether a switch orders the two sides is the
// caller's to say: a hand-made coroutine's resume does (switch_edge::ordered); a scheduler's does not, its
// spawn and wake-up edges do, and claiming more would hide races between fibers of one worker.
#pragma once

#include "arch/attributes.hpp"

#include <weft/detail/sanitizers.hpp>

#include <cstddef>

#if WEFT_ADDRESS_SANITIZER
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#include <sanitizer/lsan_interface.h>
#endif
#if WEFT_THREAD_SANITIZER
#include <sanitizer/tsan_interface.h>
#endif
#if __has_include(<valgrind/valgrind.h>)
#include <valgrind/valgrind.h>
#define WEFT_VALGRIND 1
#else
#define WEFT_VALGRIND 0
#endif

namespace weft::impl {

/// Whether a switch makes what one side did before it visible to the other (in ThreadSanitizer's eyes).
enum class switch_edge { ordered, unordered };

/// Whether a context is a thread of its own in ThreadSanitizer's eyes, or its owner says whose it is each time that it runs. (One that
/// is made for nothing costs a tenth of a millisecond.)
enum class context_identity { own, given };

/// What the sanitizers need to know of one context; empty in ordinary builds.
struct sanitizer_state {
#if WEFT_ADDRESS_SANITIZER
  void* fake_stack = nullptr;
  const void* low = nullptr;
  std::size_t size = 0;
#endif
#if WEFT_THREAD_SANITIZER
  void* fiber = nullptr;
#endif
};

/// Describes the thread that calls it, on the stack the system gave it (defined in sanitizer.cpp).
void describe_thread(sanitizer_state& state) noexcept;

/// Describes a new context on the stack [low, low + size).
inline void describe_context([[maybe_unused]] sanitizer_state& state, [[maybe_unused]] const void* low,
                             [[maybe_unused]] std::size_t size,
                             [[maybe_unused]] context_identity identity) noexcept {
#if WEFT_ADDRESS_SANITIZER
  state = {nullptr, low, size};
  __lsan_register_root_region(low, size);  // a parked context may hold the only pointer to something
#endif
#if WEFT_THREAD_SANITIZER
  if (identity == context_identity::own) state.fiber = __tsan_create_fiber(0);
#endif
}

/// Forgets the calling thread's own stack again.
void forget_thread(sanitizer_state& state) noexcept;

/// Forgets a context that is not running and will not run again: finished, or abandoned in mid-call.
void forget_context(sanitizer_state& state) noexcept;

template <switch_edge Edge>
WEFT_ALWAYS_INLINE void leaving([[maybe_unused]] sanitizer_state& from,
                                [[maybe_unused]] sanitizer_state& to) noexcept {
#if WEFT_ADDRESS_SANITIZER
  __sanitizer_start_switch_fiber(&from.fake_stack, to.low, to.size);
#endif
#if WEFT_THREAD_SANITIZER
  __tsan_switch_to_fiber(to.fiber, Edge == switch_edge::ordered ? 0 : __tsan_switch_to_fiber_no_sync);
#endif
}

template <switch_edge Edge>
WEFT_ALWAYS_INLINE void leaving_for_good([[maybe_unused]] sanitizer_state& to) noexcept {
#if WEFT_ADDRESS_SANITIZER
  __sanitizer_start_switch_fiber(nullptr, to.low, to.size);
#endif
#if WEFT_THREAD_SANITIZER
  __tsan_switch_to_fiber(to.fiber, Edge == switch_edge::ordered ? 0 : __tsan_switch_to_fiber_no_sync);
#endif
}

WEFT_ALWAYS_INLINE void arrived([[maybe_unused]] sanitizer_state& self) noexcept {
#if WEFT_ADDRESS_SANITIZER
  void* const fake_stack = self.fake_stack;
  self.fake_stack = nullptr;  // set only while parked: what is left there belongs to an abandoned context
  __sanitizer_finish_switch_fiber(fake_stack, nullptr, nullptr);
#endif
}

WEFT_ALWAYS_INLINE void arrived_first() noexcept {
#if WEFT_ADDRESS_SANITIZER
  __sanitizer_finish_switch_fiber(nullptr, nullptr, nullptr);
#endif
}

/// Tells valgrind of a stack for as long as the memory is one; the id is for unregister_stack.
[[nodiscard]] inline unsigned register_stack([[maybe_unused]] const void* low,
                                             [[maybe_unused]] const void* high) noexcept {
#if WEFT_VALGRIND
  return VALGRIND_STACK_REGISTER(low, high);
#else
  return 0;
#endif
}

inline void unregister_stack([[maybe_unused]] unsigned id) noexcept {
#if WEFT_VALGRIND
  VALGRIND_STACK_DEREGISTER(id);
#endif
}

}  // namespace weft::impl
