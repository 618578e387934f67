// SPDX-License-Identifier: Apache-2.0
//
// R2, waking: 1,000 fibers wait. One of them is woken, answers and waits again; then the next is. The figure is
// microseconds a round trip, from the one that asks to the one that is woken and back.
//
// All of them get their turn, in an order in which none comes after its neighbour; it is the same in all programs.
// Whoever asks looks at who has answered. In the end all are woken and waited for, and each must have had as many turns
// as the others.
#pragma once

#include "support/program.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

namespace weft::bench::waking {

inline constexpr std::size_t waiters = 1'000;

inline void check(const options& opts) {
  if (opts.workload != "R2") refuse("unknown workload", opts.workload);
  if (!opts.variant.empty()) refuse("unknown variant", opts.variant);
}

/// Whose turn it is after that of another.
[[nodiscard]] constexpr std::size_t after(std::size_t one) noexcept { return (one + 389) % waiters; }

/// Measures ask(i), which wakes fiber i, waits for the answer, and returns whose it was.
template <class Ask>
[[nodiscard]] double us_per_round_trip(const options& opts, std::uint64_t& asked, Ask&& ask) {
  std::size_t next = 0;
  const double ns = ns_per_iteration(opts, [&](std::uint64_t count) {
    for (std::uint64_t i = 0; i < count; ++i) {
      const std::size_t who = ask(next);
      if (who != next) fail(std::to_string(next) + " was asked, " + std::to_string(who) + " has answered");
      next = after(next);
    }
    asked += count;
  });
  return ns / 1000;
}

/// How many turns each of them has had, of so many.
inline void check_turns(const std::vector<std::uint64_t>& turns, std::uint64_t asked) {
  const auto [least, most] = std::minmax_element(turns.begin(), turns.end());
  const std::uint64_t all = std::accumulate(turns.begin(), turns.end(), std::uint64_t{0});
  if (all != asked || *most - *least > 1)
    fail(std::to_string(all) + " turns, " + std::to_string(*least) + " to " + std::to_string(*most) +
         " each, where " + std::to_string(asked) + " were asked for");
}

}  // namespace weft::bench::waking
