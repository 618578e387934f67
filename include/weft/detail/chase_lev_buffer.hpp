// SPDX-License-Identifier: Apache-2.0
//
// chase_lev_buffer — the ring of slots behind a work-stealing deque, and the smaller rings it has grown from.
//
// A slot is an array of atomic words. A thief may read one while the owner overwrites it; what it read is then thrown
// away unseen, because its claim on the index fails (chase_lev.hpp, DQ4).
//
// Thread safety: read() by anyone who got the buffer by an acquire load; the rest by the deque's owner.
// Invariants:   DB1  a buffer and those it has grown from live as long as the deque
#pragma once

#include <weft/detail/assert.hpp>
#include <weft/detail/cache_line.hpp>
#include <weft/detail/words.hpp>

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <new>
#include <utility>

namespace weft::detail {

/// Slots for the items of one deque, found by an index that never wraps.
template <queueable T, class Platform>
class chase_lev_buffer {
  static constexpr std::size_t word_count = words_of<T>().size();
  static constexpr std::size_t alignment = contended_bytes;

  // relaxed throughout: what was written is ordered by [DQ-publish], what is overwritten by [DQ-claim].
  struct slot {
    [[nodiscard]] words_of<T> load() const noexcept { return load(std::make_index_sequence<word_count>()); }
    void store(const words_of<T>& from) noexcept { store(from, std::make_index_sequence<word_count>()); }

    template <std::size_t... I>
    [[nodiscard]] words_of<T> load(std::index_sequence<I...> /*each word*/) const noexcept {
      return {words[I].load(std::memory_order_relaxed)...};
    }
    template <std::size_t... I>
    void store(const words_of<T>& from, std::index_sequence<I...> /*each word*/) noexcept {
      (words[I].store(from[I], std::memory_order_relaxed), ...);
    }

    std::array<typename Platform::template atomic<std::uint64_t>, word_count> words;
  };

 public:
  /// More than any machine can hold, and less than what would overflow when counted in bytes.
  static constexpr std::size_t capacity_max =
      std::bit_floor(std::numeric_limits<std::size_t>::max() / 4 / sizeof(slot));

  /// A buffer for `capacity` items, a power of two; `older` is the one it has grown from, or null.
  ///
  /// Returns:   null where there is no memory.
  [[nodiscard]] static chase_lev_buffer* make(std::size_t capacity, chase_lev_buffer* older) noexcept {
    WEFT_ASSERT(std::has_single_bit(capacity), "a deque's capacity is a power of two");
    if (capacity > capacity_max) return nullptr;
    void* const at = Platform::allocate(bytes_for(capacity), alignment);
    if (at == nullptr) return nullptr;
    auto* const made = new (at) chase_lev_buffer(capacity, older);
    std::uninitialized_value_construct_n(made->slots(), capacity);
    return made;
  }

  /// Frees a buffer and all it has grown from. Nobody may be reading them (DB1).
  static void destroy_all(chase_lev_buffer* newest) noexcept {
    while (newest != nullptr) {
      chase_lev_buffer* const older = newest->older_;
      const std::size_t capacity = newest->capacity();
      std::destroy_n(newest->slots(), capacity);
      std::destroy_at(newest);
      Platform::deallocate(newest, bytes_for(capacity), alignment);
      newest = older;
    }
  }

  [[nodiscard]] std::size_t capacity() const noexcept { return mask_.read() + 1; }

  /// The words at an index. They may be torn, or another index's; a claim on the index tells.
  [[nodiscard]] words_of<T> read(std::int64_t index) const noexcept { return slots()[slot_of(index)].load(); }

  /// Overwrites an index that no thief can claim any more, or not yet.
  void write(std::int64_t index, const words_of<T>& words) noexcept { slots()[slot_of(index)].store(words); }

 private:
  chase_lev_buffer(std::size_t capacity, chase_lev_buffer* older) noexcept
      : mask_(capacity - 1), older_(older) {}

  // The slots follow the header in one piece of memory.
  static constexpr std::size_t header_bytes() noexcept {
    return (sizeof(chase_lev_buffer) + alignof(slot) - 1) / alignof(slot) * alignof(slot);
  }
  static constexpr std::size_t bytes_for(std::size_t capacity) noexcept {
    return header_bytes() + capacity * sizeof(slot);
  }
  [[nodiscard]] slot* slots() noexcept {
    return std::launder(reinterpret_cast<slot*>(reinterpret_cast<std::byte*>(this) + header_bytes()));
  }
  [[nodiscard]] const slot* slots() const noexcept {
    return std::launder(
        reinterpret_cast<const slot*>(reinterpret_cast<const std::byte*>(this) + header_bytes()));
  }
  [[nodiscard]] std::size_t slot_of(std::int64_t index) const noexcept {
    return static_cast<std::size_t>(index) & mask_.read();
  }

  typename Platform::template plain<std::size_t> mask_;  // constant once made; thieves read it: [DQ-grow]
  chase_lev_buffer* const older_;                        // owner only
};

}  // namespace weft::detail
