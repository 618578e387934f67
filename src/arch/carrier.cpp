// SPDX-License-Identifier: Apache-2.0

#include "arch/carrier.hpp"

#include "arch/shadow_stack.hpp"

namespace weft::impl {

result<void> attach(carrier& to_this_thread) noexcept {
  WEFT_CHECK(current_carrier() == nullptr, "the thread carries fibers already: one carrier a thread");
  if (shadow_stack_active()) return errc::shadow_stack_active;
  to_this_thread.exceptions = &thread_exception_state();
  describe_thread(to_this_thread.native.sanitizers);
  to_this_thread.current = &to_this_thread.native;
  write_tls_slot(&to_this_thread);
  return {};
}

void detach(carrier& from_this_thread) noexcept {
  WEFT_CHECK(current_carrier() == &from_this_thread,
             "a carrier is detached on the thread it was attached to");
  WEFT_CHECK(from_this_thread.current == &from_this_thread.native,
             "a carrier is detached on the thread's own stack");
  write_tls_slot(nullptr);
  forget_thread(from_this_thread.native.sanitizers);
  from_this_thread.exceptions = nullptr;
}

}  // namespace weft::impl
