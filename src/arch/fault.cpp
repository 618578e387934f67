// SPDX-License-Identifier: Apache-2.0

#include "arch/fault.hpp"

#include <cstdint>
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

bool divert([[maybe_unused]] void* signal_context, [[maybe_unused]] char* high,
            [[maybe_unused]] void (*function)(void*), [[maybe_unused]] void* with) noexcept {
  [[maybe_unused]] constexpr std::uintptr_t alignment = 16;
  [[maybe_unused]] const std::uintptr_t top = reinterpret_cast<std::uintptr_t>(high) / alignment * alignment;
#if defined(__x86_64__)
  constexpr greg_t direction_flag = 0x400;
  auto& registers = static_cast<ucontext_t*>(signal_context)->uc_mcontext.gregs;
  // As after a call, from nowhere.
  auto* const return_address = reinterpret_cast<std::uintptr_t*>(top) - 1;
  *return_address = 0;
  registers[REG_RSP] = reinterpret_cast<greg_t>(return_address);
  registers[REG_RBP] = 0;
  registers[REG_RDI] = reinterpret_cast<greg_t>(with);
  registers[REG_RIP] = reinterpret_cast<greg_t>(function);
  registers[REG_EFL] &= ~direction_flag;
  return true;
#elif defined(__aarch64__)
  constexpr unsigned frame_pointer = 29;
  constexpr unsigned link = 30;
  constexpr std::uint64_t branch_type = std::uint64_t{3} << 10U;
  auto& machine = static_cast<ucontext_t*>(signal_context)->uc_mcontext;
  machine.sp = top;
  machine.regs[0] = reinterpret_cast<std::uintptr_t>(with);
  machine.regs[frame_pointer] = 0;
  machine.regs[link] = 0;
  machine.pc = reinterpret_cast<std::uintptr_t>(function);
  machine.pstate &= ~branch_type;
  return true;
#else
  return false;
#endif
}

}  // namespace weft::impl
