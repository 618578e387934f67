// SPDX-License-Identifier: Apache-2.0
//
// text — a line of text made without memory, locks or locale, fit for signal handlers and dying processes.
//
// Thread safety: one line belongs to one thread.
// Invariants:   T1  length_ <= capacity: what does not fit is cut, never overrun
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace weft::impl {

/// Collects up to 1 KiB of text; longer text is cut. Async-signal-safe throughout.
class text_line {
 public:
  text_line& operator<<(std::string_view text) noexcept {
    for (char c : text) put(c);
    return *this;
  }

  text_line& operator<<(const char* text) noexcept {
    return *this << std::string_view(text ? text : "(null)");
  }

  text_line& operator<<(std::uint64_t number) noexcept {
    char digits[20];
    std::size_t n = 0;
    do {
      digits[n++] = static_cast<char>('0' + number % 10);
      number /= 10;
    } while (number != 0);
    while (n != 0) put(digits[--n]);
    return *this;
  }

  text_line& operator<<(std::uint32_t number) noexcept { return *this << std::uint64_t{number}; }

  text_line& operator<<(std::int32_t number) noexcept {
    if (number >= 0) return *this << static_cast<std::uint64_t>(number);
    put('-');
    return *this << (std::uint64_t{0} - static_cast<std::uint64_t>(std::int64_t{number}));
  }

  [[nodiscard]] std::string_view view() const noexcept { return {characters_, length_}; }

 private:
  void put(char c) noexcept {
    if (length_ < sizeof characters_) characters_[length_++] = c;  // T1
  }

  std::size_t length_ = 0;
  char characters_[1024];
};

/// Appends a size the way people write it: "256 KiB" where it is a whole number of KiB, else bytes.
inline text_line& append_size(text_line& line, std::uint64_t bytes) noexcept {
  if (bytes % 1024 != 0 || bytes == 0) return line << bytes << " bytes";
  return line << bytes / 1024 << " KiB";
}

}  // namespace weft::impl
