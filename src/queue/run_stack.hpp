// SPDX-License-Identifier: Apache-2.0
//
// run_stack — one word onto which anybody puts runnables and from which anybody takes all of them.
//
// An inbox is this word and a loop, and so is the way home of task records. What is taken is a *pile*: runnables
// linked newest first, the last link empty. turned_over() makes a batch of it, oldest first.
//
// Putting is one compare-and-swap that looks at nothing behind the word, and taking is one exchange that leaves
// nothing behind. So there is no moment at which a thread relies on what an element it does not own links to: the
// ABA problem has nothing to stand on, elements may come back at once, and their memory may go.
//
// Thread safety: any thread.
// Invariants:   S1  the word is the newest of a pile that belongs to nobody, or empty
//               S2  only the thread that has taken a pile follows its links
// Protocol:     README.md, "One word"
#pragma once

#include "base/runnable.hpp"
#include "queue/run_batch.hpp"
#include "sys/platform.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace weft::impl {

/// The memory orders of a run_stack; a model weakens them one by one to see that each is needed.
struct run_stack_orders {
  static constexpr std::memory_order publish = std::memory_order_release;
  static constexpr std::memory_order take = std::memory_order_acquire;
};

template <class Platform, class Orders = run_stack_orders>
class basic_run_stack {
  using link = run_link<Platform>;

 public:
  basic_run_stack() noexcept = default;
  basic_run_stack(const basic_run_stack&) = delete;
  basic_run_stack& operator=(const basic_run_stack&) = delete;
  ~basic_run_stack() { WEFT_ASSERT(empty(), "S1: a queue was destroyed with runnables still in it"); }

  /// Puts a chain on top: `first`, whose links lead to `last`. Never waits.
  ///
  /// Returns: whether there was nothing before. Afterwards the chain may be gone: it belongs to whoever takes it.
  bool push(runnable first, runnable last) noexcept {
    // relaxed, here and on failure: the word is only copied and compared, never followed.
    std::uintptr_t before = top_.load(std::memory_order_relaxed);
    for (;;) {
      link::of(last).next.write(runnable::from_word(before));
      // [ST-publish] pairs with take_all(): who takes the chain sees its links, and what they lead to.
      if (top_.compare_exchange_weak(before, first.word(), Orders::publish, std::memory_order_relaxed)) {
        return before == 0;
      }
    }
  }

  /// The same for a chain that somebody has made as a batch; it is taken to be linked newest first.
  bool push(basic_run_batch<Platform>&& pile) noexcept {
    const runnable first = pile.first();
    const runnable last = pile.last();
    pile.forget();
    return push(first, last);
  }

  /// Takes everything, as a pile: newest first. Never waits.
  [[nodiscard]] runnable take_all() noexcept {
    // relaxed: a push that is not seen yet stays for the next one who looks.
    if (top_.load(std::memory_order_relaxed) == 0) return {};
    // [ST-publish] one exchange meets all pushes: each push extends the release sequence of those before it.
    return runnable::from_word(top_.exchange(0, Orders::take));
  }

  /// Whether nothing is there. Sees every push that the caller is ordered after, be it by a heavy barrier.
  [[nodiscard]] bool empty() const noexcept {
    // relaxed: nothing else is read on the strength of it.
    return top_.load(std::memory_order_relaxed) == 0;
  }

 private:
  typename Platform::template atomic<std::uintptr_t> top_{0};
};

/// Makes a batch of a pile: oldest first.
template <class Platform>
[[nodiscard]] basic_run_batch<Platform> turned_over(runnable pile) noexcept {
  basic_run_batch<Platform> batch;
  while (pile) {
    const runnable below = run_link<Platform>::of(pile).next.read();
    batch.push_front(pile);
    pile = below;
  }
  return batch;
}

/// The other way round: links a batch newest first, so that it can be pushed as a whole.
template <class Platform>
[[nodiscard]] basic_run_batch<Platform> turned_over(basic_run_batch<Platform>&& batch) noexcept {
  basic_run_batch<Platform> pile;
  while (!batch.empty()) pile.push_front(batch.pop_front());
  return pile;
}

}  // namespace weft::impl
