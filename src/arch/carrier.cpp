// SPDX-License-Identifier: Apache-2.0

#include "arch/carrier.hpp"

#include "arch/shadow_stack.hpp"

namespace weft::impl {

result<void> attach(carrier& to_this_thread) noexcept {
  WEFT_CHECK(current_carrier() == nullptr, "the thread carries fibers already: one carrier a thread");
  if (shadow_stack_active()) return errc::shadow_stack_active;
  to_this_thread.exceptions = &thread_exception_state();
  describe_thread(to_this_thread.native.sanitizers);
  write_tls_slot(&to_this_thread);
  return {};
}

void detach(carrier& from_this_thread) noexcept {
  WEFT_CHECK(current_carrier() == &from_this_thread,
             "a carrier is detached on the thread it was attached to");
  write_tls_slot(nullptr);
  from_this_thread.exceptions = nullptr;
}

}  // namespace weft::impl
