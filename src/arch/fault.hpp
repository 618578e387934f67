// SPDX-License-Identifier: Apache-2.0
//
// fault — what a fault handler can learn about the code that faulted, and how it lets the thread go on elsewhere.
#pragma once

namespace weft::impl {

/// Where the interrupted code was; all null on processors that are not known here.
struct interrupted_code {
  void* stack_pointer = nullptr;
  void* instruction = nullptr;
};

/// Reads a signal handler's third argument.
[[nodiscard]] interrupted_code interrupted_by_signal(const void* signal_context) noexcept;

/// When the handler returns, the thread does not go on with what was interrupted, but calls `function(with)`, which never
/// returns, on the stack that ends at `high`. Its signal mask is then what it was before the signal.
///
/// Returns: false on processors that are not known here; then nothing was changed.
[[nodiscard]] bool divert(void* signal_context, char* high, void (*function)(void*), void* with) noexcept;

}  // namespace weft::impl
