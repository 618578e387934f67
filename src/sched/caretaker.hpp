// SPDX-License-Identifier: Apache-2.0
//
// caretaker — when a worker that has nothing to do gives memory back.
//
// After something has run, one of the idle workers wakes up once, a moment later: it marks the fibers that wait, and lets free
// stacks go that are too many. A second later it comes again, and trims the stacks of those that have not moved since. Then
// nothing happens until something runs. All others sleep undisturbed.
//
// Thread safety: any worker.
// Invariants:   CT1  at most one worker is on duty
#pragma once

#include "base/clock.hpp"
#include "sys/platform.hpp"

#include <atomic>
#include <chrono>
#include <cstdint>

namespace weft::impl {

/// What is to be done.
enum class chore : std::uint8_t { nothing, mark, trim };

class caretaker {
 public:
  /// A worker is about to sleep, and has run something before or not. Returns when it shall wake up: never, unless it is on
  /// duty now. Then it tells by end().
  [[nodiscard]] time_point begin(bool has_run, time_point now) noexcept {
    // relaxed, all of it: nothing is handed over, and a chore may be done late, twice or for nothing.
    if (has_run) due_.store(chore::mark, std::memory_order_relaxed);
    const chore due = due_.load(std::memory_order_relaxed);
    if (due == chore::nothing || on_duty_.exchange(true, std::memory_order_relaxed)) return never;  // CT1
    return now + (due == chore::mark ? mark_after : trim_after);
  }

  /// Whoever was on duty is awake: because its time has come, or for another reason. Returns what it is to do.
  [[nodiscard]] chore end(bool has_come) noexcept {
    const chore due = has_come ? due_.load(std::memory_order_relaxed) : chore::nothing;
    if (due != chore::nothing)
      due_.store(due == chore::mark ? chore::trim : chore::nothing, std::memory_order_relaxed);
    on_duty_.store(false, std::memory_order_relaxed);
    return due;
  }

 private:
  static constexpr duration mark_after = std::chrono::milliseconds(50);
  static constexpr duration trim_after = std::chrono::seconds(1);

  default_platform::atomic<chore> due_{chore::nothing};
  default_platform::atomic<bool> on_duty_{false};
};

}  // namespace weft::impl
