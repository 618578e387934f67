// SPDX-License-Identifier: Apache-2.0

#include "arch/fault.hpp"

#include <ucontext.h>

namespace weft::impl {

void* interrupted_stack_pointer([[maybe_unused]] const void* signal_context) noexcept {
#if defined(__x86_64__)
  const auto* const context = static_cast<const ucontext_t*>(signal_context);
  return reinterpret_cast<void*>(context->uc_mcontext.gregs[REG_RSP]);
#elif defined(__aarch64__)
  const auto* const context = static_cast<const ucontext_t*>(signal_context);
  return reinterpret_cast<void*>(context->uc_mcontext.sp);
#else
  return nullptr;
#endif
}

void* interrupted_instruction([[maybe_unused]] const void* signal_context) noexcept {
#if defined(__x86_64__)
  const auto* const context = static_cast<const ucontext_t*>(signal_context);
  return reinterpret_cast<void*>(context->uc_mcontext.gregs[REG_RIP]);
#elif defined(__aarch64__)
  const auto* const context = static_cast<const ucontext_t*>(signal_context);
  return reinterpret_cast<void*>(context->uc_mcontext.pc);
#else
  return nullptr;
#endif
}

}  // namespace weft::impl
