// SPDX-License-Identifier: Apache-2.0
//
// inbox — where others leave runnables for a worker: remote wake-ups, tasks placed in turn.
//
// Anybody pushes, and never waits; the worker drains it, and so may a thief, since a worker that is long at one
// task must not keep what was left at its door. Whoever drains takes everything that is there, oldest first.
//
// Thread safety: any thread.
// Invariants:   I1  what was pushed comes out exactly once, in one batch
//               I2  batches follow one another, and each is in order: of two pushes, the one that was first comes
//                   out first, or before the other in the same batch
// Protocol:     README.md, "The inbox"
#pragma once

#include "base/cache_line.hpp"
#include "queue/run_batch.hpp"
#include "queue/run_stack.hpp"

#include <utility>

namespace weft::impl {

/// `Stack` is what holds the runnables; only models and tests, which plant faults, name another one.
template <class Platform, class Stack = basic_run_stack<Platform>>
class alignas(contended_bytes) basic_inbox {
 public:
  using batch = basic_run_batch<Platform>;

  /// Leaves a runnable. Never waits, allocates nothing.
  ///
  /// Returns: whether the inbox was empty before, so that this push is the one to see about waking somebody.
  bool push(runnable left) noexcept { return arrived_.push(left, left); }

  /// Leaves a whole batch by one compare-and-swap, after turning it over, which takes time linear in its size.
  ///
  /// Returns: as above; false for an empty batch.
  bool push(batch&& left) noexcept { return !left.empty() && arrived_.push(turned_over(std::move(left))); }

  /// Takes everything there is, oldest first. Costs one load where there is nothing.
  [[nodiscard]] batch drain() noexcept { return turned_over<Platform>(arrived_.take_all()); }

  /// Whether there is nothing, as far as this thread has heard: good enough to decide where to look for work.
  [[nodiscard]] bool empty_approx() const noexcept { return arrived_.empty(); }

  /// Whether there is nothing. Between announcing that it goes to sleep and this look, the caller has passed a heavy
  /// barrier, and pushers pass a light one between push() and their look for sleepers: then a push that is not
  /// seen here is by a pusher who sees the sleeper.
  [[nodiscard]] bool empty_after_barrier() const noexcept { return arrived_.empty(); }

 private:
  Stack arrived_;
};

using inbox = basic_inbox<default_platform>;

}  // namespace weft::impl
