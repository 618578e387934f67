// SPDX-License-Identifier: Apache-2.0
//
// weft_fiber_base — the outermost frame of every stack that weft makes (x86-64).
//
// A new context begins here with the stack pointer at two words: the function to call and its argument.
// The return address is declared undefined and the frame pointer is zero, so that every unwinder (exceptions,
// backtrace(), forced unwinding, debuggers) knows that there is no caller. The function never returns.
//
// <cet.h> writes the note that says which of Intel's control-flow features this object supports; the build
// asks for indirect-branch tracking only, since the switch does not keep a shadow stack.
#include <cet.h>

        .text
        .globl  weft_fiber_base
        .hidden weft_fiber_base
        .type   weft_fiber_base, @function
        .p2align 4
weft_fiber_base:
        .cfi_startproc
        .cfi_undefined %rip
        endbr64
        movq    0(%rsp), %rax
        movq    8(%rsp), %rdi
        xorl    %ebp, %ebp
        callq   *%rax
        ud2
        .cfi_endproc
        .size   weft_fiber_base, .-weft_fiber_base

// The jump of a switch that has not found its own place in the record at %rsi. Between two stacks there is no caller.
        .globl  weft_go_on_elsewhere
        .hidden weft_go_on_elsewhere
        .type   weft_go_on_elsewhere, @function
        .p2align 4
weft_go_on_elsewhere:
        .cfi_startproc
        .cfi_undefined %rip
        jmpq    *16(%rsi)
        .cfi_endproc
        .size   weft_go_on_elsewhere, .-weft_go_on_elsewhere

        .section .note.GNU-stack, "", @progbits
