// SPDX-License-Identifier: Apache-2.0
//
// cache_line — how far apart things must lie so that writing one does not slow down readers of the other.
#pragma once

#include <cstddef>

namespace weft::detail {

/// Two lines of 64 bytes: x86-64 fetches lines in pairs, and large aarch64 cores have lines of 128. A constant of our
/// own, because std::hardware_destructive_interference_size changes with -mtune, and layouts must not.
inline constexpr std::size_t cache_line = 128;

}  // namespace weft::detail
