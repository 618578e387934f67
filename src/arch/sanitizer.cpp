// SPDX-License-Identifier: Apache-2.0

#include "arch/sanitizer.hpp"

#if WEFT_ADDRESS_SANITIZER
#include <pthread.h>
#endif

namespace weft::impl {

void describe_thread([[maybe_unused]] sanitizer_state& state) noexcept {
#if WEFT_ADDRESS_SANITIZER
  pthread_attr_t attributes;
  if (pthread_getattr_np(pthread_self(), &attributes) == 0) {
    void* low = nullptr;
    std::size_t size = 0;
    pthread_attr_getstack(&attributes, &low, &size);
    pthread_attr_destroy(&attributes);
    state.low = low;
    state.size = size;
    __lsan_register_root_region(low, size);  // it is not scanned while a fiber runs
  }
#endif
#if WEFT_THREAD_SANITIZER
  state.fiber = __tsan_get_current_fiber();
#endif
}

void forget_thread([[maybe_unused]] sanitizer_state& state) noexcept {
#if WEFT_ADDRESS_SANITIZER
  if (state.low != nullptr) __lsan_unregister_root_region(state.low, state.size);
  state = {};
#endif
}

#if WEFT_ADDRESS_SANITIZER
namespace {

// The fake stack of an abandoned context is freed by leaving that context for good, which only it could do. So
// AddressSanitizer is told that this thread goes there and leaves at once, while really nothing moves.
__attribute__((no_sanitize("address"))) void free_fake_stack(sanitizer_state& state) noexcept {
  void* ours = nullptr;
  const void* our_low = nullptr;
  std::size_t our_size = 0;
  __sanitizer_start_switch_fiber(&ours, state.low, state.size);
  __sanitizer_finish_switch_fiber(state.fake_stack, &our_low, &our_size);
  __sanitizer_start_switch_fiber(nullptr, our_low, our_size);
  __sanitizer_finish_switch_fiber(ours, nullptr, nullptr);
  state.fake_stack = nullptr;
}

}  // namespace
#endif

void forget_context([[maybe_unused]] sanitizer_state& state) noexcept {
#if WEFT_ADDRESS_SANITIZER
  if (state.low != nullptr) {
    if (state.fake_stack != nullptr) free_fake_stack(state);
    __lsan_unregister_root_region(state.low, state.size);
    // Frames that will never return have left their marks, and the memory goes to somebody else.
    __asan_unpoison_memory_region(state.low, state.size);
  }
  state = {};
#endif
#if WEFT_THREAD_SANITIZER
  if (state.fiber != nullptr) __tsan_destroy_fiber(state.fiber);
  state.fiber = nullptr;
#endif
}

}  // namespace weft::impl
