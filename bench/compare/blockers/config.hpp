// SPDX-License-Identifier: Apache-2.0
//
// R1, blockers: 100 tasks block their threads for 20 ms each, in a system call. Meanwhile the one that has spawned them
// spawns 1,000 children that do next to nothing, and awaits each of them before it spawns the next. The figure is
// microseconds a child.
//
//   plain  they block as if there was nothing to it, and the system has to notice
//   told   they say so before, by what the system has for that
//
// The one that spawns gives way once between the two, so that it finds its worker blocked if that is what happens. Time
// is taken from the first of the 100 to the last of the 1,000; that all of the 100 have come back is waited for each
// time, and not timed. The first round does not count.
#pragma once

#include "support/program.hpp"

#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <string>

namespace weft::bench::blocking {

inline constexpr std::size_t blockers = 100;
inline constexpr std::size_t children = 1'000;

[[nodiscard]] inline bool is_told(const options& opts) {
  if (opts.workload != "R1") refuse("unknown workload", opts.workload);
  if (opts.variant != "plain" && opts.variant != "told") refuse("unknown variant", opts.variant);
  return opts.variant == "told";
}

/// Blocks the thread for 20 ms.
inline void block() noexcept {
  timespec left{.tv_sec = 0, .tv_nsec = 20'000'000};
  while (::nanosleep(&left, &left) != 0 && errno == EINTR) {
  }
}

/// What a round has come to.
struct outcome {
  std::int64_t taken_ns = 0;
  std::size_t blocked = 0;
  std::size_t answered = 0;
};

/// Measures round(), for as many rounds as fit into some time.
template <class Round>
void run(const options& opts, const char* system, const char* version, Round&& round) {
  const auto checked = [&] {
    const outcome of = round();
    if (of.blocked != blockers) fail(std::to_string(of.blocked) + " of 100 have come back");
    if (of.answered != children) fail(std::to_string(of.answered) + " of 1000 children have run");
    return of.taken_ns;
  };
  static_cast<void>(checked());
  const auto end = std::chrono::steady_clock::now() + std::chrono::nanoseconds(target_ns(opts));
  std::int64_t taken = 0;
  std::size_t rounds = 0;
  for (; rounds == 0 || std::chrono::steady_clock::now() < end; ++rounds) taken += checked();
  report(1e-3 * static_cast<double>(taken) / static_cast<double>(rounds * children), "us", system, version);
}

}  // namespace weft::bench::blocking
