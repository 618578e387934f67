// SPDX-License-Identifier: Apache-2.0

#include "arch/fault.hpp"

#include <ucontext.h>

namespace weft::impl {

interrupted_code interrupted_by_signal([[maybe_unused]] const void* signal_context) noexcept {
#if defined(__x86_64__)
  const auto& registers = static_cast<const ucontext_t*>(signal_context)->uc_mcontext.gregs;
  return {reinterpret_cast<void*>(registers[REG_RSP]), reinterpret_cast<void*>(registers[REG_RIP])};
#elif defined(__aarch64__)
  const auto& machine = static_cast<const ucontext_t*>(signal_context)->uc_mcontext;
  return {reinterpret_cast<void*>(machine.sp), reinterpret_cast<void*>(machine.pc)};
#else
  return {};
#endif
}

}  // namespace weft::impl
