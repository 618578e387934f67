// SPDX-License-Identifier: Apache-2.0
//
// global_queue — the queue of an execution context: unbounded, first in, first out, open to everybody.
//
// A line of runnables, each linked to the one behind it. Who pushes exchanges the word for the newest, which never
// waits, and then links the one it found there to its own. Taking is for one thread at a time: the word for the
// oldest is the lock. A taker exchanges it for nothing, walks along up to n links, and puts the next one back;
// others who come meanwhile are told that the queue is busy and go elsewhere.
//
// Thread safety: any thread.
// Invariants:   Q1  what was pushed comes out exactly once, in the order in which the pushes exchanged newest_
//               Q2  newest_ is nothing exactly while the queue is empty: everything pushed has been taken
//               Q3  oldest_ is the oldest, or nothing: while a taker has it, while its pusher is about to put it there,
//                   or while the queue is empty
//               Q4  a runnable is not taken before its link is known to stay as it is: it leads on, or newest_
//                   was that runnable and is nothing now
// Protocol:     README.md, "The global queue"
#pragma once

#include "base/cache_line.hpp"
#include "queue/run_batch.hpp"
#include "sys/platform.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace weft::impl {

/// The memory orders of a global queue; a model weakens them one by one to see that each is needed.
struct global_queue_orders {
  static constexpr std::memory_order join = std::memory_order_acq_rel;
  static constexpr std::memory_order publish = std::memory_order_release;
  static constexpr std::memory_order follow = std::memory_order_acquire;
  static constexpr std::memory_order take = std::memory_order_acquire;
  static constexpr std::memory_order put_back = std::memory_order_release;
  static constexpr std::memory_order finish = std::memory_order_release;
};

/// How an attempt to take ended.
enum class take_outcome : std::uint8_t {
  taken,  ///< there is at least one runnable
  empty,  ///< there was nothing
  busy,   ///< somebody else is taking, or about to finish a push: look elsewhere and come back, do not sleep
};

template <class Platform, class Orders = global_queue_orders>
class basic_global_queue {
  using link = run_link<Platform>;

 public:
  using batch = basic_run_batch<Platform>;

  /// What an attempt to take has brought.
  struct taking {
    batch items;
    take_outcome outcome = take_outcome::empty;
    bool left_some = false;  ///< there is more: whoever wakes others has reason to
  };

  basic_global_queue() noexcept = default;
  basic_global_queue(const basic_global_queue&) = delete;
  basic_global_queue& operator=(const basic_global_queue&) = delete;
  ~basic_global_queue() {
    WEFT_ASSERT(empty(), "Q2: a global queue was destroyed with runnables still in it");
  }

  /// Adds a runnable. Never waits, allocates nothing.
  void push(runnable added) noexcept { push_chain(added, added); }

  /// Adds a whole batch, in its order, at the cost of one.
  void push(batch&& added) noexcept {
    if (added.empty()) return;
    const runnable first = added.first();
    const runnable last = added.last();
    added.forget();
    push_chain(first, last);
  }

  /// Takes up to `n` of the oldest. Never waits.
  [[nodiscard]] taking try_take(std::size_t n) noexcept {
    WEFT_ASSERT(n != 0, "nothing was asked of a global queue");
    const runnable oldest = take_oldest();
    if (!oldest) return {.items = {}, .outcome = empty() ? take_outcome::empty : take_outcome::busy};
    taking result;
    const runnable rest = walk(oldest, n, result.items);
    if (rest) oldest_.store(rest.word(), Orders::put_back);  // [GQ-oldest] pairs with take_oldest()
    result.left_some = static_cast<bool>(rest);
    result.outcome = result.items.empty() ? take_outcome::busy : take_outcome::taken;
    return result;
  }

  /// Whether it holds that one and nothing else, or somebody is taking from it just now; as far as one can tell.
  [[nodiscard]] bool holds_only_approx(runnable one) const noexcept {
    // relaxed: a hint
    if (newest_.load(std::memory_order_relaxed) != one.word()) return false;
    const std::uintptr_t oldest = oldest_.load(std::memory_order_relaxed);
    return oldest == one.word() || oldest == 0;
  }

  /// Whether there is nothing: no runnable whose push the caller is ordered after, be it by a heavy barrier as for an
  /// inbox, and that nobody has taken.
  [[nodiscard]] bool empty() const noexcept {
    // relaxed: by Q2 one word says it all, and nothing else is read on the strength of it.
    return newest_.load(std::memory_order_relaxed) == 0;
  }

 private:
  void push_chain(runnable first, runnable last) noexcept {
    link::of(last).next.write({});
    // [GQ-join] orders all pushes: the empty link above is written before the next one to push leads it on. It also
    // pairs with the exchange in take_last(): oldest_ was emptied before it is filled again below.
    const auto before = runnable::from_word(newest_.exchange(last.word(), Orders::join));
    if (before) {
      // Not taken out by us, but it cannot go before it leads on (Q4). Afterwards it may be gone.
      link::of(before).next.publish(first, Orders::publish);  // [GQ-link] pairs with walk()
    } else {
      oldest_.store(first.word(), Orders::publish);  // [GQ-oldest] pairs with take_oldest()
    }
  }

  // The oldest, and with it the right to take; nothing where there is none, or somebody else has it.
  [[nodiscard]] runnable take_oldest() noexcept {
    // relaxed: a guess; the exchange decides.
    if (oldest_.load(std::memory_order_relaxed) == 0) return {};
    return runnable::from_word(oldest_.exchange(0, Orders::take));  // [GQ-oldest]
  }

  // Takes up to n runnables, from `first` on. Returns the one that is the oldest then, to be put back; nothing if
  // the queue was left empty, and then oldest_ is its pushers' again.
  [[nodiscard]] runnable walk(runnable first, std::size_t n, batch& taken) noexcept {
    runnable at = first;
    runnable last;
    std::size_t count = 0;
    while (at && count < n) {
      const runnable next = link::of(at).next.follow(Orders::follow);  // [GQ-link]
      if (!next && !take_last(at)) break;  // a pusher is between its two steps: left for the next taker
      last = at;
      ++count;
      at = next;
    }
    if (count != 0) taken = batch::of_chain(first, last, count);
    return at;
  }

  // Takes the newest out, if that is `last`: from then on the queue is empty (Q2).
  [[nodiscard]] bool take_last(runnable last) noexcept {
    std::uintptr_t expected = last.word();
    // [GQ-join] release: oldest_ has been emptied before.
    return newest_.compare_exchange_strong(expected, 0, Orders::finish, std::memory_order_relaxed);
  }

  // Written by pushers.
  alignas(contended_bytes) typename Platform::template atomic<std::uintptr_t> newest_{0};
  // Written by takers, and by who pushes into an empty queue.
  alignas(contended_bytes) typename Platform::template atomic<std::uintptr_t> oldest_{0};
};

using global_queue = basic_global_queue<default_platform>;

}  // namespace weft::impl
