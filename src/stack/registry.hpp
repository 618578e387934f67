// SPDX-License-Identifier: Apache-2.0
//
// registry — finds the stack that an address belongs to, from within a fault handler.
//
// A fixed table of slabs, process-wide, because a fault handler is. Adding and removing is rare (a slab holds
// 64 stacks and more); looking up takes no lock and allocates nothing. A table entry is guarded by a version
// that is odd while the entry changes: a reader who sees it change looks away, which is safe, because the
// slab of the stack that the reader runs on cannot be changing.
//
// Thread safety: any thread; find() is async-signal-safe.
// Invariants:   G1  an entry's range belongs to a live slab while its version is even and non-zero
#pragma once

#include "stack/slab.hpp"

#include <weft/result.hpp>

#include <cstddef>

namespace weft::impl {

/// How many slabs a process may have. Slabs grow geometrically, so eight of them hold a million stacks.
inline constexpr std::size_t slab_registry_capacity = 4096;

/// A stack, and the slab it lies in.
struct stack_location {
  slab* in = nullptr;
  stack_slot* slot = nullptr;
  std::size_t index = 0;

  [[nodiscard]] explicit operator bool() const noexcept { return slot != nullptr; }
};

/// Adds a slab, and remembers in it where.
///
/// Returns: errc::out_of_stacks when the table is full.
[[nodiscard]] result<void> register_slab(slab& added) noexcept;

/// Removes a slab. Nobody runs on any of its stacks.
void unregister_slab(const slab& removed) noexcept;

/// The stack whose guard or usable part holds the address; empty where none does.
[[nodiscard]] stack_location find_stack(const void* address) noexcept;

}  // namespace weft::impl
