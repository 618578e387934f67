// SPDX-License-Identifier: Apache-2.0
//
// pace — how long sysmon sleeps between two looks: shortly while there is something to see, longer and longer while all is well, and for
// ever where nothing runs.
//
// Thread safety: none; it belongs to sysmon.
#pragma once

#include "base/clock.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace weft::impl {

/// What the last look has shown.
enum class sysmon_sight : std::uint8_t {
  nothing_runs,  ///< all workers of all contexts are idle
  all_is_well,   ///< some run, and none is stuck while work waits
  trouble,       ///< something is to be watched closely
  doubt,         ///< a second look is needed, soon
};

class pace {
 public:
  explicit constexpr pace(duration shortest) noexcept : shortest_(shortest), now_(shortest) {}

  /// How long to sleep until the next look; duration::max(): until somebody calls.
  [[nodiscard]] constexpr duration after(sysmon_sight seen) noexcept {
    if (seen != sysmon_sight::nothing_runs) idle_for_ = duration::zero();
    switch (seen) {
      case sysmon_sight::trouble:
        quiet_looks_ = 0;
        now_ = shortest_;
        return now_;
      case sysmon_sight::doubt:
        quiet_looks_ = 0;
        now_ = shortest_;
        return shortest_ / 4;
      case sysmon_sight::all_is_well:
        if (++quiet_looks_ > patience) now_ *= 2;
        now_ = std::min(now_, std::max(shortest_, longest_running));
        return now_;
      case sysmon_sight::nothing_runs: break;
    }
    if (idle_for_ >= longest_idle) {
      now_ = shortest_;
      quiet_looks_ = 0;
      idle_for_ = duration::zero();
      return duration::max();
    }
    now_ = std::min(2 * now_, longest_idle);
    idle_for_ += now_;
    return now_;
  }

 private:
  static constexpr std::uint32_t patience = 16;
  static constexpr duration longest_running = std::chrono::milliseconds(1);
  static constexpr duration longest_idle = std::chrono::milliseconds(20);

  const duration shortest_;
  duration now_;
  duration idle_for_ = duration::zero();
  std::uint32_t quiet_looks_ = 0;
};

}  // namespace weft::impl
