// SPDX-License-Identifier: Apache-2.0
//
// stack_user — tasks that use much of their stacks, and what becomes of that.
#pragma once

#include "support/residency.hpp"
#include "sys/memory.hpp"

#include <alloca.h>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <thread>

namespace weft::testing {

/// Writes to so many bytes of the stack.
[[gnu::noinline]] inline void use_stack(std::size_t bytes) {
  void* const room = alloca(bytes);
  std::memset(room, 1, bytes);
  asm volatile("" : : "r"(room) : "memory");
}

/// Some pages a few thousand bytes below a frame that waits: they are in use until somebody trims them.
struct pages_below {
  char* low;
  std::size_t bytes;
};
inline pages_below pages_well_below(const char* frame) noexcept {
  const std::size_t page = impl::system_memory::page_size();
  auto* const low = reinterpret_cast<char*>(reinterpret_cast<std::uintptr_t>(frame) / page * page - 8 * page);
  return {low, 4 * page};
}

/// Waits until the stack below such a frame is trimmed, which takes a little more than a second; or more where other tests keep the
/// machine busy. Returns the lowest page that was not, when it has waited for a minute.
inline const char* wait_until_trimmed(const char* frame) {
  const pages_below below = pages_well_below(frame);
  const char* lowest = nullptr;
  for (int i = 0; i < 600; ++i) {
    lowest = lowest_resident(below.low, below.bytes);
    if (lowest == nullptr) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  return lowest;
}

}  // namespace weft::testing
