// SPDX-License-Identifier: Apache-2.0

#include "arch/eh_globals.hpp"

#include <cxxabi.h>

namespace weft::impl {

exception_state& thread_exception_state() noexcept {
  return *reinterpret_cast<exception_state*>(abi::__cxa_get_globals());
}

}  // namespace weft::impl
