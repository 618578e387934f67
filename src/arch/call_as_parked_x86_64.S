// SPDX-License-Identifier: Apache-2.0
//
// weft_call_as_parked — calls a function as if a parked context had (x86-64).
//
//     void weft_call_as_parked(const machine_context* parked, void (*function)(void*), void* argument)
//
// The function runs on the caller's stack. But whoever unwinds from there finds the parked context behind this frame, instead of the
// caller: the rules say that the stack pointer, the frame pointer and the return address lie in the record, to which %rbx
// points. That place is no return address but where the context goes on: hence a signal frame, behind which unwinders look for the
// rules at exactly this address, and not one byte before it.
#include <cet.h>

        .text
        .globl  weft_call_as_parked
        .hidden weft_call_as_parked
        .type   weft_call_as_parked, @function
        .p2align 4
weft_call_as_parked:
        .cfi_startproc
        .cfi_signal_frame
        endbr64
        pushq   %rbx
        .cfi_adjust_cfa_offset 8
        .cfi_offset %rbx, -16
        movq    %rdi, %rbx
        movq    %rdx, %rdi
        .cfi_remember_state
        .cfi_escape 0x0f, 3, 0x73, 0, 0x06      // the frame's end: what lies at 0(%rbx)
        .cfi_escape 0x10, 16, 2, 0x73, 16       // the return address lies at 16(%rbx)
        .cfi_escape 0x10, 6, 2, 0x73, 8         // %rbp lies at 8(%rbx)
        .cfi_same_value %rbx
        callq   *%rsi
        .cfi_restore_state
        popq    %rbx
        .cfi_adjust_cfa_offset -8
        .cfi_restore %rbx
        ret
        .cfi_endproc
        .size   weft_call_as_parked, .-weft_call_as_parked

        .section .note.GNU-stack, "", @progbits
