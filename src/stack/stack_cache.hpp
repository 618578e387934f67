// SPDX-License-Identifier: Apache-2.0
//
// stack_cache — a worker's own stacks, in front of the pool: no lock and no system call while it lasts.
//
// Newest first: the stack that was used last is the one whose memory is still in the processor's caches.
//
// Thread safety: none; it belongs to one worker.
// Invariants:   K1  at most `most` stacks of a size are kept; the oldest half leaves when there are more
#pragma once

#include "stack/stack_pool.hpp"

#include <array>
#include <cstddef>

namespace weft::impl {

template <platform Platform>
class basic_stack_cache {
 public:
  static constexpr std::size_t most = 64;
  static constexpr std::size_t batch = 16;

  explicit basic_stack_cache(basic_stack_pool<Platform>& pool) noexcept : pool_(pool) {}
  basic_stack_cache(const basic_stack_cache&) = delete;
  basic_stack_cache& operator=(const basic_stack_cache&) = delete;
  ~basic_stack_cache() { flush(); }

  /// Takes a guarded stack: from here, or by a batch from the pool (whose errors it passes on).
  [[nodiscard]] result<stack_slot*> take(stack_class asked) noexcept {
    const stack_class size_class = basic_stack_pool<Platform>::fitting(asked);
    slot_chain& mine = chains_[size_class.index()];
    if (mine.empty()) {
      // A large stack is rare, and warm memory of one is dear: no batches of those.
      const std::size_t wanted = size_class.bytes() <= stack_class::usual ? batch : 1;
      if (result<void> taken = pool_.take_batch(size_class, wanted, mine); !taken) return taken.error();
    }
    return mine.try_pop();
  }

  /// Gives a stack back. Nothing runs on it any more.
  void give(stack_slot& slot) noexcept {
    slot_chain& mine = chains_[slot.size_class.index()];
    mine.push(slot);
    if (mine.size() > most) keep_newest(mine, most / 2);  // K1
  }

  /// Gives everything back to the pool.
  void flush() noexcept {
    for (slot_chain& mine : chains_) keep_newest(mine, 0);
  }

  [[nodiscard]] std::size_t size(stack_class asked) const noexcept {
    return chains_[basic_stack_pool<Platform>::fitting(asked).index()].size();
  }

 private:
  void keep_newest(slot_chain& mine, std::size_t keep) noexcept {
    slot_chain newest;  // upside down, so that the newest ends on top again
    while (newest.size() < keep) newest.push(*mine.try_pop());
    while (stack_slot* slot = mine.try_pop()) pool_.give(*slot);
    while (stack_slot* slot = newest.try_pop()) mine.push(*slot);
  }

  basic_stack_pool<Platform>& pool_;
  std::array<slot_chain, stack_class::count> chains_;
};

using stack_cache = basic_stack_cache<default_platform>;

}  // namespace weft::impl
