// SPDX-License-Identifier: Apache-2.0
//
// words — a small value as whole words, the form in which lock-free queues hold it.
//
// A queue may have to read a value that another thread is overwriting, and to throw away what it read. As a T that
// would be a data race, and a torn T may not even be a T; as words, each of them atomic, it is nothing.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace weft::detail {

/// The largest value a queue takes; queue a pointer to what is larger.
inline constexpr std::size_t queued_bytes_max = 64;

/// What lock-free queues can hold.
template <class T>
concept queueable =
    std::is_trivially_copyable_v<T> && std::is_copy_constructible_v<T> && !std::is_const_v<T> &&
    !std::is_volatile_v<T> && sizeof(T) <= queued_bytes_max;  // arrays cannot be copied, so none of them

/// Enough words for a T.
template <queueable T>
using words_of = std::array<std::uint64_t, (sizeof(T) + sizeof(std::uint64_t) - 1) / sizeof(std::uint64_t)>;

/// The value as words; what it does not fill is zero.
template <queueable T>
[[nodiscard]] words_of<T> to_words(const T& value) noexcept {
  words_of<T> words{};
  std::memcpy(words.data(), &value, sizeof(T));
  return words;
}

/// The value again. Only for words that were one value: not before it is certain that nobody tore them.
template <queueable T>
[[nodiscard]] T from_words(const words_of<T>& words) noexcept {
  std::array<std::byte, sizeof(T)> bytes{};
  std::memcpy(bytes.data(), words.data(), sizeof(T));
  return std::bit_cast<T>(bytes);
}

}  // namespace weft::detail
