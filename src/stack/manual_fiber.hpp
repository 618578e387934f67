// SPDX-License-Identifier: Apache-2.0
//
// manual_fiber — a stack with a function on it, resumed and paused by hand.
//
// Below the scheduler there is nobody to decide what runs next; here the caller does. It is what the tests of
// the lower floors, the tour and the benchmarks stand on, and shows how the pieces fit together.
//
//     manual_fiber fiber(pool, stack_class(), {.id = 1, .name = "counter"}, [](manual_fiber& self) {
//       for (;;) self.pause();
//     });
//     fiber.resume();
//
// Thread safety: one thread at a time, which must carry fibers (attached_carrier); handing the fiber to another
//                thread between two resumes is the caller's to synchronise.
// Invariants:   M1  resume() and pause() alternate; a finished fiber is not resumed
#pragma once

#include "arch/switch.hpp"
#include "stack/stack_pool.hpp"

#include <functional>

namespace weft::impl {

class manual_fiber {
 public:
  using function = std::function<void(manual_fiber&)>;

  /// Makes a fiber that is ready to be resumed. Aborts where there is no stack for it.
  manual_fiber(stack_pool& pool, stack_class size_class, const stack_owner& owner, function body);
  manual_fiber(const manual_fiber&) = delete;
  manual_fiber& operator=(const manual_fiber&) = delete;

  /// A fiber that is not finished is abandoned: no destructor of what lives on its stack runs.
  ~manual_fiber();

  /// Runs the fiber until it pauses or finishes. Returns whether it has finished.
  WEFT_SWITCHES bool resume() noexcept;

  /// Called on the fiber: returns to whoever resumed it, and comes back at the next resume().
  WEFT_SWITCHES void pause() noexcept;

  [[nodiscard]] bool finished() const noexcept { return finished_; }
  [[nodiscard]] stack_slot& stack() noexcept { return slot_; }
  [[nodiscard]] const context& parked_context() const noexcept { return context_; }

 private:
  static void run(void* raw);
  [[noreturn]] WEFT_SWITCHES void finish() noexcept;

  stack_pool& pool_;
  stack_slot& slot_;
  const stack_owner owner_;
  function body_;
  context context_;
  bool running_ = false;
  bool finished_ = false;
};

}  // namespace weft::impl
