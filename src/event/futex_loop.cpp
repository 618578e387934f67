// SPDX-License-Identifier: Apache-2.0

#include "event/futex_loop.hpp"

namespace weft::impl {

template class basic_futex_loop<default_platform>;

}  // namespace weft::impl
