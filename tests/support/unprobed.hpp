// SPDX-License-Identifier: Apache-2.0
//
// unprobed — stack pointers moved by hand, as code compiled without stack-clash protection moves them.
#pragma once

#include <csignal>
#include <cstddef>
#include <sys/syscall.h>
#include <unistd.h>

namespace weft::testing {

/// Moves the stack pointer down by `bytes` without touching anything on the way, writes to `target`, and comes back.
__attribute__((noinline)) inline void touch_unprobed(char* target, std::size_t bytes) {
  // A frame of unknown size has a frame pointer, and so can be unwound wherever the stack pointer is.
  auto* const anchor = static_cast<volatile char*>(__builtin_alloca(bytes % 64 + 16));
  anchor[0] = 0;
#if defined(__x86_64__)
  asm volatile(
      "movq %%rsp, %%rbx\n\t"
      "subq %1, %%rsp\n\t"
      "movb $1, (%0)\n\t"
      "movq %%rbx, %%rsp"
      :
      : "r"(target), "r"(bytes)
      : "rbx", "memory", "cc");
#elif defined(__aarch64__)
  asm volatile(
      "mov x19, sp\n\t"
      "sub x20, x19, %1\n\t"
      "mov sp, x20\n\t"
      "strb wzr, [%0]\n\t"
      "mov sp, x19"
      :
      : "r"(target), "r"(bytes & ~std::size_t{15})
      : "x19", "x20", "memory", "cc");
#endif
}

/// Sends itself a signal while the stack pointer is `stack_pointer`.
__attribute__((noinline)) inline void raise_with_little_stack(char* stack_pointer, int signal) {
  const long thread = ::syscall(SYS_gettid);
  const long process = ::getpid();
#if defined(__x86_64__)
  long call = SYS_tgkill;
  asm volatile(
      "movq %%rsp, %%rbx\n\t"
      "movq %4, %%rsp\n\t"
      "syscall\n\t"
      "movq %%rbx, %%rsp"
      : "+a"(call)
      : "D"(process), "S"(thread), "d"(static_cast<long>(signal)), "r"(stack_pointer)
      : "rbx", "rcx", "r11", "memory", "cc");
#elif defined(__aarch64__)
  register long number asm("x8") = SYS_tgkill;
  register long first asm("x0") = process;
  register long second asm("x1") = thread;
  register long third asm("x2") = signal;
  asm volatile(
      "mov x19, sp\n\t"
      "mov sp, %4\n\t"
      "svc #0\n\t"
      "mov sp, x19"
      : "+r"(first)
      : "r"(number), "r"(second), "r"(third), "r"(stack_pointer)
      : "x19", "memory", "cc");
#endif
}

}  // namespace weft::testing
