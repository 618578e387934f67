// SPDX-License-Identifier: Apache-2.0
//
// chase_lev — the work-stealing deque of Chase and Lev: its owner pushes and pops at the bottom, thieves steal at the top.
//
// Items have indices that only grow. Those in [top, bottom) are in the deque: the owner moves bottom, and whoever wins
// a compare-and-exchange from t to t+1 on top owns item t. So owner and thief compete for the last item only; but
// each must notice that it is the last. The owner lowers bottom, then looks at top; the thief reads top, then looks at
// bottom; a barrier stands between the two steps on each side, and then at least one of them sees the other.
//
// Which barriers, and which memory orders, is a parameter: asymmetric_orders makes the owner's side nearly free and the
// thief's expensive; symmetric_orders splits the cost. docs/internals/deque.md proves both.
//
// Thread safety: the owner's operations by one thread at a time (handing the deque over needs synchronisation of its
//                own); steal(), size_approx() and empty_approx() by anyone. Nobody may use a deque that is destroyed.
// Invariants:   DQ1  top never decreases, and goes up by one compare-and-exchange an item, which gives it an owner
//               DQ2  at most capacity items are in the deque, and bottom <= limit, the last seen top + capacity
//               DQ3  the slot of index i is overwritten only after top > i was seen
//               DQ4  nobody makes a T of what a slot holds before it owns the index
#pragma once

#include <weft/config.hpp>
#include <weft/detail/assert.hpp>
#include <weft/detail/atomics.hpp>
#include <weft/detail/cache_line.hpp>
#include <weft/detail/chase_lev_buffer.hpp>
#include <weft/detail/words.hpp>
#include <weft/steal_result.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <new>
#include <optional>
#include <type_traits>

namespace weft::detail {

/// What a thief sees of a deque after its barrier.
template <class BufferPointer>
struct thief_view {
  std::int64_t bottom;
  BufferPointer newest;
};

/// The memory orders and barriers of a deque whose owner pays next to nothing. A model that plants a fault derives
/// from it and hides one member.
struct asymmetric_orders {
  static constexpr std::memory_order publish = std::memory_order_release;  ///< bottom goes up
  static constexpr std::memory_order reserve = std::memory_order_release;  ///< bottom goes down, in take()
  static constexpr std::memory_order check = std::memory_order_relaxed;    ///< the look at top, in take()
  static constexpr std::memory_order claim = std::memory_order_release;    ///< top goes up

  /// The kind of barriers that a deque is made with where nobody asks for another.
  template <class Platform>
  [[nodiscard]] static barrier_kind kind() noexcept {
    return Platform::barriers();
  }

  /// Between the owner's reservation and its look at top.
  template <class Platform>
  static void owner_barrier(barrier_kind kind) noexcept {
    Platform::light_barrier(kind);
  }

  /// Between the thief's look at top and its look at bottom.
  template <class Platform>
  static void thief_barrier(barrier_kind kind) noexcept {
    Platform::heavy_barrier(kind);
  }

  /// The thief's look. Bottom comes first: the buffer is then at least as new as the items below it.
  template <class Bottom, class BufferPointer>
  [[nodiscard]] static auto look(const Bottom& bottom, const BufferPointer& buffer) noexcept {
    const std::int64_t b = bottom.load(std::memory_order_acquire);  // [DQ-publish]
    auto* newest = buffer.load(std::memory_order_acquire);          // [DQ-grow]
    return thief_view<decltype(newest)>{b, newest};
  }
};

/// The same with the orders of Lê, Pop, Cohen and Zappa Nardelli (PPoPP 2013): an owner that pays one expensive store
/// a pop, thieves that pay one fence a steal.
struct symmetric_orders : asymmetric_orders {
  // seq_cst: with the thief's full fence these two settle who sees whom. Either take() sees the claim that made its
  // item the last, or the thief sees that bottom went down. [DQ-last]
  static constexpr std::memory_order reserve = std::memory_order_seq_cst;
  static constexpr std::memory_order check = std::memory_order_seq_cst;
  // seq_cst: as the paper has it. release would do, as it does in the asymmetric deque (src/queue/survivors.txt).
  static constexpr std::memory_order claim = std::memory_order_seq_cst;

