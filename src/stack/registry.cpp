// SPDX-License-Identifier: Apache-2.0

#include "stack/registry.hpp"

#include <array>
#include <atomic>
#include <cstdint>

namespace weft::impl {
namespace {

struct entry {
  std::atomic<std::uint32_t> version{0};  // 0: never used; odd: changing; even: settled
  std::atomic<slab*> at{nullptr};         // null: free
  std::atomic<const char*> end{nullptr};
};

std::array<entry, slab_registry_capacity> table;
std::atomic<std::size_t> table_used{0};  // entries [0, table_used) may be in use

// Claims an entry by making its version odd. Fails if somebody else is changing it.
bool try_begin_change(entry& e) noexcept {
  std::uint32_t version = e.version.load(std::memory_order_relaxed);
  return version % 2 == 0 &&
         // acquire: what the last one to change the entry wrote is seen before we write. [SR-change]
         e.version.compare_exchange_strong(version, version + 1, std::memory_order_acquire,
                                           std::memory_order_relaxed);
}

void end_change(entry& e) noexcept {
  e.version.fetch_add(
      1, std::memory_order_release);  // [SR-change] pairs with acquire in try_begin_change and find_stack
}

// Orders are on the accesses, as a seqlock needs them: the writer's stores may not rise above the odd version
// (its release stores below the acquire exchange), the reader's loads may not sink below the second look.
void write(entry& e, slab* at, const char* end) noexcept {
  e.at.store(at, std::memory_order_release);    // [SR-range] pairs with acquire in find_stack
  e.end.store(end, std::memory_order_release);  // [SR-range]
}

}  // namespace

result<void> register_slab(slab& added) noexcept {
  for (std::size_t i = 0; i < table.size(); ++i) {
    entry& e = table[i];
    // relaxed: only a hint; the look below, after the entry is ours, decides.
    if (e.at.load(std::memory_order_relaxed) != nullptr || !try_begin_change(e)) continue;
    const bool ours = e.at.load(std::memory_order_relaxed) == nullptr;
    if (ours) {
      added.registered_as = i;
      write(e, &added, added.end());
    }
    end_change(e);
    if (!ours) continue;
    std::size_t used = table_used.load(std::memory_order_relaxed);
    while (used < i + 1 &&
           // release: who sees the new bound sees the entry. [SR-used] pairs with acquire in find_stack
           !table_used.compare_exchange_weak(used, i + 1, std::memory_order_release,
                                             std::memory_order_relaxed)) {
    }
    return {};
  }
  return errc::out_of_stacks;
}

void unregister_slab(const slab& removed) noexcept {
  entry& e = table[removed.registered_as];
  WEFT_CHECK(e.at.load(std::memory_order_relaxed) == &removed,
             "G1: a slab leaves the registry that is not in it");
  while (!try_begin_change(e)) {
  }  // a registration looks at the entry for a moment, then lets go
  write(e, nullptr, nullptr);
  end_change(e);
}

stack_location find_stack(const void* address) noexcept {
  const std::size_t used = table_used.load(std::memory_order_acquire);  // [SR-used]
  for (std::size_t i = 0; i < used; ++i) {
    const entry& e = table[i];
    const std::uint32_t before = e.version.load(std::memory_order_acquire);  // [SR-change]
    slab* const at = e.at.load(std::memory_order_acquire);                   // [SR-range]
    const char* const end = e.end.load(std::memory_order_acquire);           // [SR-range]
    // relaxed is enough for the second look: the acquire loads above keep it behind them, and had they read
    // from a change, they would have synchronised with a writer who had made the version odd before.
    if (before % 2 != 0 || e.version.load(std::memory_order_relaxed) != before) continue;
    if (address < static_cast<const void*>(at) || address >= static_cast<const void*>(end)) continue;
    const std::size_t index = at->index_of(address);
    if (index >= at->count) return {};  // in the header
    return {at, &at->slots()[index], index};
  }
  return {};
}

}  // namespace weft::impl
