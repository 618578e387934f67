// SPDX-License-Identifier: Apache-2.0
//
// tls — the one thread-local word of weft, and the only code that may touch it. carrier.hpp says why.
//
// The word is reached through its initial-exec slot in the global offset table, which links in an executable,
// in a shared library and under LTO alike; a direct offset would not link in a shared library. The symbol is
// exported and marked used, since no compiler sees the assembly refer to it.
#pragma once

#include "arch/attributes.hpp"
#include "base/planted.hpp"

#include <weft/config.hpp>

extern "C" {
extern __thread void* weft_tls_carrier __attribute__((tls_model("initial-exec"))) WEFT_EXPORT;
}

namespace weft::impl {

/// The thread's word, read afresh at every call.
[[nodiscard]] WEFT_ALWAYS_INLINE void* read_tls_slot() noexcept {
  if constexpr (planted::thread_local_read_plainly) {
    void** address = &weft_tls_carrier;
    asm volatile("" : "+r"(address));
    return *address;
  }
  void* word = nullptr;
#if defined(__x86_64__)
  asm volatile(
      "movq weft_tls_carrier@gottpoff(%%rip), %0\n\t"
      "movq %%fs:(%0), %0"
      : "=r"(word)
      :
      : "memory");
#elif defined(__aarch64__)
  void* thread_pointer = nullptr;
  asm volatile(
      "adrp %0, :gottprel:weft_tls_carrier\n\t"
      "ldr %0, [%0, #:gottprel_lo12:weft_tls_carrier]\n\t"
      "mrs %1, tpidr_el0\n\t"
      "ldr %0, [%1, %0]"
      : "=&r"(word), "=&r"(thread_pointer)
      :
      : "memory");
#else
  void* read_tls_slot_out_of_line() noexcept;
  word = read_tls_slot_out_of_line();
#endif
  return word;
}

/// Sets the thread's word. Out of line, and never needed on a fiber.
void write_tls_slot(void* word) noexcept;

}  // namespace weft::impl
