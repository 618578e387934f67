// SPDX-License-Identifier: Apache-2.0
//
// weft_call_as_parked — calls a function as if a parked context had (aarch64).
//
//     void weft_call_as_parked(const machine_context* parked, void (*function)(void*), void* argument)
//
// As on x86-64 (call_as_parked_x86_64.S says how), with the record in x19.

        .text
        .globl  weft_call_as_parked
        .hidden weft_call_as_parked
        .type   weft_call_as_parked, %function
        .p2align 4
weft_call_as_parked:
        .cfi_startproc
        .cfi_signal_frame
        hint    #34                     // bti c
        stp     x29, x30, [sp, #-32]!
        .cfi_def_cfa_offset 32
        .cfi_offset x29, -32
        .cfi_offset x30, -24
        str     x19, [sp, #16]
        .cfi_offset x19, -16
        mov     x19, x0
        mov     x0, x2
        .cfi_remember_state
        .cfi_escape 0x0f, 3, 0x83, 0, 0x06      // the frame's end: what lies at [x19]
        .cfi_escape 0x10, 30, 2, 0x83, 16       // the return address lies at [x19, 16]
        .cfi_escape 0x10, 29, 2, 0x83, 8        // x29 lies at [x19, 8]
        .cfi_same_value x19
        blr     x1
        .cfi_restore_state
        ldr     x19, [sp, #16]
        .cfi_restore x19
        ldp     x29, x30, [sp], #32
        .cfi_restore x29
        .cfi_restore x30
        .cfi_def_cfa_offset 0
        ret
        .cfi_endproc
        .size   weft_call_as_parked, .-weft_call_as_parked

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
