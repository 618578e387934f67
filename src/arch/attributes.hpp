// SPDX-License-Identifier: Apache-2.0
//
// attributes — what functions around the context switch must be told about themselves.
#pragma once

#include "base/unwatched.hpp"  // IWYU pragma: export

#include <weft/detail/sanitizers.hpp>

namespace weft::impl {

/// What a switch knows of where it goes: a place that is likely_here is the one that this very switch leaves behind. Then no jump is
/// made whose target a processor has to guess, and what it remembers of jumps it keeps for those that follow.
enum class go_on { anywhere, likely_here };

}  // namespace weft::impl

/// Inlined even without optimisation: the switch saves only what its surroundings keep alive.
#define WEFT_ALWAYS_INLINE inline __attribute__((always_inline))

/// Tells unwinders that there is no caller to be found between these two: the stack pointer is already another
/// context's while the code is still this function's. A profiler's signal may arrive there.
#if defined(__GCC_HAVE_DWARF2_CFI_ASM)
#define WEFT_CFI_BETWEEN_STACKS_BEGIN(return_address) \
  ".cfi_remember_state\n\t"                           \
  ".cfi_undefined " return_address "\n\t"
#define WEFT_CFI_BETWEEN_STACKS_END ".cfi_restore_state\n\t"
#else
#define WEFT_CFI_BETWEEN_STACKS_BEGIN(return_address) ""
#define WEFT_CFI_BETWEEN_STACKS_END ""
#endif

/// Marks every function that contains a context switch. It is never inlined, cloned or analysed from outside:
/// under LTO, code compiled for a wider instruction set could otherwise keep registers alive over the call
/// that the switch, compiled for a narrower one, does not know it must give up (GCC's -fipa-ra).
#if defined(__clang__)
#define WEFT_SWITCHES __attribute__((noinline))
#else
#define WEFT_SWITCHES __attribute__((noipa))
#endif

/// A function that comes back from a switch returns by a jump (decision 0009): a processor guesses that a `ret` leads to where
/// the last call came from, which after a switch is wrong, and a wrong guess costs more than the switch. Where a jump leads
/// it learns. The jump is in a thunk, which src/sched/loop.cpp defines.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define WEFT_HAS_RETURN_THUNK 1
#define WEFT_RETURNS_BY_JUMP __attribute__((function_return("thunk-extern")))
#else
#define WEFT_HAS_RETURN_THUNK 0
#define WEFT_RETURNS_BY_JUMP
#endif
