// SPDX-License-Identifier: Apache-2.0
//
// source_site — a place in somebody's source, to be named in reports.
//
// std::source_location would do, but clang 14 has none with libstdc++; the builtins beneath it are everywhere.
#pragma once

#include <cstdint>

namespace weft::detail {

struct source_site {
  const char* file = nullptr;  // null where the place is not known
  std::uint32_t line = 0;

  /// The place of the call, when used as a default argument.
  static constexpr source_site current(const char* file = __builtin_FILE(),
                                       std::uint32_t line = __builtin_LINE()) noexcept {
    return {file, line};
  }
};

}  // namespace weft::detail
