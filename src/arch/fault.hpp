// SPDX-License-Identifier: Apache-2.0
//
// fault — what a fault handler can learn about the code that faulted.
#pragma once

#include <cstddef>

namespace weft::impl {

/// Where the interrupted code was; all null on processors that are not known here.
struct interrupted_code {
  void* stack_pointer = nullptr;
  void* frame_pointer = nullptr;
  void* instruction = nullptr;
};

/// Reads a signal handler's third argument.
[[nodiscard]] interrupted_code interrupted_by_signal(const void* signal_context) noexcept;

/// How far above the stack pointer stack-clash protection may touch a new part of the stack: on aarch64 the
/// stack pointer moves first, and then the area that callees may use unprobed is left out.
#if defined(__aarch64__)
inline constexpr std::size_t probe_above_stack_pointer = 1024;
#else
inline constexpr std::size_t probe_above_stack_pointer = 0;
#endif

}  // namespace weft::impl
