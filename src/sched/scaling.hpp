// SPDX-License-Identifier: Apache-2.0
//
// scaling — how many workers a context gets beyond its own, when those are stuck while work waits.
//
// A worker is stuck that has made no progress for a while: it is *blocked* in the system, or *busy* with one task. One that is
// blocked uses no processor, so another takes its place at once. One that is busy does use one: another worker beside it makes
// nothing faster, but lets the others have their turn by the system's time slices. So that takes longer patience, and has a bound.
//
// Thread safety: as for any value.
#pragma once

#include "base/clock.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace weft::impl {

struct scaling_options {
  bool is_on = true;
  double growth = 0.5;  ///< of the workers there are, each time
  double most = 2.0;    ///< times its own number, those that are blocked not counted
  duration stuck_after = std::chrono::microseconds(250);
  duration busy_after =
      std::chrono::milliseconds(10);  ///< work must wait so long behind workers that compute
};

/// What a look at a context shows.
struct crew_look {
  std::uint32_t own = 1;      ///< workers that it shall have
  std::uint32_t there = 1;    ///< that it has
  std::uint32_t blocked = 0;  ///< of those, stuck in the system
  std::uint32_t busy = 0;     ///< of those, stuck with a task that computes
  bool somebody_is_idle = false;
  bool takes_turns = false;  ///< more than it shall have would be wrong
  duration work_waits =
      duration::zero();  ///< since when nobody comes for work that is there; zero: there is none
};

/// Why workers are added.
enum class scaling_reason : std::uint8_t { none, blocked, busy };
struct scaling_step {
  std::uint32_t add = 0;
  scaling_reason reason = scaling_reason::none;

  friend bool operator==(const scaling_step&, const scaling_step&) noexcept = default;
};

/// How many there may be, those that are blocked not counted.
[[nodiscard]] constexpr std::uint32_t most_running(const scaling_options& how,
                                                   const crew_look& seen) noexcept {
  return static_cast<std::uint32_t>(how.most * seen.own);
}

/// Whether there may be more than there are, if work waits for long enough.
[[nodiscard]] constexpr bool may_grow(const scaling_options& how, const crew_look& seen) noexcept {
  return how.is_on && !seen.takes_turns && seen.there - seen.blocked < most_running(how, seen);
}

/// What is to be done about it.
[[nodiscard]] constexpr scaling_step decide(const scaling_options& how, const crew_look& seen,
                                            std::uint32_t room) noexcept {
  if (!how.is_on || seen.takes_turns) return {};
  if (seen.work_waits == duration::zero() || seen.somebody_is_idle || seen.blocked + seen.busy == 0)
    return {};
  const std::uint32_t running = seen.there - seen.blocked;
  // Those that are not there for another reason come by themselves when there is work.
  const std::uint32_t replaced = running < seen.own ? std::min({seen.own - running, seen.blocked, room}) : 0;
  if (replaced != 0) return {replaced, scaling_reason::blocked};
  if (seen.busy == 0 || seen.work_waits < how.busy_after) return {};
  const std::uint32_t most = most_running(how, seen);
  const auto step = std::max(1U, static_cast<std::uint32_t>(how.growth * running));
  if (running >= most) return {};
  return {std::min({step, most - running, room}), scaling_reason::busy};
}

}  // namespace weft::impl
