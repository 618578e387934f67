// SPDX-License-Identifier: Apache-2.0
//
// stack_slot — what weft knows of one stack. It lives beside the stacks, never in one, so that a stack that
// has run wild cannot take the knowledge of it along.
#pragma once

#include "base/source_site.hpp"
#include "stack/stack_class.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace weft::impl {

/// How a guard is made.
enum class guard_method : unsigned char {
  light,       // MADV_GUARD_INSTALL: the mapping stays whole
  protection,  // mprotect(PROT_NONE): splits the mapping
};

struct stack_slot;

/// Who runs on a stack, for the report of an overflow. Outlives its time as a slot's owner.
struct stack_owner {
  std::uint64_t id = 0;
  const char* name = nullptr;  // may be null
  source_site site = {};       // where it was spawned
  // For stacks that bear one after another: says who it is now. Async-signal-safe.
  stack_owner (*now_on)(const stack_slot& stack) noexcept = nullptr;
};

/// One stack. Lives as long as its slab.
struct stack_slot {
  // Immutable once handed out for the first time.
  char* low = nullptr;  // the lowest byte that may be used; the guard lies below it
  stack_class size_class;
  std::optional<guard_method> guard;  // empty until it is made, before the stack is handed out
  unsigned valgrind_id = 0;

  // Owner only: the pool, a cache or a fiber, whoever has the slot.
  bool taken = false;          // out of the pool, in a fiber's or a cache's hands
  std::uint32_t deepest = 0;   // the deepest use that was sampled, in bytes from the top
  stack_slot* next = nullptr;  // in a free list

  // Written by the thread that runs on the stack; read by its own fault handler, and racily by dumps.
  std::atomic<const stack_owner*> owner{nullptr};

  [[nodiscard]] std::size_t size() const noexcept { return size_class.bytes(); }
  [[nodiscard]] char* high() const noexcept { return low + size(); }
  [[nodiscard]] bool holds(const void* address) const noexcept {
    return address >= static_cast<const void*>(low) && address < static_cast<const void*>(high());
  }
};
static_assert(sizeof(stack_slot) <= 64, "a million slots are 64 MB at most");

}  // namespace weft::impl
