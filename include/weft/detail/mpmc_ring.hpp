// SPDX-License-Identifier: Apache-2.0
//
// mpmc_ring — a bounded queue for any number of senders and receivers: Vyukov's ring of numbered cells.
//
// Each cell says whose turn it is. In round r (positions r*n ... r*n + n-1) the cell of position p may be filled when
// its turn is p, and emptied when it is p+1; emptying makes it p+n, the turn of the next round. Whoever moves the tail
// (or the head) by compare-and-exchange has the cell to itself until it passes the turn on.
//
// Nothing waits, but it is not lock-free: a sender that is stopped between the two steps hides all that is sent after it,
// and a receiver that is makes the ring look full once senders come round to its cell.
//
// Thread safety: any thread. Nobody may use a ring that is destroyed.
// Invariants:   MR1  a cell's turn is p, p+1 or p+n for the position p of the current round, and never decreases
//               MR2  a cell's item is touched only by whoever owns the turn
#pragma once

#include <weft/detail/assert.hpp>
#include <weft/detail/cache_line.hpp>
#include <weft/detail/words.hpp>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <new>
#include <optional>

namespace weft::detail {

/// A bounded first-in-first-out queue of small values.
template <queueable T, class Platform>
class mpmc_ring {
 public:
  /// A ring for `capacity` items, rounded up to a power of two, at least 2 (a ring of one could not tell full from
  /// empty).
  ///
  /// Throws:    std::bad_alloc.
  explicit mpmc_ring(std::size_t capacity)
      : cells_(make_cells(rounded(capacity))), mask_(rounded(capacity) - 1) {}

  mpmc_ring(const mpmc_ring&) = delete;
  mpmc_ring& operator=(const mpmc_ring&) = delete;
  ~mpmc_ring() {
    std::destroy_n(cells_, capacity());
    Platform::deallocate(cells_, capacity() * sizeof(cell), contended_bytes);
  }

  /// Adds an item; false if the ring is full.
  [[nodiscard]] bool try_push(const T& item) noexcept {
    // relaxed, here and below: where it stands is a hint; the cell's turn decides whether it is right.
    std::uint64_t position = tail_.at.load(std::memory_order_relaxed);
    for (;;) {
      cell& c = cell_of(position);
      const std::uint64_t turn = c.turn.load(std::memory_order_acquire);  // [MR-emptied]
      if (turn == position) {
        if (advance(tail_, position)) {
          c.item.write(to_words(item));
          c.turn.store(position + 1,
                       std::memory_order_release);  // [MR-filled] pairs with acquire in try_pop()
          return true;
        }
      } else if (is_before(turn, position)) {
        return false;  // the item of the last round is still there
      } else {
        position = tail_.at.load(std::memory_order_relaxed);  // somebody else has filled it
      }
    }
  }

  /// Takes the oldest item; nullopt if the ring is empty.
  [[nodiscard]] std::optional<T> try_pop() noexcept {
    std::uint64_t position = head_.at.load(std::memory_order_relaxed);
    for (;;) {
      cell& c = cell_of(position);
      const std::uint64_t turn = c.turn.load(std::memory_order_acquire);  // [MR-filled]
      if (turn == position + 1) {
        if (advance(head_, position)) {
          const words_of<T> words = c.item.read();
          // release: the item is read before it is written over. [MR-emptied] pairs with acquire in try_push()
          c.turn.store(position + capacity(), std::memory_order_release);
          return from_words<T>(words);
        }
      } else if (is_before(turn, position + 1)) {
        return std::nullopt;  // not filled yet
      } else {
        position = head_.at.load(std::memory_order_relaxed);  // somebody else has emptied it
      }
    }
  }

  /// How many items there are, or were a moment ago.
  [[nodiscard]] std::size_t size_approx() const noexcept {
    // relaxed: the two need not even be of one moment.
    const std::uint64_t head = head_.at.load(std::memory_order_relaxed);
    const std::uint64_t tail = tail_.at.load(std::memory_order_relaxed);
    return is_before(tail, head) ? 0 : std::min<std::size_t>(tail - head, capacity());
  }

  /// How many items fit.
  [[nodiscard]] std::size_t capacity() const noexcept { return mask_ + 1; }

 private:
  struct cell {
    explicit cell(std::uint64_t first) noexcept : turn(first) {}

    typename Platform::template atomic<std::uint64_t> turn;
    typename Platform::template plain<words_of<T>> item;
  };

  // The next position to fill, or to empty.
  struct alignas(contended_bytes) end {
    typename Platform::template atomic<std::uint64_t> at{0};
  };

  static std::size_t rounded(std::size_t capacity) {
    constexpr std::size_t most = std::bit_floor(std::numeric_limits<std::size_t>::max() / 4 / sizeof(cell));
    if (capacity > most) throw std::bad_alloc();
    return std::bit_ceil(std::max<std::size_t>(capacity, 2));
  }

  static cell* make_cells(std::size_t count) {
    auto* const cells = static_cast<cell*>(Platform::allocate(count * sizeof(cell), contended_bytes));
    if (cells == nullptr) throw std::bad_alloc();
    for (std::size_t i = 0; i < count; ++i) new (cells + i) cell(i);
    return cells;
  }

  [[nodiscard]] cell& cell_of(std::uint64_t position) const noexcept { return cells_[position & mask_]; }

  static bool is_before(std::uint64_t a, std::uint64_t b) noexcept {
    return static_cast<std::int64_t>(a - b) < 0;
  }

  // Makes the cell of `position` ours; if somebody was faster, moves `position` to where the end is now.
  static bool advance(end& e, std::uint64_t& position) noexcept {
    // relaxed: the turn passes on what the cell holds; the ends only keep two from having the same position.
    return e.at.compare_exchange_weak(position, position + 1, std::memory_order_relaxed,
                                      std::memory_order_relaxed);
  }

  cell* const cells_;         // constant
  const std::uint64_t mask_;  // constant
  end tail_;                  // senders
  end head_;                  // receivers
};

}  // namespace weft::detail
