// SPDX-License-Identifier: Apache-2.0
//
// fault — what a fault handler can learn about the code that faulted.
#pragma once

namespace weft::impl {

/// The stack pointer of the interrupted code, from a signal handler's third argument; nullptr where unknown.
[[nodiscard]] void* interrupted_stack_pointer(const void* signal_context) noexcept;

/// The instruction that was interrupted; nullptr where unknown.
[[nodiscard]] void* interrupted_instruction(const void* signal_context) noexcept;

}  // namespace weft::impl
