// SPDX-License-Identifier: Apache-2.0
//
// slab — one reservation of address space that holds many stacks of one size, and what is known of them.
//
//     | slab, slots ... | guard | stack 0 | guard | stack 1 | guard | ...
//
// The whole slab is one mapping, however many stacks it holds, as long as guards are the light kind. A guard
// below a stack is also one above the stack before it, once it is there: the last stack that was handed out has
// none above it.
//
// Thread safety: the layout is immutable once made; `used` and `live` belong to the pool's lock.
// Invariants:   B1  slots [0, used) have been carved, and most of them handed out; the rest was never touched
//               B2  live counts the slots that are out of the pool now
#pragma once

#include "stack/stack_slot.hpp"

#include <cstddef>
#include <cstdint>
#include <new>

namespace weft::impl {

struct slab {
  char* first_guard = nullptr;  // where guard 0 begins
  std::size_t bytes = 0;        // of the whole reservation
  std::size_t count = 0;
  stack_class size_class;
  std::size_t used = 0;
  std::size_t live = 0;
  slab* next = nullptr;
  std::size_t registered_as = 0;  // its place in the registry

  [[nodiscard]] stack_slot* slots() noexcept { return std::launder(reinterpret_cast<stack_slot*>(this + 1)); }
  [[nodiscard]] std::size_t stride() const noexcept { return guard_bytes + size_class.bytes(); }
  [[nodiscard]] char* guard_of(std::size_t index) const noexcept { return first_guard + index * stride(); }
  [[nodiscard]] char* end() noexcept { return reinterpret_cast<char*>(this) + bytes; }

  /// The index of the stack whose guard or usable part holds the address; `count` if none does.
  [[nodiscard]] std::size_t index_of(const void* address) const noexcept {
    const auto* const at = static_cast<const char*>(address);
    if (at < first_guard) return count;
    const auto index = static_cast<std::size_t>(at - first_guard) / stride();
    return index < count ? index : count;
  }

  /// Where stacks begin in a reservation for `count` of them.
  [[nodiscard]] static std::size_t header_bytes(std::size_t count, std::size_t page) noexcept {
    const std::size_t exact = sizeof(slab) + count * sizeof(stack_slot);
    return (exact + page - 1) / page * page;
  }

  /// The size of a reservation for `count` stacks.
  [[nodiscard]] static std::size_t bytes_for(std::size_t count, stack_class size_class,
                                             std::size_t page) noexcept {
    return header_bytes(count, page) + count * (guard_bytes + size_class.bytes());
  }

  /// Lays a slab out in a fresh reservation of bytes_for() bytes.
  [[nodiscard]] static slab* make(void* at, std::size_t count, stack_class size_class,
                                  std::size_t page) noexcept {
    char* const begin = static_cast<char*>(at);
    return new (at) slab{.first_guard = begin + header_bytes(count, page),
                         .bytes = bytes_for(count, size_class, page),
                         .count = count,
                         .size_class = size_class};
  }
};
static_assert(sizeof(slab) % alignof(stack_slot) == 0);

}  // namespace weft::impl
