// SPDX-License-Identifier: Apache-2.0
//
// machine_native — what weft's own switches have in common: the record of a parked context, and how one is made.
#pragma once

#include <cstddef>

namespace weft::impl {

/// Where a parked context keeps its registers. Written by the switch away from it, read by the switch back.
struct machine_context {
  void* stack_pointer = nullptr;
  void* frame_pointer = nullptr;
  void* go_on_at = nullptr;

  [[nodiscard]] bool empty() const noexcept { return go_on_at == nullptr; }
  /// The lowest byte of the stack that is in use, while it is parked.
  [[nodiscard]] const void* lowest_in_use() const noexcept { return stack_pointer; }
};
static_assert(offsetof(machine_context, stack_pointer) == 0);
static_assert(offsetof(machine_context, frame_pointer) == 8);
static_assert(offsetof(machine_context, go_on_at) == 16);

/// Whether change_stack() itself keeps the floating-point control words.
inline constexpr bool switch_keeps_fp_control = false;

extern "C" void weft_fiber_base();  // arch/fiber_base_<processor>.S

/// Makes a context that calls entry(argument) on the stack that ends at `top` (16-byte aligned).
inline void prepare(machine_context& context, void* top, void (*entry)(void*), void* argument) noexcept {
  void** const base = static_cast<void**>(top) - 2;  // what weft_fiber_base expects to find
  base[0] = reinterpret_cast<void*>(entry);
  base[1] = argument;
  context = {base, nullptr, reinterpret_cast<void*>(&weft_fiber_base)};
}

}  // namespace weft::impl
