// SPDX-License-Identifier: Apache-2.0
//
// top_word — the old end of a deque, by the names that the library uses.
#pragma once

#include <weft/detail/top_word.hpp>

namespace weft::impl {

using detail::index_distance;
using detail::index_gap;
using detail::thief_id;
using detail::top_word;

}  // namespace weft::impl
