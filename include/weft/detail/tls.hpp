// SPDX-License-Identifier: Apache-2.0
//
// tls — the one thread-local word of weft, read afresh each time, whatever the compiler believes.
//
// Compilers believe that a function stays on one thread: they keep the address of a thread_local over a switch, after
// which it is another thread's. So the word is read by inline assembly that goes through the thread pointer, which no
// compiler may keep. What it gives is good until the next switch and not one instruction longer.
//
// The word is reached through its initial-exec slot in the global offset table, which links in an executable, in a shared
// library and under LTO alike; a direct offset would not link in a shared library. The symbol is exported and marked
// used, since no compiler sees the assembly refer to it.
#pragma once

#include <weft/config.hpp>

extern "C" {
extern __thread void* weft_tls_carrier __attribute__((tls_model("initial-exec"))) WEFT_EXPORT;
}

namespace weft::detail {

/// The word of the thread that runs this now.
[[nodiscard]] inline __attribute__((always_inline)) void* read_thread_word() noexcept {
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
  WEFT_EXPORT void* read_thread_word_out_of_line() noexcept;
  word = read_thread_word_out_of_line();
#endif
  return word;
}

}  // namespace weft::detail
