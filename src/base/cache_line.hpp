// SPDX-License-Identifier: Apache-2.0
//
// cache_line — the distances of <weft/detail/cache_line.hpp>, by the names that the library uses.
#pragma once

#include <weft/detail/cache_line.hpp>

namespace weft::impl {

using detail::cache_line_bytes;
using detail::contended_bytes;

}  // namespace weft::impl
