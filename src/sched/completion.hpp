// SPDX-License-Identifier: Apache-2.0
//
// completion — the end of a child, by the names that the library uses. It lies among the public headers because join is
// inline.
#pragma once

#include "sys/platform.hpp"

#include <weft/detail/completion.hpp>

namespace weft::impl {

using detail::basic_completion;
using detail::completion_rules;
using detail::wait_duty;

}  // namespace weft::impl
