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

/// The same in one word: 48 bits for the file's name, 16 for the line (which stops counting there).
class packed_site {
 public:
  constexpr packed_site() noexcept = default;
  explicit packed_site(source_site site) noexcept
      : word_(reinterpret_cast<std::uintptr_t>(site.file) |
              std::uint64_t{site.line > 0xffff ? 0xffff : site.line} << 48U) {}

  [[nodiscard]] source_site get() const noexcept {
    return {reinterpret_cast<const char*>(word_ & 0xffff'ffff'ffffU),
            static_cast<std::uint32_t>(word_ >> 48U)};
  }

 private:
  std::uint64_t word_ = 0;
};

}  // namespace weft::detail
