// SPDX-License-Identifier: Apache-2.0
//
// emulation — what tests cannot expect of an emulated processor, or below a sanitizer.
#pragma once

#include <weft/detail/sanitizers.hpp>

namespace weft::testing {

#if defined(WEFT_TEST_EMULATED)
/// Whether a sequentially consistent load stays behind such a store. Under qemu (7.2, aarch64 on x86-64) it does not:
/// stlr and ldar become plain moves with nothing between them, and threads see what the language forbids. Full
/// fences hold.
inline constexpr bool keeps_seq_cst = false;
inline constexpr bool is_emulated = true;
#else
inline constexpr bool keeps_seq_cst = true;
inline constexpr bool is_emulated = false;
#endif

/// Whether the child of a process with threads may start some of its own. Under qemu 7.2 an assertion of its own fails then;
/// ThreadSanitizer forbids it; AddressSanitizer's heap (GCC 12) stays locked in the child if another thread was just at it.
inline constexpr bool threads_after_fork = !is_emulated && !WEFT_THREAD_SANITIZER && !WEFT_ADDRESS_SANITIZER;

}  // namespace weft::testing
