// SPDX-License-Identifier: Apache-2.0
//
// completion — the word in which the end of a child and the wait for it meet.
//
// It lies in the child's record, and the record in the waiter's frame or on the heap: the waiter frees it as soon as
// the child is done. So the finisher's last touch of the record is one exchange, which also gives it the waiter; from
// then on it uses what it has in its hands. The waiter lives until it is woken, and only the finisher wakes it: a wait
// for a completion is not cancelled and has no deadline. (Those that can end otherwise wait in a queue.)
//
//     pending ---- begin_wait ----> waiter's address ---- finish ----> done
//        '----------------------------- finish ------------------------^
//
// Ordering: what the child did before finish() is visible once is_done(), once begin_wait() says so, and to the waiter
//           that was woken; what the waiter did before begin_wait() is visible to the finisher.
//
// Thread safety: one waiter, one finisher; is_done() by the waiter.
// Invariants:   CO1  finished once
//               CO2  after its exchange the finisher touches nothing of the record
#pragma once

#include <weft/detail/assert.hpp>

#include <atomic>
#include <cstdint>

namespace weft::detail {

/// What a waiter owes.
enum class wait_duty : std::uint8_t {
  none,  ///< the child is done
  wait,  ///< the finisher will wake the waiter
};

/// What makes the protocol hold. A test that wants to see it break derives from this and changes one line.
struct completion_rules {
  /// The finisher learns the waiter from its exchange; it does not look before, nor after.
  template <class Word>
  [[nodiscard]] static std::uintptr_t end(Word& word, std::uintptr_t done) noexcept {
    // release: the child's results. [CO-done]   acquire: the waiter. [CO-waiter]
    return word.exchange(done, std::memory_order_acq_rel);
  }
};

template <class Platform, class Waiter, class Rules = completion_rules>
class basic_completion {
 public:
  /// Whether the child is done. The record may be freed then.
  [[nodiscard]] bool is_done() const noexcept {
    return word_.load(std::memory_order_acquire) == done;  // [CO-done]
  }

  /// Registers the waiter, unless the child is done.
  [[nodiscard]] wait_duty begin_wait(Waiter& waiter) noexcept {
    static_assert(alignof(Waiter) > done, "the addresses of waiters must differ from the mark of the end");
    std::uintptr_t seen = pending;
    // release: the finisher sees the waiter as it is. [CO-waiter] pairs with finish()
    const bool registered = word_.compare_exchange_strong(seen, reinterpret_cast<std::uintptr_t>(&waiter),
                                                          std::memory_order_release,
                                                          std::memory_order_acquire);  // [CO-done]
    WEFT_ASSERT(registered || seen == done, "two wait for one completion");
    return registered ? wait_duty::wait : wait_duty::none;
  }

  /// Ends the child. Returns the waiter, who must be woken; null where nobody waits. The record may be gone.
  [[nodiscard]] Waiter* finish() noexcept {
    const std::uintptr_t before = Rules::end(word_, done);
    WEFT_ASSERT(before != done, "CO1: a child ends twice");
    return reinterpret_cast<Waiter*>(before);
  }

 private:
  static constexpr std::uintptr_t pending = 0;
  static constexpr std::uintptr_t done = 1;

  typename Platform::template atomic<std::uintptr_t> word_{pending};
};

}  // namespace weft::detail
