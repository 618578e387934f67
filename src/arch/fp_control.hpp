// SPDX-License-Identifier: Apache-2.0
//
// fp_control — the floating-point control words (rounding, traps, flush-to-zero), which by option travel with
// the fiber. Off unless asked for: few programs change them, and writing them costs more than the switch.
#pragma once

#include "arch/attributes.hpp"

#include <cstdint>
#if !defined(__x86_64__) && !defined(__aarch64__)
#include <cfenv>
#endif

namespace weft::impl {

#if defined(__x86_64__)

/// MXCSR and the x87 control word.
struct fp_control {
  std::uint32_t mxcsr = 0x1f80;  // the value a process starts with
  std::uint16_t x87 = 0x037f;

  static fp_control read() noexcept {
    fp_control now;
    asm volatile("stmxcsr %0" : "=m"(now.mxcsr));
    asm volatile("fnstcw %0" : "=m"(now.x87));
    return now;
  }
  void write() const noexcept {
    asm volatile("ldmxcsr %0" : : "m"(mxcsr));
    asm volatile("fldcw %0" : : "m"(x87));
  }
  bool operator==(const fp_control&) const noexcept = default;
};

#elif defined(__aarch64__)

/// FPCR.
struct fp_control {
  std::uint64_t fpcr = 0;

  static fp_control read() noexcept {
    fp_control now;
    asm volatile("mrs %0, fpcr" : "=r"(now.fpcr));
    return now;
  }
  void write() const noexcept { asm volatile("msr fpcr, %0" : : "r"(fpcr)); }
  bool operator==(const fp_control&) const noexcept = default;
};

#else

/// Whatever <cfenv> calls the environment here; it is written always, since it cannot be compared.
struct fp_control {
  std::fenv_t environment{};

  fp_control() noexcept { std::fegetenv(&environment); }
  static fp_control read() noexcept { return {}; }
  void write() const noexcept { std::fesetenv(&environment); }
  bool operator==(const fp_control&) const noexcept { return false; }
};

#endif

/// Keeps the current words in `from` and sets those of `to`, before the switch from one to the other.
WEFT_ALWAYS_INLINE void exchange_fp_control(fp_control& from, const fp_control& to) noexcept {
  from = fp_control::read();
  if (!(from == to)) to.write();
}

}  // namespace weft::impl
