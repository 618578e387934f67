// SPDX-License-Identifier: Apache-2.0

#include "sys/fork.hpp"

#include <pthread.h>

namespace weft::impl {

bool watch_forks(void (*before)(), void (*in_parent)(), void (*in_child)()) noexcept {
  return ::pthread_atfork(before, in_parent, in_child) == 0;
}

}  // namespace weft::impl
