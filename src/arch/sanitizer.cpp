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
  }
#endif
#if WEFT_THREAD_SANITIZER
  state.fiber = __tsan_get_current_fiber();
#endif
}

}  // namespace weft::impl