  template <class Platform>
  [[nodiscard]] static barrier_kind kind() noexcept {
    return barrier_kind::symmetric;
  }
  template <class Platform>
  static void owner_barrier(barrier_kind /*kind*/) noexcept {}
  template <class Platform>
  static void thief_barrier(barrier_kind /*kind*/) noexcept {
    Platform::full_fence();
  }
};

/// The deque; weft::deque is its public face and says what each operation promises.
template <queueable T, class Platform, class Orders>
class chase_lev {
  using buffer = chase_lev_buffer<T, Platform>;

 public:
  /// A deque that holds `capacity` items (rounded up to a power of two) before it grows. The second argument is for
  /// tests, and for those who have asked Platform::barriers() before.
  ///
  /// Throws:    std::bad_alloc.
  explicit chase_lev(std::size_t capacity, barrier_kind kind = Orders::template kind<Platform>())
      : owner_(first_buffer(capacity), kind), thief_(owner_.newest.read(), kind) {}

  chase_lev(const chase_lev&) = delete;
  chase_lev& operator=(const chase_lev&) = delete;
  ~chase_lev() { buffer::destroy_all(owner_.newest.read()); }

  /// Owner: adds an item; false where it would have to grow and there is no memory.
  [[nodiscard]] bool try_push(const T& item) noexcept {
    const std::int64_t b = own_bottom();
    if (b >= owner_.limit.read() && !has_room(b) && !grow(b)) return false;
    add(b, item);
    return true;
  }

  /// Owner: adds an item; false where it would have to grow.
  [[nodiscard]] bool try_push_bounded(const T& item) noexcept {
    const std::int64_t b = own_bottom();
    if (b >= owner_.limit.read() && !has_room(b)) return false;
    add(b, item);
    return true;
  }

  /// Owner: takes the newest item.
  [[nodiscard]] std::optional<T> pop() noexcept {
    const std::int64_t newest = own_bottom() - 1;
    if (!take(newest)) return std::nullopt;
    return from_words<T>(owner_.newest.read()->read(newest));
  }

  /// Owner: takes the newest item if it is `item`, bit by bit.
  [[nodiscard]] bool pop_if(const T& item) noexcept requires std::has_unique_object_representations_v<T> {
    // The slot may hold an item that is gone, or none yet. That does not matter: if it looks like ours, take() tells
    // whether it is there; if it does not, ours is not the newest.
    const std::int64_t newest = own_bottom() - 1;
    return owner_.newest.read()->read(newest) == to_words(item) && take(newest);
  }

  /// Anyone: takes the oldest item.
  [[nodiscard]] steal_result<T> steal() noexcept {
    // acquire: bottom below is then not older than what the last one to claim an item saw. [DQ-claim]
    const std::int64_t t = thief_.top.load(std::memory_order_acquire);
    // relaxed: a first look, because the barrier is expensive; nothing is read on the strength of it.
    if (t >= owner_.bottom.load(std::memory_order_relaxed))
      return steal_result<T>::none(steal_outcome::empty);
    Orders::template thief_barrier<Platform>(thief_.kind);  // [DQ-last] pairs with owner_barrier in take()
    const thief_view<buffer*> seen = Orders::look(owner_.bottom, thief_.newest);
    if (t >= seen.bottom) return steal_result<T>::none(steal_outcome::empty);
    const words_of<T> words = seen.newest->read(t);
    if (!claim(t)) return steal_result<T>::none(steal_outcome::lost_race);
    return steal_result<T>::of(from_words<T>(words));  // DQ4: not before
  }

  /// Anyone: how many items there are, or were a moment ago.
  [[nodiscard]] std::size_t size_approx() const noexcept {
    // relaxed: the two need not even be of one moment.
    const std::int64_t t = thief_.top.load(std::memory_order_relaxed);
    const std::int64_t b = owner_.bottom.load(std::memory_order_relaxed);
    return static_cast<std::size_t>(std::max<std::int64_t>(b - t, 0));
  }

  /// Anyone: whether there is nothing, or was nothing a moment ago.
  [[nodiscard]] bool empty_approx() const noexcept { return size_approx() == 0; }

  /// Owner: how many items fit before it grows again.
  [[nodiscard]] std::size_t capacity() const noexcept { return owner_.newest.read()->capacity(); }

  /// The barriers it was made with.
  [[nodiscard]] barrier_kind kind() const noexcept { return owner_.kind; }

 private:
  static buffer* first_buffer(std::size_t capacity) {
    buffer* const made =
        capacity <= buffer::capacity_max ? buffer::make(std::bit_ceil(capacity), nullptr) : nullptr;
    if (made == nullptr) throw std::bad_alloc();
    return made;
  }

