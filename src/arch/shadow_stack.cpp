// SPDX-License-Identifier: Apache-2.0

#include "arch/shadow_stack.hpp"

#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace weft::impl {

#if defined(__x86_64__)

bool shadow_stack_active() noexcept {
  constexpr long arch_shstk_status = 0x5005;  // <asm/prctl.h> of Linux 6.6 and newer
  unsigned long features = 0;
  return ::syscall(SYS_arch_prctl, arch_shstk_status, &features) == 0 && (features & 1U) != 0;
}

#elif defined(__aarch64__)

bool shadow_stack_active() noexcept {
  constexpr int pr_get_shadow_stack_status = 74;  // <linux/prctl.h> of Linux 6.13 and newer
  unsigned long mode = 0;
  return ::prctl(pr_get_shadow_stack_status, &mode, 0, 0, 0) == 0 && (mode & 1U) != 0;
}

#else

bool shadow_stack_active() noexcept { return false; }

#endif

}  // namespace weft::impl
