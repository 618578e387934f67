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
//               CT2  when all sleep and something has run since the last marking began, one of them is on duty
#pragma once

#include "base/clock.hpp"
#include "sys/platform.hpp"

#include <atomic>
#include <chrono>
#include <cstdint>

namespace weft::impl {

/// What is to be done.
enum class chore : std::uint8_t { nothing, mark, trim };

/// What makes the protocol hold. A test that wants to see it break derives from this and changes one line.
struct caretaker_rules {
  /// What is due and whether somebody is on duty change together, in one step.
  template <class Word>
  [[nodiscard]] static bool change(Word& word, std::uint32_t& seen, std::uint32_t next) noexcept {
    // acq_rel: who comes to mark finds those waiting that had run before. [CT-ran] pairs with itself
    return word.compare_exchange_weak(seen, next, std::memory_order_acq_rel, std::memory_order_relaxed);
  }
};

template <class Platform, class Rules = caretaker_rules>
class basic_caretaker {
 public:
  /// A worker is about to sleep, and has run something before or not. Returns when it shall wake up: never, unless it is on
  /// duty now. Then it tells by end().
  [[nodiscard]] time_point begin(bool has_run, time_point now) noexcept {
    std::uint32_t seen = word_.load(std::memory_order_relaxed);  // relaxed: the exchange decides
    for (;;) {
      const chore due = has_run ? chore::mark : due_in(seen);
      const bool is_ours = due != chore::nothing && (seen & on_duty) == 0;
      // relaxed: whoever is on duty, or has seen to it that nothing is due, comes by here again and relies on nobody.
      if (!has_run && !is_ours) return never;
      // Also where nothing changes: so that what has run is seen.
      if (!Rules::change(word_, seen, static_cast<std::uint32_t>(due) | on_duty)) continue;
      if (!is_ours) return never;  // CT1
      return now + (due == chore::mark ? mark_after : trim_after);
    }
  }

  /// Whoever was on duty is awake: because its time has come, or for another reason. Returns what it is to do.
  [[nodiscard]] chore end(bool has_come) noexcept {
    std::uint32_t seen = word_.load(std::memory_order_relaxed);  // relaxed: the exchange decides
    for (;;) {
      const chore due = due_in(seen);
      const chore next = has_come ? after(due) : due;
      if (Rules::change(word_, seen, static_cast<std::uint32_t>(next)))
        return has_come ? due : chore::nothing;
    }
  }

 private:
  static constexpr duration mark_after = std::chrono::milliseconds(50);
  static constexpr duration trim_after = std::chrono::seconds(1);
  static constexpr std::uint32_t on_duty = 4;  // beside the chore that is due

  [[nodiscard]] static constexpr chore due_in(std::uint32_t word) noexcept {
    return static_cast<chore>(word & ~on_duty);
  }
  [[nodiscard]] static constexpr chore after(chore done) noexcept {
    return done == chore::mark ? chore::trim : chore::nothing;
  }

  typename Platform::template atomic<std::uint32_t> word_{0};
};

using caretaker = basic_caretaker<default_platform>;

}  // namespace weft::impl
