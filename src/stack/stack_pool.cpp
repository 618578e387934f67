// SPDX-License-Identifier: Apache-2.0

#include "stack/stack_pool.hpp"

namespace weft::impl {

template class basic_stack_pool<default_platform>;

}  // namespace weft::impl
