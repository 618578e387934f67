// SPDX-License-Identifier: Apache-2.0
//
// clock — the system's monotonic clock, behind the shape that base/clock.hpp defines.
#pragma once

#include "base/clock.hpp"

namespace weft::impl {

/// CLOCK_MONOTONIC: never goes back, stands still while the machine sleeps. Thread safety: any thread.
struct system_clock {
  [[nodiscard]] time_point now()
      const noexcept;  // NOLINT(readability-convert-member-functions-to-static): the seam
};
static_assert(clock_source<system_clock>);

}  // namespace weft::impl
