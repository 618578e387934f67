// SPDX-License-Identifier: Apache-2.0
//
// deque — a work-stealing deque: one owner pushes and pops at one end, any number of thieves steal at the other.
//
// What each worker of a scheduler has. The owner's end is a stack (newest first, warm in its cache), the thieves' end a
// queue (oldest first, usually the largest piece of work). No operation blocks: if a thread is stopped in the middle
// of any of them, all others go on.
//
// Use it where most items are taken by the thread that made them. Where items always go from one thread to another,
// a channel is the better choice; where a team of workers shares what they have, weft::deque_channel is this deque with
// all that is needed around it.
//
//     weft::deque<job*> mine;                      // by the owner
//     mine.push(first);
//     mine.push(second);
//     std::optional<job*> next = mine.pop();       // second
//
//     auto theirs = mine.thief_end();              // by anybody, any number of them
//     if (auto stolen = theirs.steal()) run(*stolen);
//
// Items are small values: trivially copyable, up to 64 bytes; usually pointers. What is in a deque when it is destroyed
// is forgotten.
#pragma once

#include <weft/detail/atomics.hpp>
#include <weft/detail/chase_lev.hpp>
#include <weft/detail/words.hpp>
#include <weft/steal_result.hpp>

#include <cstddef>
#include <new>
#include <optional>
#include <type_traits>

/// How the two ends of a deque keep out of each other's way: the second argument of weft::deque.
namespace weft::barriers {

/// The owner pays nothing; a thief that sees an item pays a system call that interrupts the owner: some microseconds
/// while the owner runs. For work that is rarely stolen, which is how it should be. Where the kernel does not offer
/// membarrier(2) or a seccomp filter forbids it, deques find out when they are made and use full fences instead.
using asymmetric = detail::asymmetric_orders;

/// The owner pays one sequentially consistent store a pop, a thief one fence a steal: some nanoseconds each. For work
/// that is often stolen.
using symmetric = detail::symmetric_orders;

}  // namespace weft::barriers

namespace weft {

/// A work-stealing deque of small values.
///
/// Thread safety: push, pop and their kin, and capacity(), by one thread at a time, the owner; to hand a deque over to
///                another owner, synchronise by other means. Stealing and the `_approx` functions: any thread. The
///                deque is destroyed when nobody uses it any more.
/// Ordering:  what the owner did before it pushed an item is visible to the thief that has stolen it.
template <class T, class Barriers = barriers::asymmetric>
class deque {
  static_assert(
      detail::queueable<T>,
      "a deque holds trivially copyable values of up to 64 bytes: push a pointer to what is larger");

 public:
  /// What a deque holds before it grows for the first time, unless asked otherwise.
  static constexpr std::size_t default_capacity = 256;

  /// The thieves' end: lets its holder steal, and nothing else. A pointer to the deque, to be copied freely.
  class thief {
   public:
    /// As deque::steal().
    [[nodiscard]] steal_result<T> steal() const noexcept { return from_->steal(); }

    /// As deque::size_approx().
    [[nodiscard]] std::size_t size_approx() const noexcept { return from_->size_approx(); }

    /// As deque::empty_approx().
    [[nodiscard]] bool empty_approx() const noexcept { return from_->empty_approx(); }

   private:
    friend class deque;
    explicit thief(deque& from) noexcept : from_(&from) {}

    deque* from_;
  };

  /// An empty deque, with room for `capacity` items (rounded up to a power of two) before it grows.
  ///
  /// Throws:    std::bad_alloc.
  explicit deque(std::size_t capacity = default_capacity) : impl_(capacity) {}

  deque(const deque&) = delete;
  deque& operator=(const deque&) = delete;
  ~deque() = default;

  /// Adds an item at the owner's end. If there is no room, the deque grows to twice its capacity; it never shrinks.
  ///
  /// Throws:    std::bad_alloc if it cannot grow; then nothing has changed.
  /// Thread safety: owner only.
  void push(const T& item) {
    if (!try_push(item)) throw std::bad_alloc();
  }

  /// Adds an item as push() does.
  ///
  /// Returns:   false if it cannot grow; then nothing has changed.
  /// Thread safety: owner only.
  [[nodiscard]] bool try_push(const T& item) noexcept { return impl_.try_push(item); }

  /// Takes the newest item.
  ///
  /// Returns:   the item, or nullopt if there is none.
  /// Thread safety: owner only.
  [[nodiscard]] std::optional<T> pop() noexcept { return impl_.pop(); }

  /// Takes the newest item if it is `item`, bit by bit: for taking back what one has pushed, unless it was stolen or
  /// something lies above it. For types whose equal values have equal bits, such as pointers and integers.
  ///
  /// Returns:   whether it was taken.
  /// Thread safety: owner only.
  [[nodiscard]] bool pop_if(const T& item) noexcept requires std::has_unique_object_representations_v<T> {
    return impl_.pop_if(item);
  }

  /// Takes the oldest item. Does not retry: after a lost race, whether to try again is the thief's decision.
  ///
  /// Returns:   the item, or steal_outcome::empty, or steal_outcome::lost_race.
  /// Thread safety: any thread; the owner too.
  [[nodiscard]] steal_result<T> steal() noexcept { return impl_.steal(); }

  /// A handle that can only steal. It must not outlive the deque.
  ///
  /// Thread safety: any thread.
  [[nodiscard]] thief thief_end() noexcept { return thief(*this); }

  /// How many items there are, or were a moment ago. Exact if the owner asks while nobody steals.
  ///
  /// Thread safety: any thread.
  [[nodiscard]] std::size_t size_approx() const noexcept { return impl_.size_approx(); }

  /// Whether there are none, or were none a moment ago. "Not empty" may be a steal too late, "empty" a push.
  ///
  /// Thread safety: any thread.
  [[nodiscard]] bool empty_approx() const noexcept { return impl_.empty_approx(); }

  /// How many items fit without growing.
  ///
  /// Thread safety: owner only.
  [[nodiscard]] std::size_t capacity() const noexcept { return impl_.capacity(); }

 private:
  detail::chase_lev<T, detail::std_atomics, Barriers> impl_;
};

}  // namespace weft
