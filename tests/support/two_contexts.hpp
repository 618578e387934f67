// SPDX-License-Identifier: Apache-2.0
//
// two_contexts — the calling thread and one other context on a stack from the heap: the least that can switch.
#pragma once

#include "arch/switch.hpp"

#include <cstdlib>

namespace weft::testing {

struct two_contexts {
  using function = void (*)(two_contexts&);
  static constexpr std::size_t stack_bytes = std::size_t{256} << 10U;

  explicit two_contexts(function other) : run(other), memory(std::aligned_alloc(4096, stack_bytes)) {
    impl::make_context(there, memory, stack_bytes, &entry, this);
  }
  two_contexts(const two_contexts&) = delete;
  two_contexts& operator=(const two_contexts&) = delete;
  ~two_contexts() {
    impl::forget_context(there);
    std::free(memory);
  }

  /// From the thread to the other context, until it comes back.
  WEFT_SWITCHES void over() {
    impl::switch_context<impl::switch_edge::ordered>(*impl::current_carrier(), here(), there);
  }

  /// From the other context back to the thread.
  WEFT_SWITCHES void back() {
    impl::switch_context<impl::switch_edge::ordered>(*impl::current_carrier(), there, here());
  }

  impl::context& here() { return carrier.native; }

  impl::attached_carrier carrier;
  impl::context there;
  function run;
  void* memory;
  long seen = 0;

 private:
  static void entry(void* raw) {
    auto& self = *static_cast<two_contexts*>(raw);
    impl::begin_context(self.there);
    self.run(self);
    self.leave();
  }

  [[noreturn]] WEFT_SWITCHES void leave() {
    impl::switch_for_good<impl::switch_edge::ordered>(*impl::current_carrier(), there, here());
  }
};

}  // namespace weft::testing
