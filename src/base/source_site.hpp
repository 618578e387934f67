// SPDX-License-Identifier: Apache-2.0
//
// source_site — a place in somebody's source, by the name that weft's insides know it by.
#pragma once

#include <weft/detail/source_site.hpp>

namespace weft::impl {
using detail::source_site;
}  // namespace weft::impl
