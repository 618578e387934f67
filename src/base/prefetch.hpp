// SPDX-License-Identifier: Apache-2.0
//
// prefetch — fetches a cache line ahead of time.
#pragma once

#include "base/cache_line.hpp"

namespace weft::impl {

/// Fetches a line that will be written, so that it need not be asked for twice: once to read it, once to own it. Any address
/// will do; one that is nobody's is ignored.
inline void prefetch_for_writing(const void* address) noexcept {
#if defined(__x86_64__)
  // By hand: without -mprfchw a compiler asks for the line to be read only. All processors that run 64-bit code know the
  // instruction, or take it for one that does nothing.
  asm volatile("prefetchw (%0)" : : "r"(address));
#else
  __builtin_prefetch(address, 1);
#endif
}

/// The first two lines of something that is aligned to one.
inline void prefetch_beginning_for_writing(const void* address) noexcept {
  prefetch_for_writing(address);
  prefetch_for_writing(static_cast<const char*>(address) + cache_line_bytes);
}

}  // namespace weft::impl
