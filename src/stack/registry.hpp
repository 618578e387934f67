// SPDX-License-Identifier: Apache-2.0
//
// registry — finds the stack that an address belongs to, from within a fault handler.
//
// A fixed table of slabs, process-wide, because a fault handler is. Adding and removing is rare (a slab holds
// 64 stacks and more); looking up takes no lock and allocates nothing. A table entry is guarded by a version
// that is odd while the entry changes: a reader who sees it change looks away, which is safe, because the
// slab of the stack that the reader runs on cannot be changing. README.md has the proof.
//
// Thread safety: any thread; find() is async-signal-safe.
// Invariants:   G1  an entry's range belongs to a live slab while its version is even and non-zero
#pragma once

#include "stack/slab.hpp"
#include "sys/platform.hpp"

#include <weft/result.hpp>

#include <array>
#include <cstddef>
#include <cstdint>

namespace weft::impl {

/// A stack, and the slab it lies in.
struct stack_location {
  slab* in = nullptr;
  stack_slot* slot = nullptr;

  [[nodiscard]] explicit operator bool() const noexcept { return slot != nullptr; }
};

/// The table. Slabs grow geometrically, so eight of them hold a million stacks.
template <class Platform, std::size_t Capacity>
class basic_slab_registry {
 public:
  /// Adds a slab, and remembers in it where.
  ///
  /// Returns: errc::out_of_stacks when the table is full.
  [[nodiscard]] result<void> add(slab& added) noexcept {
    for (std::size_t i = 0; i < Capacity; ++i) {
      entry& e = table_[i];
      // relaxed: only a hint; the look below, after the entry is ours, decides.
      if (e.at.load(std::memory_order_relaxed) != nullptr || !try_begin_change(e)) continue;
      const bool ours = e.at.load(std::memory_order_relaxed) == nullptr;
      if (ours) {
        added.registered_as = i;
        write(e, &added, added.end());
      }
      end_change(e);
      if (!ours) continue;
      raise_used(i + 1);
      return {};
    }
    return errc::out_of_stacks;
  }

  /// Removes a slab. Nobody runs on any of its stacks.
  void remove(const slab& removed) noexcept {
    entry& e = table_[removed.registered_as];
    WEFT_CHECK(e.at.load(std::memory_order_relaxed) == &removed,
               "G1: a slab leaves the registry that is not in it");
    while (!try_begin_change(e)) Platform::pause();  // an add() looks at the entry for a moment, then lets go
    write(e, nullptr, nullptr);
    end_change(e);
  }

  /// The stack whose guard or usable part holds the address; empty where none does.
  [[nodiscard]] stack_location find(const void* address) const noexcept {
    // relaxed: whoever runs on a stack of a slab was handed it after add() had raised the bound, and so sees it; an
    // entry that is seen too early looks free.
    const std::size_t used = used_.load(std::memory_order_relaxed);
    for (std::size_t i = 0; i < used; ++i) {
      const entry& e = table_[i];
      const std::uint32_t before = e.version.load(std::memory_order_acquire);  // [SR-change]
      slab* const at = e.at.load(std::memory_order_acquire);                   // [SR-range]
      const char* const end = e.end.load(std::memory_order_acquire);           // [SR-range]
      // relaxed is enough for the second look: the acquire loads above keep it behind them, and had they read
      // from a change, they would have synchronised with a writer who had made the version odd before.
      if (before % 2 != 0 || e.version.load(std::memory_order_relaxed) != before) continue;
      if (address < static_cast<const void*>(at) || address >= static_cast<const void*>(end)) continue;
      const std::size_t index = at->index_of(address);
      if (index >= at->count) return {};  // in the header
      return {at, &at->slots()[index]};
    }
    return {};
  }

 private:
  struct entry {
    typename Platform::template atomic<std::uint32_t> version{
        0};                                                 // 0: never used; odd: changing; even: settled
    typename Platform::template atomic<slab*> at{nullptr};  // null: free
    typename Platform::template atomic<const char*> end{nullptr};
  };

  // Claims an entry by making its version odd. Fails if somebody else is changing it.
  static bool try_begin_change(entry& e) noexcept {
    std::uint32_t version = e.version.load(std::memory_order_relaxed);
    return version % 2 == 0 &&
           // acquire: what the last one to change the entry wrote is seen before we write. [SR-change]
           e.version.compare_exchange_strong(version, version + 1, std::memory_order_acquire,
                                             std::memory_order_relaxed);
  }

  static void end_change(entry& e) noexcept {
    e.version.fetch_add(1, std::memory_order_release);  // [SR-change] pairs with the acquires of that tag
  }

  // release: neither store may rise above the odd version, which an acquire exchange alone would allow.
  static void write(entry& e, slab* at, const char* end) noexcept {
    e.at.store(at, std::memory_order_release);    // [SR-range] pairs with acquire in find()
    e.end.store(end, std::memory_order_release);  // [SR-range]
  }

  void raise_used(std::size_t least) noexcept {
    std::size_t used = used_.load(std::memory_order_relaxed);
    while (used < least &&
           // relaxed: see find()
           !used_.compare_exchange_weak(used, least, std::memory_order_relaxed, std::memory_order_relaxed)) {
    }
  }

  std::array<entry, Capacity> table_;
  typename Platform::template atomic<std::size_t> used_{0};  // entries [0, used_) may be in use
};

using slab_registry = basic_slab_registry<default_platform, 4096>;

/// The one of this process.
extern constinit slab_registry process_slabs;

}  // namespace weft::impl
