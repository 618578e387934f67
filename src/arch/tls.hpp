// SPDX-License-Identifier: Apache-2.0
//
// tls — the thread-local word by which a thread finds its carrier; <weft/detail/tls.hpp> says how it is read.
#pragma once

#include "arch/attributes.hpp"
#include "base/planted.hpp"

#include <weft/detail/tls.hpp>

namespace weft::impl {

/// The thread's word, read afresh at every call.
[[nodiscard]] WEFT_ALWAYS_INLINE void* read_tls_slot() noexcept {
  if constexpr (planted::thread_local_read_plainly) {
    void** address = &weft_tls_carrier;
    asm volatile("" : "+r"(address));
    return *address;
  }
  return detail::read_thread_word();
}

/// Sets the thread's word. Out of line, and never needed on a fiber.
void write_tls_slot(void* word) noexcept;

}  // namespace weft::impl
