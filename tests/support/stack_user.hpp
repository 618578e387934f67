// SPDX-License-Identifier: Apache-2.0
//
// stack_user — tasks that use much of their stacks, and what becomes of that.
#pragma once

#include "support/residency.hpp"
#include "sys/memory.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <thread>

namespace weft::testing {

// With AddressSanitizer, locals may lie on the heap: a stack of its own for each frame, so that it sees who uses them when it has
// returned. What is not to be sanitized lies on the stack that the code runs on.
#define WEFT_ON_REAL_STACK __attribute__((noinline, no_sanitize("address", "undefined")))

/// Uses so many bytes of the stack, in steps of 16 KiB. Returns how many steps that were.
WEFT_ON_REAL_STACK inline int use_stack(std::size_t bytes) {
  constexpr std::size_t step = 16 * 1024;
  volatile char here[step];
  for (volatile char& each : here) each = 1;
  return bytes <= step ? here[0] : here[step - 1] + use_stack(bytes - step);
}

/// Where the stack is that the caller runs on.
WEFT_ON_REAL_STACK inline const char* stack_here() {
  return static_cast<const char*>(__builtin_frame_address(0));
}

#undef WEFT_ON_REAL_STACK

/// Waits until the stack below such a frame is trimmed, which takes a little more than a second; or more where other tests keep the
/// machine busy. Returns the lowest page that was not, when it has waited for a minute.
[[nodiscard]] inline const char* wait_until_trimmed(const char* frame) {
  // A few pages well below the frame.
  const std::size_t page = impl::system_memory::page_size();
  auto* const low = reinterpret_cast<char*>(reinterpret_cast<std::uintptr_t>(frame) / page * page - 8 * page);
  const char* lowest = nullptr;
  for (int i = 0; i < 600; ++i) {
    lowest = lowest_resident(low, 4 * page);
    if (lowest == nullptr) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  return lowest;
}

}  // namespace weft::testing
