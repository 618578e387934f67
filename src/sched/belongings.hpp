// SPDX-License-Identifier: Apache-2.0
//
// belongings — what a task, or a plain thread, carries with it: its fiber_local values, and its context.
#pragma once

#include "sys/platform.hpp"

#include <weft/fiber_local.hpp>
#include <weft/task_context.hpp>

#include <atomic>
#include <cstdint>
#include <utility>
#include <vector>

namespace weft::impl {

using detail::context_node;
using detail::local_slot;

/// The values of fiber_local variables, by their numbers.
class local_values {
 public:
  local_values() noexcept = default;
  local_values(const local_values&) = delete;
  local_values& operator=(const local_values&) = delete;
  ~local_values() { clear(); }

  [[nodiscard]] local_slot& at(std::uint32_t number) {
    if (number >= slots_.size()) slots_.resize(std::size_t{number} + 1);
    return slots_[number];
  }

  /// Destroys them, the newest variable's first. One whose end makes another is looked at again.
  void clear() noexcept {
    while (!slots_.empty()) {
      const local_slot last = slots_.back();
      slots_.pop_back();
      if (last.value != nullptr) last.destroy(last.value);
    }
  }

 private:
  std::vector<local_slot> slots_;
};

/// One owner more of a context, or none.
inline context_node* share_context(context_node* shared) noexcept {
  // relaxed: the caller has it already.
  if (shared != nullptr) shared->owners.fetch_add(1, std::memory_order_relaxed);
  return shared;
}

/// One owner less. A value that nobody has any more goes, and with it its hold on those around it.
inline void drop_context(context_node* dropped) noexcept {
  while (dropped != nullptr) {
    // release: what was done with the value comes before its end; acquire: for who ends it. [BL-owners]
    if (dropped->owners.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
    context_node* const outer = dropped->outer;
    dropped->destroy(*dropped);
    dropped = outer;
  }
}

/// A task's innermost value, and a lock in its lowest bit: who takes the second half of a join looks for the context that the join
/// was made in, while the task may be going in and out of further ones.
class context_word {
 public:
  /// By the task, or who has it alone.
  [[nodiscard]] context_node* get() const noexcept {
    return node_in(word_.load(std::memory_order_relaxed));  // relaxed: its own
  }
  /// The same. What was there before is the caller's, and nobody looks at it any more.
  void set(context_node* innermost) noexcept {
    lock();
    unlock(innermost);
  }

  /// By anyone: shares the innermost value that is not `further_in(value)`.
  template <class FurtherIn>
  [[nodiscard]] context_node* share_around(FurtherIn&& further_in) noexcept {
    context_node* const innermost = lock();
    context_node* at = innermost;
    while (at != nullptr && further_in(*at)) at = at->outer;
    share_context(at);
    unlock(innermost);
    return at;
  }

 private:
  static constexpr std::uintptr_t locked = 1;
  [[nodiscard]] static context_node* node_in(std::uintptr_t word) noexcept {
    return reinterpret_cast<context_node*>(word & ~locked);
  }

  context_node* lock() noexcept {
    std::uintptr_t seen = word_.load(std::memory_order_relaxed);
    for (;;) {
      // acquire: what whoever had it before did. [BL-lock]
      const bool ours =
          (seen & locked) == 0 && word_.compare_exchange_weak(seen, seen | locked, std::memory_order_acquire,
                                                              std::memory_order_relaxed);
      if (ours) return node_in(seen);
      default_platform::sleeper::yield();  // it is held for a few loads
      seen = word_.load(std::memory_order_relaxed);
    }
  }
  void unlock(context_node* innermost) noexcept {
    word_.store(reinterpret_cast<std::uintptr_t>(innermost),
                std::memory_order_release);  // [BL-lock] pairs with lock()
  }

  default_platform::atomic<std::uintptr_t> word_{0};
};

}  // namespace weft::impl
