// SPDX-License-Identifier: Apache-2.0
//
// visitors — who is with a pool for a moment without being one of its own, and the task of another pool that waits for its end.
//
//     who ends what a task waits for                    who ends the pool
//       visit: count_in();                                ... the last task has ended ...
//         make the task runnable, tell its pool           while (any()) give way;
//       count_out();
//
// [PO-visit] Who makes a task runnable from outside still has to tell the pool of it; but that task may be the last that the pool
// has waited for. So it is counted in before the task can run, and the pool goes when nobody is counted. The push that follows
// shows the count to whoever runs the task, and its end to whoever waits for the last end.
//
//     who finds that all have ended                     the task that waits for that
//       visit: count_in(); light barrier;                 expect(self); heavy barrier; look whether all have ended; wait
//         if (who_drains()) wake it                       at the end: withdraw(): take oneself away, heavy barrier;
//       count_out();                                      while (any()) give way; now the task may end
//
// [PO-drainer] Either the visitor finds nobody, or the task sees that a visitor is there, and goes on when it is gone.
//
// Thread safety: any thread; one task at a time waits.
#pragma once

#include "base/cache_line.hpp"
#include "sys/platform.hpp"

#include <cstdint>

namespace weft::impl {

/// What makes the protocol hold. A test that wants to see it break derives from this and changes one line.
struct visitor_rules {
  static constexpr bool visitor_has_barrier = true;
  static constexpr bool drainer_has_barrier = true;
  static constexpr std::memory_order leave = std::memory_order_release;
  static constexpr std::memory_order look = std::memory_order_acquire;
};

template <class Platform, class Task, class Rules = visitor_rules>
class basic_visitors {
 public:
  explicit basic_visitors(barrier_kind barriers) noexcept : barriers_(barriers) {}

  /// While it lives, so does the pool, and so does the task that is found here.
  class visit {
   public:
    explicit visit(basic_visitors& with) noexcept : with_(with) { with_.count_in(); }
    visit(const visit&) = delete;
    visit& operator=(const visit&) = delete;
    ~visit() { with_.count_out(); }

    /// The task that waits for the end of all, or null.
    [[nodiscard]] Task* who_drains() const noexcept {
      return with_.drainer_.load(std::memory_order_acquire);  // [PO-note] pairs with expect()
    }

   private:
    basic_visitors& with_;
  };

  /// Whether somebody is there. If not, whoever was is done.
  [[nodiscard]] bool any() const noexcept { return count_.load(Rules::look) != 0; }  // [PO-gone]

  /// A task waits; what a visitor needs to wake it was written before. A heavy barrier is to follow, and then a look whether there is
  /// anything to wait for.
  void expect(Task& self) noexcept { drainer_.store(&self, std::memory_order_release); }  // [PO-note]
  /// It waits no more. From now on no visitor finds it; one that has may still be there.
  void withdraw() noexcept {
    drainer_.store(nullptr, std::memory_order_relaxed);  // relaxed: the barrier orders it
    if constexpr (Rules::drainer_has_barrier) Platform::heavy_barrier(barriers_);  // [PO-drainer]
  }

 private:
  void count_in() noexcept {
    count_.fetch_add(1, std::memory_order_relaxed);  // relaxed: shown by what follows
    if constexpr (Rules::visitor_has_barrier) Platform::light_barrier(barriers_);  // [PO-drainer]
  }
  void count_out() noexcept { count_.fetch_sub(1, Rules::leave); }  // [PO-gone] pairs with any()

  const barrier_kind barriers_;
  typename Platform::template atomic<Task*> drainer_{nullptr};
  alignas(contended_bytes) typename Platform::template atomic<std::uint32_t> count_{0};
};

}  // namespace weft::impl