  // relaxed: only the owner writes bottom.
  [[nodiscard]] std::int64_t own_bottom() const noexcept {
    return owner_.bottom.load(std::memory_order_relaxed);
  }

  // Puts an item at the bottom, where there is room for it.
  void add(std::int64_t b, const T& item) noexcept {
    WEFT_ASSERT(b < owner_.limit.read(), "DQ2: an item was pushed onto a full buffer");
    owner_.newest.read()->write(b, to_words(item));
    owner_.bottom.store(b + 1, Orders::publish);  // [DQ-publish] pairs with acquire in look()
  }

  // Looks at top again: thieves may have made room since.
  [[nodiscard]] bool has_room(std::int64_t b) noexcept {
    // acquire: a thief has read the slot of an item it has claimed, before we write over it. [DQ-claim]
    const std::int64_t t = thief_.top.load(std::memory_order_acquire);
    owner_.limit.write(t + static_cast<std::int64_t>(capacity()));
    return b < owner_.limit.read();
  }

  // Doubles a buffer that has_room() has found full. Thieves may go on reading the old one: it keeps what it holds.
  [[nodiscard, gnu::noinline]] bool grow(std::int64_t b) noexcept {
    buffer* const old = owner_.newest.read();
    buffer* const made = buffer::make(old->capacity() * 2, old);
    if (made == nullptr) return false;
    const std::int64_t t = owner_.limit.read() - static_cast<std::int64_t>(old->capacity());
    for (std::int64_t i = t; i < b; ++i) made->write(i, old->read(i));
    owner_.newest.write(made);
    owner_.limit.write(t + static_cast<std::int64_t>(made->capacity()));
    thief_.newest.store(made, std::memory_order_release);  // [DQ-grow] pairs with acquire in look()
    return true;
  }

  // Makes the newest item ours, if there is one; b is its index.
  [[nodiscard]] bool take(std::int64_t b) noexcept {
    // release, as every store to bottom: a thief may steal older items on the strength of it. [DQ-publish]
    owner_.bottom.store(b, Orders::reserve);
    Orders::template owner_barrier<Platform>(owner_.kind);  // [DQ-last] pairs with thief_barrier in steal()
    // No acquire: only the number counts, and the barrier sees to it that it is not too old.
    const std::int64_t t = thief_.top.load(Orders::check);
    return WEFT_LIKELY(t < b) || take_last(b, t);
  }

  // Ends a take() that has reserved index b and found at most that one item.
  [[nodiscard, gnu::noinline]] bool take_last(std::int64_t b, std::int64_t t) noexcept {
    WEFT_ASSERT(t <= b + 1, "DQ1: more was taken than was pushed");
    const bool ours = t == b && claim(t);
    owner_.bottom.store(b + 1, Orders::publish);  // taken by whomever: the deque is empty. [DQ-publish]
    return ours;
  }

  // Makes item t ours, unless somebody else was faster.
  [[nodiscard]] bool claim(std::int64_t t) noexcept {
    // release: whoever sees the claim may write over the slot that was read before it. [DQ-claim] pairs with acquire in
    // has_room(), steal(). relaxed on failure: nothing that the winner did is looked at.
    return thief_.top.compare_exchange_strong(t, t + 1, Orders::claim, std::memory_order_relaxed);
  }

  // What the owner touches all the time; thieves read bottom.
  struct alignas(contended_bytes) owner_end {
    owner_end(buffer* first, barrier_kind barriers) noexcept
        : limit(static_cast<std::int64_t>(first->capacity())), newest(first), kind(barriers) {}

    typename Platform::template atomic<std::int64_t> bottom{0};
    typename Platform::template plain<std::int64_t> limit;  // owner only: where push() must look at top again
    typename Platform::template plain<buffer*> newest;      // owner only
    const barrier_kind kind;
  };

  // What thieves fight for; the owner looks at top, and writes `newest` when it grows.
  struct alignas(contended_bytes) thief_end {
    thief_end(buffer* first, barrier_kind barriers) noexcept : newest(first), kind(barriers) {}

    typename Platform::template atomic<std::int64_t> top{0};
    typename Platform::template atomic<buffer*> newest;
    const barrier_kind kind;
  };

  static_assert(sizeof(owner_end) % contended_bytes == 0 && sizeof(thief_end) % contended_bytes == 0,
                "top and bottom must not share a cache line");

  owner_end owner_;
  thief_end thief_;
};

}  // namespace weft::detail
