// SPDX-License-Identifier: Apache-2.0
//
// usage — how deep a stack was used, and giving back or erasing what lies below the part in use.
//
// The depth is measured by paint: the free part of a stack is filled with a pattern, and later the lowest word
// that changed tells how deep somebody went. Only pages that have memory already are painted and read, so that
// measuring a stack never makes it larger; a page that was swapped out is overlooked. Painting is done for every n-th user of a stack, not for all.
//
// Thread safety: whoever owns the stack; nothing else runs on the part below `in_use`.
#pragma once

#include "stack/stack_slot.hpp"
#include "sys/platform.hpp"

#include <weft/result.hpp>

#include <cstddef>
#include <cstdint>

namespace weft::impl {

/// What lies below a stack pointer and may still be in use: the red zone of x86-64, and room for luck.
inline constexpr std::size_t red_zone_bytes = 128;

/// Fills the free part of a stack below `in_use` with the pattern, as far as it has memory behind it.
void paint_below(stack_slot& slot, const void* in_use) noexcept;

/// How many bytes from the top have been used since the last paint_below, at least. Keeps the maximum in
/// slot.deepest.
std::size_t measure_depth(stack_slot& slot, const void* in_use) noexcept;

/// Gives the memory below `in_use` back to the kernel: for a stack whose fiber will be parked for long.
///
/// Returns: how many bytes of address space have no memory behind them now, or why the kernel refused.
[[nodiscard]] result<std::size_t> trim_below(stack_slot& slot, const void* in_use) noexcept;

/// Erases what is left below `in_use`, so that the next task on the stack cannot find what the last one left:
/// whole pages go back to the kernel, swapped-out ones too, and come back as zeros; the rest is overwritten.
///
/// Returns: why the kernel refused to take pages back; then nothing was erased.
[[nodiscard]] result<void> scrub_below(stack_slot& slot, const void* in_use) noexcept;

/// Decides which users of a stack are measured: the first, and every n-th after it. Owner only.
class depth_sampler {
 public:
  explicit constexpr depth_sampler(std::uint32_t every) noexcept : every_(every) {}

  /// Counts a user; returns whether this one is to be painted for and measured. Never, if n is zero.
  [[nodiscard]] constexpr bool next_is_sampled() noexcept {
    if (every_ == 0) return false;
    const bool sampled = counter_ == 0;
    counter_ = counter_ + 1 == every_ ? 0 : counter_ + 1;
    return sampled;
  }

 private:
  std::uint32_t every_;
  std::uint32_t counter_ = 0;
};

}  // namespace weft::impl
