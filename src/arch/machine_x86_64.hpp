// SPDX-License-Identifier: Apache-2.0
//
// machine_x86_64 — the context switch for x86-64 (System V ABI).
//
// The switch is inline assembly that names every register as clobbered, so that the compiler saves exactly
// what is alive around it; only the stack pointer, the frame pointer and the address to go on at are kept by
// hand, in the record. Nothing is pushed: the red zone below the stack pointer stays whole and the unwind
// tables of the surrounding function stay true, so a debugger can unwind a parked context. It goes on by an
// indirect jump, or at its own landing point, and never by `ret`, whose predictor would be wrong every time (1.2 ns
// against 13 to 16).
//
// Not saved, on purpose: MXCSR and the x87 control word (arch/fp_control.hpp, by option), and the x87 stack,
// which the ABI wants empty at a call. Extended GPRs of APX are unknown to this file: hence the #error.
#pragma once

#include "arch/attributes.hpp"
#include "arch/machine_native.hpp"

#if defined(__APX_F__)
#error "weft's x86-64 switch does not know the APX registers: configure with -DWEFT_SWITCH=boost"
#endif

namespace weft::impl {

#if defined(__AVX512F__)
#define WEFT_AVX512_CLOBBERS                                                                           \
  , "xmm16", "xmm17", "xmm18", "xmm19", "xmm20", "xmm21", "xmm22", "xmm23", "xmm24", "xmm25", "xmm26", \
      "xmm27", "xmm28", "xmm29", "xmm30", "xmm31", "k0", "k1", "k2", "k3", "k4", "k5", "k6", "k7"
#else
#define WEFT_AVX512_CLOBBERS
#endif

// clang-format off: version 14 would put the macros, which are string literals, on the lines around them.
#define WEFT_CHANGE_STACK(go_on_there)                                                                     \
  asm volatile(                                                                                            \
      "leaq 1f(%%rip), %%rax\n\t"                                                                          \
      "movq %%rsp, 0(%%rdi)\n\t"                                                                           \
      "movq %%rbp, 8(%%rdi)\n\t"                                                                           \
      "movq %%rax, 16(%%rdi)\n\t"                                                                          \
      "movq 0(%%rsi), %%rsp\n\t" WEFT_CFI_BETWEEN_STACKS_BEGIN(                                            \
          "%%rip") "movq 8(%%rsi), %%rbp\n\t" go_on_there "1:\t" WEFT_CFI_BETWEEN_STACKS_END "endbr64\n\t" \
      : "+D"(save), "+S"(load)                                                                             \
      :                                                                                                    \
      : "rax", "rbx", "rcx", "rdx", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "memory", "cc",  \
        "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11",  \
        "xmm12", "xmm13", "xmm14", "xmm15", "st", "st(1)", "st(2)", "st(3)", "st(4)", "st(5)", "st(6)",    \
        "st(7)" WEFT_AVX512_CLOBBERS)
// clang-format on

/// Parks the caller in `from` and goes on where `to` was parked. After it, this may be another thread.
template <go_on Where>
WEFT_ALWAYS_INLINE void change_stack(machine_context& from, machine_context& to) noexcept {
  machine_context* save = &from;
  machine_context* load = &to;
  if constexpr (Where == go_on::likely_here) {
    WEFT_CHANGE_STACK("cmpq %%rax, 16(%%rsi)\n\tjne weft_go_on_elsewhere\n");  // fiber_base_x86_64.S
  } else {
    WEFT_CHANGE_STACK("jmpq *16(%%rsi)\n\t.p2align 4\n");
  }
}
#undef WEFT_CHANGE_STACK
#undef WEFT_AVX512_CLOBBERS

}  // namespace weft::impl
