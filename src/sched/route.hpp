// SPDX-License-Identifier: Apache-2.0
//
// route — which queue a task waits in when it is ready: a usual one, that of another priority, or that of one worker alone.
//
// Thread safety: belongs to whoever has the task: who spawns it, runs it, or has claimed its wait.
#pragma once

#include <weft/spawn_options.hpp>

#include <cstdint>

namespace weft::impl {

class route {
 public:
  constexpr route() noexcept = default;
  constexpr explicit route(priority lane) noexcept : bits_(static_cast<std::uint8_t>(lane)) {}

  /// One look that says: nothing special.
  [[nodiscard]] constexpr bool is_usual() const noexcept { return bits_ == 0; }

  [[nodiscard]] constexpr priority lane() const noexcept { return static_cast<priority>(bits_ & lane_mask); }

  /// Whether it goes on nowhere but on the worker that its fiber says.
  [[nodiscard]] constexpr bool is_pinned() const noexcept { return (bits_ & pinned) != 0; }
  constexpr void pin() noexcept { bits_ |= pinned; }
  constexpr void unpin() noexcept { bits_ &= lane_mask; }

 private:
  static constexpr std::uint8_t lane_mask = 3;
  static constexpr std::uint8_t pinned = 4;
  static_assert(static_cast<std::uint8_t>(priority::normal) == 0 &&
                static_cast<std::uint8_t>(priority::low) <= lane_mask);

  std::uint8_t bits_ = 0;
};

}  // namespace weft::impl
