// SPDX-License-Identifier: Apache-2.0
//
// cache_line — how far apart things must lie so that two processors do not fight over them.
//
// Constants of our own: std::hardware_destructive_interference_size changes with the compiler's tuning flags, and
// with it the layout of types that several translation units share.
#pragma once

#include <cstddef>

namespace weft::detail {

/// What processors move between their caches at a time. Records that one worker uses begin on one.
inline constexpr std::size_t cache_line_bytes = 64;

/// What keeps a word that many processors write from slowing down its neighbours: two lines, since Intel's
/// prefetchers fetch lines in pairs, and some aarch64 processors have lines of that size.
inline constexpr std::size_t contended_bytes = 128;

}  // namespace weft::detail
