// SPDX-License-Identifier: Apache-2.0
//
// overflow — a fiber that runs past the end of its stack is named, and then the policy decides.
//
// The guard below the stack faults; the handler runs on an alternate stack of the thread, finds the stack by
// the address, prints who ran on it (name, id, where it was spawned), how large it is and a backtrace, and
// calls the policy. Without one the process aborts. Every other fault goes to whoever handled it before.
//
// Thread safety: any thread. The handler is async-signal-safe: it takes no lock and allocates nothing, and what
//                the backtrace needs is loaded when the handler is installed.
#pragma once

#include "arch/carrier.hpp"
#include "stack/stack_slot.hpp"

#include <weft/result.hpp>

#include <csignal>
#include <cstddef>
#include <pthread.h>

namespace weft::impl {

/// What is known about an overflow. Lives as long as the policy runs.
struct overflow_event {
  const stack_slot* stack;
  const stack_owner* owner;  // may be null
  const void* fault;         // the address that was touched
  void* signal_context;      // the handler's third argument
};

/// What becomes of the thread.
enum class overflow_verdict : unsigned char {
  abort,     ///< the process ends
  diverted,  ///< it goes on elsewhere: see divert()
};

/// Runs in the fault handler, after the report.
using overflow_policy = overflow_verdict (*)(const overflow_event& event) noexcept;

/// Sets the policy; nullptr means abort. Returns the one before.
overflow_policy set_overflow_policy(overflow_policy policy) noexcept;

/// Installs the fault handler; once per process is enough, and more does no harm.
///
/// Returns: why the system refused.
[[nodiscard]] result<void> install_overflow_handler() noexcept;

/// The stack on which the calling thread handles faults, for as long as this lives. A thread needs one before
/// it runs fibers: the fiber's own stack is the one that is full.
class alternate_stack {
 public:
  alternate_stack() noexcept = default;
  alternate_stack(const alternate_stack&) = delete;
  alternate_stack& operator=(const alternate_stack&) = delete;
  ~alternate_stack() { remove(); }

  /// Gets the memory for it, by anyone: then it can be installed without fail.
  ///
  /// Returns: why there was none.
  [[nodiscard]] result<void> reserve() noexcept;
  /// Installs it on the calling thread, which must also be the one to remove it.
  ///
  /// Returns: why there was no memory for it.
  [[nodiscard]] result<void> install() noexcept;

  /// Puts back whatever was there before.
  void remove() noexcept;

 private:
  void put_back() noexcept;

  void* memory_ = nullptr;
  std::size_t bytes_ = 0;
  bool is_installed_ = false;
  pthread_t thread_{};
  stack_t before_{};
};

/// The calling thread, fit to run fibers: a carrier, and a stack to handle their faults on. Aborts where there
/// is no memory for that, or where fibers cannot run at all.
class fiber_thread {
 public:
  fiber_thread() noexcept { WEFT_CHECK(faults_.install().has_value(), "no memory for an alternate stack"); }

  [[nodiscard]] impl::carrier& carrier() noexcept { return carrier_; }

 private:
  attached_carrier carrier_;
  alternate_stack faults_;
};

}  // namespace weft::impl
