// SPDX-License-Identifier: Apache-2.0
//
// route — where a task waits when it is ready: in which execution context, and there in a usual queue, in that of another
// priority, in that of one worker alone, or wherever the context itself puts it.
//
// Thread safety: as for any value.
#pragma once

#include <weft/spawn_options.hpp>

#include <cstdint>

namespace weft::impl {

/// Names an execution context while it lives, among all of the process. 0 names none.
using context_id = std::uint16_t;

class route {
 public:
  constexpr route() noexcept = default;
  constexpr explicit route(context_id home, priority lane = priority::normal) noexcept
      : word_(home | static_cast<std::uint32_t>(lane) << home_bits) {}

  /// One comparison that says: the same context, and as usual there.
  friend constexpr bool operator==(route, route) noexcept = default;

  [[nodiscard]] constexpr context_id home() const noexcept { return static_cast<context_id>(word_); }
  /// Nothing special.
  [[nodiscard]] constexpr bool is_usual() const noexcept { return word_ >> home_bits == 0; }
  [[nodiscard]] constexpr priority lane() const noexcept {
    return static_cast<priority>((word_ & lane_mask) >> home_bits);
  }
  /// Whether it goes on nowhere but on the worker that its fiber says.
  [[nodiscard]] constexpr bool is_pinned() const noexcept { return (word_ & pinned_bit) != 0; }

  /// Whether its context itself says when and where it runs (sched/arranged.cpp).
  [[nodiscard]] constexpr bool is_arranged() const noexcept { return (word_ & arranged_bit) != 0; }

  /// The same, but for one thing.
  [[nodiscard]] constexpr route pinned() const noexcept { return from_word(word_ | pinned_bit); }
  [[nodiscard]] constexpr route unpinned() const noexcept { return from_word(word_ & ~pinned_bit); }
  [[nodiscard]] constexpr route in(priority lane) const noexcept {
    return from_word((word_ & ~lane_mask) | static_cast<std::uint32_t>(lane) << home_bits);
  }
  [[nodiscard]] constexpr route arranged() const noexcept { return from_word(word_ | arranged_bit); }
  /// The usual way of another context, in the same lane.
  [[nodiscard]] constexpr route into(route usual) const noexcept {
    return from_word((word_ & lane_mask) | (usual.word_ & ~lane_mask));
  }

 private:
  static constexpr unsigned home_bits = 16;
  static constexpr std::uint32_t lane_mask = 3U << home_bits;
  static constexpr std::uint32_t pinned_bit = 4U << home_bits;
  static constexpr std::uint32_t arranged_bit = 8U << home_bits;
  static_assert(static_cast<std::uint32_t>(priority::normal) == 0 &&
                static_cast<std::uint32_t>(priority::low) <= lane_mask >> home_bits);

  [[nodiscard]] static constexpr route from_word(std::uint32_t word) noexcept {
    route made;
    made.word_ = word;
    return made;
  }

  std::uint32_t word_ = 0;  // the context in the low half, what is special above it
};

}  // namespace weft::impl
