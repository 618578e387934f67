// SPDX-License-Identifier: Apache-2.0
//
// stack_class — the sizes stacks come in: powers of two from 8 KiB to 8 MiB, 256 KiB unless asked otherwise.
//
// The size is address space; memory is what a fiber touches. The guard below each stack is address space too.
#pragma once

#include <weft/error.hpp>
#include <weft/result.hpp>

#include <bit>
#include <compare>
#include <cstddef>
#include <cstdint>

namespace weft::impl {

/// One of the sizes, as a small number fit for an array index.
class stack_class {
 public:
  static constexpr std::size_t smallest = std::size_t{8} << 10U;
  static constexpr std::size_t largest = std::size_t{8} << 20U;
  static constexpr std::size_t usual = std::size_t{256} << 10U;
  static constexpr std::size_t count = 11;

  /// The class of the usual size.
  constexpr stack_class() noexcept : stack_class(index_of(usual)) {}

  /// The smallest class that holds `bytes`.
  ///
  /// Returns: errc::invalid_stack_size below 8 KiB or above 8 MiB.
  [[nodiscard]] static result<stack_class> holding(std::size_t bytes) noexcept {
    if (bytes < smallest || bytes > largest) return errc::invalid_stack_size;
    return stack_class(index_of(bytes));
  }

  /// The class with this index, below `count`.
  [[nodiscard]] static constexpr stack_class at(std::size_t index) noexcept {
    return stack_class(static_cast<std::uint8_t>(index));
  }

  [[nodiscard]] constexpr std::size_t index() const noexcept { return index_; }
  [[nodiscard]] constexpr std::size_t bytes() const noexcept { return smallest << index_; }
  // NOLINTNEXTLINE(modernize-use-nullptr): version 14 takes the comparison with 0 in it for a pointer's
  constexpr auto operator<=>(const stack_class&) const noexcept = default;

 private:
  explicit constexpr stack_class(std::uint8_t index) noexcept : index_(index) {}
  static constexpr std::uint8_t index_of(std::size_t bytes) noexcept {
    return static_cast<std::uint8_t>(std::countr_zero(std::bit_ceil(bytes)) - std::countr_zero(smallest));
  }

  std::uint8_t index_;
};
static_assert(stack_class().bytes() == stack_class::usual);
static_assert(stack_class::at(stack_class::count - 1).bytes() == stack_class::largest);

/// The guard below each stack. GCC's stack-clash protection probes every 4 KiB on x86-64, but assumes on
/// aarch64 that whatever lies below a stack is at least 64 KiB wide and probes no smaller frame at all.
#if !defined(__x86_64__)
inline constexpr std::size_t guard_bytes = std::size_t{64} << 10U;  // also the largest page there is
#else
inline constexpr std::size_t guard_bytes = std::size_t{16} << 10U;
#endif

}  // namespace weft::impl
