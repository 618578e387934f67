// SPDX-License-Identifier: Apache-2.0
//
// runnable — what queues hold, by the name that the library uses.
#pragma once

#include <weft/detail/runnable.hpp>

namespace weft::impl {

using detail::run_link;
using detail::run_link_word;
using detail::runnable;

}  // namespace weft::impl
