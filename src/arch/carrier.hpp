// SPDX-License-Identifier: Apache-2.0
//
// carrier — an operating-system thread, as seen by the fibers that it carries.
//
// A thread that runs fibers attaches a carrier; whatever runs on the thread finds it by current_carrier().
//
// Thread-local state is reached only through that accessor. Compilers believe that a function stays on one
// thread: they keep the address of a thread_local over a switch, after which it is another thread's. The
// accessor is inline assembly that goes through the thread pointer afresh each time, which no compiler may
// keep. A pointer got from it is good until the next switch and not one instruction longer.
//
// Thread safety: a carrier belongs to the thread it is attached to.
#pragma once

#include "arch/context.hpp"
#include "arch/tls.hpp"

#include <weft/detail/worker_front.hpp>
#include <weft/error.hpp>
#include <weft/result.hpp>

namespace weft::impl {

struct carrier : detail::carrier_head {
  exception_state* exceptions = nullptr;  // the thread's __cxa_eh_globals
  bool keep_fp_control = false;           // whether the floating-point control words travel with contexts
  context* current = nullptr;             // which context runs on the thread now; &native for its own stack
  context native;                         // the thread's own stack, parked here while a fiber runs
};

/// The carrier attached to the thread that runs this now, or nullptr.
[[nodiscard]] WEFT_ALWAYS_INLINE carrier* current_carrier() noexcept {
  return static_cast<carrier*>(read_tls_slot());
}

/// Makes the calling thread one that carries fibers. One carrier a thread; detach it on the same thread.
///
/// Returns: errc::shadow_stack_active where the processor would kill the process at the first switch.
[[nodiscard]] result<void> attach(carrier& to_this_thread) noexcept;

/// Undoes attach(). The thread must be on its own stack.
void detach(carrier& from_this_thread) noexcept;

/// attach() and detach() as a scope; aborts where attach() fails.
class attached_carrier : public carrier {
 public:
  attached_carrier() noexcept {
    const result<void> attached = attach(*this);
    WEFT_CHECK(attached.has_value(), "this thread cannot carry fibers: a hardware shadow stack is active");
  }
  attached_carrier(const attached_carrier&) = delete;
  attached_carrier& operator=(const attached_carrier&) = delete;
  ~attached_carrier() { detach(*this); }
};

}  // namespace weft::impl
