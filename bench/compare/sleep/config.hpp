// SPDX-License-Identifier: Apache-2.0
//
// I, sleeping: 1,000,000 fibers each sleep for 0 to 1000 ms, spawned by one fiber and awaited. Variant `wall` is the time
// that takes, in seconds, `CPU` what the process has used of its processors meanwhile, user and system together.
//
// With --quick 200,000 sleep for 0 to 200 ms, so that as many wake in a millisecond. How long a fiber sleeps follows from its
// number, in the same way in all programs, to the nanosecond. Nobody may be through before the longest sleep is over.
#pragma once

#include "support/program.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>
#include <sys/resource.h>

namespace weft::bench::sleeping {

struct size {
  std::uint64_t fibers;
  std::chrono::nanoseconds longest;
};

[[nodiscard]] inline size chosen(const options& opts) {
  if (opts.workload != "I") refuse("unknown workload", opts.workload);
  if (opts.variant != "wall" && opts.variant != "CPU") refuse("unknown variant", opts.variant);
  return opts.quick ? size{200'000, std::chrono::milliseconds(200)}
                    : size{1'000'000, std::chrono::milliseconds(1000)};
}

/// How long fiber i sleeps: its number, well mixed (the finaliser of splitmix64).
[[nodiscard]] inline std::chrono::nanoseconds sleep_of(std::uint64_t i, std::chrono::nanoseconds longest) {
  std::uint64_t x = (i + 1) * 0x9E3779B97F4A7C15U;
  x = (x ^ (x >> 30U)) * 0xBF58476D1CE4E5B9U;
  x = (x ^ (x >> 27U)) * 0x94D049BB133111EBU;
  x ^= x >> 31U;
  return std::chrono::nanoseconds(x % static_cast<std::uint64_t>(longest.count()));
}

/// What this process has used of its processors so far, in seconds.
[[nodiscard]] inline double cpu_seconds() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

/// Measures sleep_all(), which has fiber i sleep for sleep_of(i) and returns when all have slept.
template <class SleepAll>
void run(const options& opts, const char* system, const char* version, SleepAll&& sleep_all) {
  const size of = chosen(opts);
  std::chrono::nanoseconds longest{0};
  for (std::uint64_t i = 0; i < of.fibers; ++i) longest = std::max(longest, sleep_of(i, of.longest));
  const double cpu_before = cpu_seconds();
  const std::int64_t taken = elapsed_ns(sleep_all);
  const double cpu = cpu_seconds() - cpu_before;
  if (taken < longest.count()) fail("all have slept after " + std::to_string(taken) + " ns");
  report(opts.variant == "CPU" ? cpu : 1e-9 * static_cast<double>(taken), "s", system, version);
}

}  // namespace weft::bench::sleeping
