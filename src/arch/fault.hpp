// SPDX-License-Identifier: Apache-2.0
//
// fault — what a fault handler can learn about the code that faulted.
#pragma once

namespace weft::impl {

/// Where the interrupted code was; all null on processors that are not known here.
struct interrupted_code {
  void* stack_pointer = nullptr;
  void* instruction = nullptr;
};

/// Reads a signal handler's third argument.
[[nodiscard]] interrupted_code interrupted_by_signal(const void* signal_context) noexcept;

}  // namespace weft::impl
