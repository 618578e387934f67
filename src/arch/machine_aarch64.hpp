// SPDX-License-Identifier: Apache-2.0
//
// machine_aarch64 — the context switch for aarch64 (AAPCS64).
//
// As on x86-64 (machine_x86_64.hpp says why): every register is named as clobbered, nothing is pushed, and it
// goes on by a jump. The landing point is a `bti j`, written as a hint so that any assembler takes it; the
// jump goes through x16, which branch target identification accepts at any landing point.
//
// Not saved, on purpose: FPCR (arch/fp_control.hpp, by option). x18 is given up too: on Linux it is an
// ordinary scratch register.
#pragma once

#include "arch/attributes.hpp"
#include "arch/machine_native.hpp"

namespace weft::impl {

#if defined(__ARM_FEATURE_SVE)
#define WEFT_SVE_CLOBBERS \
  , "p0", "p1", "p2", "p3", "p4", "p5", "p6", "p7", "p8", "p9", "p10", "p11", "p12", "p13", "p14", "p15"
#else
#define WEFT_SVE_CLOBBERS
#endif

/// Parks the caller in `from` and goes on where `to` was parked. After it, this may be another thread.
template <go_on /*Where*/>
WEFT_ALWAYS_INLINE void change_stack(machine_context& from, machine_context& to) noexcept {
  register machine_context* save asm("x0") = &from;
  register machine_context* load asm("x1") = &to;
  // clang-format off: the macros are string literals, which version 14 would put on the lines around them.
  asm volatile(
      "adr x9, 1f\n\t"
      "mov x10, sp\n\t"
      "stp x10, x29, [x0]\n\t"
      "str x9, [x0, #16]\n\t"
      "ldr x16, [x1, #16]\n\t"
      WEFT_CFI_BETWEEN_STACKS_BEGIN("x30")
      "ldp x10, x29, [x1]\n\t"
      "mov sp, x10\n\t"
      "br x16\n\t"
      "1:\t"
      WEFT_CFI_BETWEEN_STACKS_END
      "hint #36\n\t"  // bti j
      : "+r"(save), "+r"(load)
      :
      : "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11", "x12", "x13", "x14", "x15", "x16",
        "x17", "x18", "x19", "x20", "x21", "x22", "x23", "x24", "x25", "x26", "x27", "x28", "x30", "memory",
        "cc", "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v8", "v9", "v10", "v11", "v12", "v13", "v14",
        "v15", "v16", "v17", "v18", "v19", "v20", "v21", "v22", "v23", "v24", "v25", "v26", "v27", "v28",
        "v29", "v30", "v31" WEFT_SVE_CLOBBERS);
  // clang-format on
}
#undef WEFT_SVE_CLOBBERS

}  // namespace weft::impl
