// SPDX-License-Identifier: Apache-2.0
//
// weft_fiber_base — the outermost frame of every stack that weft makes (aarch64).
//
// A new context begins here with the stack pointer at two words: the function to call and its argument.
// The return address is declared undefined and the frame pointer is zero, so that every unwinder (exceptions,
// backtrace(), forced unwinding, debuggers) knows that there is no caller. The function never returns.

        .text
        .globl  weft_fiber_base
        .hidden weft_fiber_base
        .type   weft_fiber_base, %function
        .p2align 4
weft_fiber_base:
        .cfi_startproc
        .cfi_undefined x30
        hint    #38                     // bti jc
        ldp     x9, x0, [sp]
        mov     x29, xzr
        mov     x30, xzr
        blr     x9
        brk     #1
        .cfi_endproc
        .size   weft_fiber_base, .-weft_fiber_base

        .section .note.GNU-stack, "", %progbits

// The note that says: every indirect jump into this object lands on a branch target instruction.
        .section .note.gnu.property, "a"
        .p2align 3
        .word   4                       // length of the name
        .word   16                      // length of the description
        .word   5                       // NT_GNU_PROPERTY_TYPE_0
        .asciz  "GNU"
        .word   0xc0000000              // GNU_PROPERTY_AARCH64_FEATURE_1_AND
        .word   4
        .word   1                       // BTI, and neither PAC nor GCS
        .word   0
