// SPDX-License-Identifier: Apache-2.0
//
// work_ring — the slots of a worker's deque: a power of two of them, addressed by an index that wraps.
//
// A ring that has become too small is replaced by a larger one and kept until the deque dies, because a thief may
// still read it. It is a chain: each ring knows the one it replaced.
//
// Thread safety: slots may be read by anyone who has the ring; the owner of the deque does everything else.
// Invariants:   WR1  mask and older do not change once the ring is published
#pragma once

#include <weft/detail/runnable.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>

namespace weft::detail {

template <class Platform>
class basic_work_ring {
 public:
  using slot = typename Platform::template atomic<std::uintptr_t>;

  basic_work_ring(const basic_work_ring&) = delete;
  basic_work_ring& operator=(const basic_work_ring&) = delete;
  ~basic_work_ring() = default;

  /// A ring of `capacity` slots that replaces `older`; null when there is no memory.
  [[nodiscard]] static basic_work_ring* make(std::uint32_t capacity, basic_work_ring* older) noexcept {
    void* const at = Platform::allocate(bytes(capacity), alignof(basic_work_ring));
    return at == nullptr ? nullptr : ::new (at) basic_work_ring(capacity, older);
  }

  /// Gives back a ring and all those that it replaced.
  static void free_chain(basic_work_ring* newest) noexcept {
    while (newest != nullptr) {
      basic_work_ring* const gone = newest;
      newest = gone->older_.read();
      const std::size_t size = bytes(gone->capacity());
      std::destroy_n(gone->slots(), gone->capacity());
      std::destroy_at(gone);
      Platform::deallocate(gone, size, alignof(basic_work_ring));
    }
  }

  [[nodiscard]] slot* slots() noexcept { return std::launder(reinterpret_cast<slot*>(this + 1)); }
  [[nodiscard]] std::uint32_t mask() const noexcept { return mask_.read(); }
  [[nodiscard]] std::uint32_t capacity() const noexcept { return mask() + 1; }

  /// What the slot of this index holds. Whether that means anything, the caller finds out by the deque's protocol.
  [[nodiscard]] runnable peek(std::uint32_t index) noexcept {
    // relaxed: a thief orders it by the deque's other words [WD-publish], and drops what it read if it must.
    return runnable::from_word(slots()[index & mask()].load(std::memory_order_relaxed));
  }

 private:
  basic_work_ring(std::uint32_t capacity, basic_work_ring* older) noexcept
      : mask_(capacity - 1), older_(older) {
    slot* const first = reinterpret_cast<slot*>(this + 1);
    for (std::uint32_t i = 0; i < capacity; ++i) ::new (first + i) slot(0);
  }

  static std::size_t bytes(std::uint32_t capacity) noexcept {
    static_assert(sizeof(basic_work_ring) % alignof(slot) == 0);
    return sizeof(basic_work_ring) + capacity * sizeof(slot);
  }

  typename Platform::template plain<std::uint32_t> mask_;
  typename Platform::template plain<basic_work_ring*> older_;
};

}  // namespace weft::detail
