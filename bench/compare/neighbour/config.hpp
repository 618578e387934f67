// SPDX-License-Identifier: Apache-2.0
//
// R3, a noisy neighbour: twice as many tasks as there are workers compute, each 50 ms at a time without giving way,
// again and again. Beside them a task sleeps for a millisecond, over and over, for a second (with --quick: 0.3 s). The
// figure is by how many microseconds it was late: half of the times by no more (median), and never by more (worst).
//
// Those that compute take as many steps each time, whatever time that is, and yield in between. They end with that
// second, so that nobody is later by much more than it.
#pragma once

#include "support/program.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace weft::bench::neighbour {

using steady = std::chrono::steady_clock;

inline void check(const options& opts) {
  if (opts.workload != "R3") refuse("unknown workload", opts.workload);
  if (opts.variant != "median" && opts.variant != "worst") refuse("unknown variant", opts.variant);
}

/// About 50 ms on a machine of 3.2 GHz: as in C, but longer.
[[nodiscard]] inline std::uint64_t computed() noexcept {
  std::uint64_t x = 1;
  for (int i = 0; i < 40'000'000; ++i) {
    x = x * 6364136223846793005U + 1442695040888963407U;
    asm volatile("" : "+r"(x));
  }
  return x;
}

/// One run: those that compute, and how late the one beside them is. The clock starts when it is made.
class contest {
 public:
  explicit contest(const options& opts)
      : noisy_tasks_(2 * static_cast<std::size_t>(opts.threads)),
        end_(steady::now() + std::chrono::milliseconds(opts.quick ? 300 : 1000)) {}
  [[nodiscard]] std::size_t noisy_tasks() const noexcept { return noisy_tasks_; }

  /// What each of those does.
  template <class Yield>
  void make_noise(Yield&& yield) {
    do {
      if (computed() != expected_) fail("something else was computed than before");
      pieces_.fetch_add(1, std::memory_order_relaxed);
      yield();
    } while (steady::now() < end_);
  }

  /// What the other does, which is woken by sleep_until(time).
  template <class SleepUntil>
  void watch(SleepUntil&& sleep_until) {
    while (steady::now() < end_) {
      const auto due = steady::now() + std::chrono::milliseconds(1);
      sleep_until(due);
      const auto late = steady::now() - due;
      if (late < steady::duration::zero()) fail("it was woken too early");
      all_.push_back(late);
    }
  }

  /// When all have ended.
  void report(const options& opts, const char* system, const char* version) {
    if (pieces_.load() < noisy_tasks_)
      fail("only " + std::to_string(pieces_.load()) + " pieces were computed");
    if (all_.empty()) fail("it was never woken");
    std::sort(all_.begin(), all_.end());
    const auto asked = opts.variant == "worst" ? all_.back() : all_[all_.size() / 2];
    report_with_note(std::chrono::duration<double, std::micro>(asked).count(), "us", system, version,
                     "woken " + std::to_string(all_.size()) + " times");
  }

 private:
  const std::size_t noisy_tasks_;
  const std::uint64_t expected_ = computed();
  const steady::time_point end_;  // after the first computation, which is not part of it
  std::atomic<std::size_t> pieces_{0};
  std::vector<steady::duration> all_;
};

}  // namespace weft::bench::neighbour
