// SPDX-License-Identifier: Apache-2.0

#include "arch/tls.hpp"

extern "C" {
__attribute__((used)) __thread void* weft_tls_carrier = nullptr;
}

namespace weft::impl {

void write_tls_slot(void* word) noexcept {
#if defined(__x86_64__)
  void* offset = nullptr;
  asm volatile(
      "movq weft_tls_carrier@gottpoff(%%rip), %0\n\t"
      "movq %1, %%fs:(%0)"
      : "=&r"(offset)
      : "r"(word)
      : "memory");
#elif defined(__aarch64__)
  void* offset = nullptr;
  void* thread_pointer = nullptr;
  asm volatile(
      "adrp %0, :gottprel:weft_tls_carrier\n\t"
      "ldr %0, [%0, #:gottprel_lo12:weft_tls_carrier]\n\t"
      "mrs %1, tpidr_el0\n\t"
      "str %2, [%1, %0]"
      : "=&r"(offset), "=&r"(thread_pointer)
      : "r"(word)
      : "memory");
#else
  weft_tls_carrier = word;
#endif
}

}  // namespace weft::impl

#if !defined(__x86_64__) && !defined(__aarch64__)
// Where weft has no assembly of its own, a call that nothing can look into does the same, more slowly.
WEFT_SWITCHES void* weft::detail::read_thread_word_out_of_line() noexcept {
  asm volatile("" : : : "memory");
  return weft_tls_carrier;
}
#endif
