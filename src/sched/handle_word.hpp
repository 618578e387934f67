// SPDX-License-Identifier: Apache-2.0
//
// handle_word — the word in which the end of a task meets whoever holds its handle.
//
// A task and its handle share a record, and the last of the two frees it. The holder may wait for the end, give up
// waiting (it was cancelled, or its time was up) and wait again, or drop the handle. All of it is one word:
//
//              begin_wait                finish
//     pending ------------> a waiter ---------------> done      the holder frees the record, sooner or later
//       | ^                    |                       ^
//       | '----- end_wait -----'                       |
//       |------------------- finish -------------------'
//       '----- drop ------> dropped --- finish --> (the finisher frees the record)
//
// The finisher's last touch of the record is the exchange to *done*; it takes the waiter's address out of that
// exchange. A waiter that has left meanwhile is still there to be looked at: waiters live in memory that stays (task
// records), or do not leave before they were woken. How the finisher wakes it, and finds it gone, is the waiter's affair.
//
// Ordering: what the task did before finish() is visible to the holder once is_done(), begin_wait() or end_wait() says
//           that it is done, and to the waiter that was woken; what the holder did before drop() to the finisher.
//
// Thread safety: one holder, one finisher.
// Invariants:   HW1  finished once, dropped once
//               HW2  after its exchange the finisher touches nothing of the record, unless it was dropped before
#pragma once

#include "sys/platform.hpp"

#include <weft/detail/assert.hpp>

#include <bit>
#include <cstdint>
#include <type_traits>

namespace weft::impl {

/// What the finisher owes.
enum class finish_duty : std::uint8_t {
  none,         ///< the holder will come
  wake,         ///< the waiter must be woken
  free_record,  ///< nobody holds it
};

/// A waiter is a word: a pointer, or a pointer with a mark.
template <class Platform, class Waiter>
class basic_handle_word {
  // NOLINTNEXTLINE(bugprone-sizeof-expression): of the pointer, where it is one
  static_assert(sizeof(Waiter) == sizeof(std::uintptr_t) && std::is_trivially_copyable_v<Waiter>);

 public:
  /// Makes the word ready for the next life of its record, by whoever has it alone.
  void reset() noexcept {
    word_.store(pending, std::memory_order_relaxed);
  }  // relaxed: published with the record

  /// The same for a task that nobody holds; but it may belong to somebody, who is told of its end. The address is that of
  /// something aligned to 4 at least, or 0.
  void reset_owned(std::uintptr_t owner = 0) noexcept {
    word_.store(owner | dropped, std::memory_order_relaxed);
  }
  /// Whom a task that nobody holds belongs to; 0 for nobody, and for a task that is held.
  [[nodiscard]] std::uintptr_t owner() const noexcept {
    return owner_in(word_.load(std::memory_order_relaxed));
  }

  // -- The holder ---------------------------------------------------------------------------------------------------

  [[nodiscard]] bool is_done() const noexcept {
    return word_.load(std::memory_order_acquire) == done;  // [HW-done]
  }

  /// Registers a waiter. Returns false if the task is done.
  [[nodiscard]] bool begin_wait(Waiter waiter) noexcept {
    const auto word = std::bit_cast<std::uintptr_t>(waiter);
    WEFT_ASSERT(word > dropped, "a waiter that looks like a mark");
    std::uintptr_t seen = pending;
    // release: the finisher sees the waiter as it is. [HW-waiter] pairs with finish()
    const bool registered = word_.compare_exchange_strong(seen, word, std::memory_order_release,
                                                          std::memory_order_acquire);  // [HW-done]
    WEFT_ASSERT(registered || seen == done, "two wait by one handle");
    return registered;
  }

  /// Gives up waiting. Returns false if the task is done: then the finisher is about to wake the waiter, or has.
  [[nodiscard]] bool end_wait(Waiter waiter) noexcept {
    auto seen = std::bit_cast<std::uintptr_t>(waiter);
    // acquire: [HW-done], where it fails.
    const bool left =
        word_.compare_exchange_strong(seen, pending, std::memory_order_acquire, std::memory_order_acquire);
    WEFT_ASSERT(left || seen == done, "somebody else waits by this handle");
    return left;
  }

  /// Gives the handle up. Returns true if the task is done, and the record is the holder's to free.
  [[nodiscard]] bool drop() noexcept {
    // release: what the holder did with the record. [HW-drop]   acquire: what the task did. [HW-done]
    const std::uintptr_t before = word_.exchange(dropped, std::memory_order_acq_rel);
    WEFT_ASSERT(before == pending || before == done, "HW1: dropped twice, or while waiting");
    return before == done;
  }

  // -- The task -----------------------------------------------------------------------------------------------------

  struct ending {
    finish_duty duty = finish_duty::none;
    Waiter waiter{};
    std::uintptr_t owner = 0;  // as reset_owned() said
  };

  /// Ends the task. Unless nobody holds it, the record may be gone afterwards.
  [[nodiscard]] ending finish() noexcept {
    // A handle that was dropped early is common, and costs nothing more. [HW-drop]
    const std::uintptr_t now = word_.load(std::memory_order_acquire);
    if (is_dropped(now)) return {finish_duty::free_record, {}, owner_in(now)};
    // release: the results. [HW-done]   acquire: the waiter, [HW-waiter]; or what the holder did. [HW-drop]
    const std::uintptr_t before = word_.exchange(done, std::memory_order_acq_rel);
    WEFT_ASSERT(before != done, "HW1: a task ends twice");
    if (before == pending) return {finish_duty::none};
    if (before == dropped) return {finish_duty::free_record};
    return {finish_duty::wake, std::bit_cast<Waiter>(before)};
  }

 private:
  static constexpr std::uintptr_t pending = 0;
  static constexpr std::uintptr_t done = 1;
  static constexpr std::uintptr_t dropped = 2;
  static constexpr std::uintptr_t marks = 3;

  [[nodiscard]] static bool is_dropped(std::uintptr_t word) noexcept { return (word & marks) == dropped; }
  [[nodiscard]] static std::uintptr_t owner_in(std::uintptr_t word) noexcept {
    return is_dropped(word) ? word & ~marks : 0;
  }

  typename Platform::template atomic<std::uintptr_t> word_{pending};
};

}  // namespace weft::impl
