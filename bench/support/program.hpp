// SPDX-License-Identifier: Apache-2.0
//
// What every benchmark program shares: its command line, its clock, and the one line it prints.
//
// A program measures one workload for one system. The driver (bench/run.py) calls it once per repetition as
//
//     PROGRAM --workload B1 --variant inline --threads 1 [--quick]
//
// and the program prints one line of JSON through report(). It does not repeat itself to find a best figure:
// repeating, choosing and judging are the driver's. A command line it cannot follow ends it with exit code 2
// and a sentence on stderr.
#pragma once

#include <charconv>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <system_error>
#include <utility>

namespace weft::bench {

struct options {
  std::string workload;
  std::string variant;
  int threads = 1;
  bool quick = false;
};

/// Ends the program because its command line asks for something it does not measure.
[[noreturn]] inline void refuse(const char* why, const std::string& value) {
  std::fprintf(stderr, "%s: '%s'\n", why, value.c_str());
  std::_Exit(2);  // nothing to flush: stderr is not buffered
}

[[nodiscard]] inline int parse_threads(const std::string& text) {
  int count = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (error != std::errc{} || end != text.data() + text.size() || count < 1)
    refuse("not a thread count", text);
  return count;
}

/// Reads the command line; refuses anything but the four options above.
[[nodiscard]] inline options parse(int argc, char** argv) {
  options parsed;
  for (int i = 1; i < argc; ++i) {
    const std::string name = argv[i];
    if (name == "--quick") {
      parsed.quick = true;
      continue;
    }
    if (name != "--workload" && name != "--variant" && name != "--threads") refuse("unknown option", name);
    if (++i == argc) refuse("no value after option", name);
    if (name == "--workload") parsed.workload = argv[i];
    if (name == "--variant") parsed.variant = argv[i];
    if (name == "--threads") parsed.threads = parse_threads(argv[i]);
  }
  return parsed;
}

/// Ends the program because what it measured came out wrong: a figure for a wrong answer means nothing.
[[noreturn]] inline void fail(const std::string& what) {
  std::fprintf(stderr, "wrong result: %s\n", what.c_str());
  std::_Exit(1);
}

/// Prints the line the driver reads. The texts are plain names and versions: nothing in them needs escaping. Heavy
/// barriers are reported where they are part of the question; a negative number means that they are not.
inline void report(double value, const char* unit, const char* system, const char* version,
                   double heavy_barriers_per_s = -1) {
  std::printf("{\"value\": %.6g, \"unit\": \"%s\", \"system\": \"%s\", \"version\": \"%s\"", value, unit,
              system, version);
  if (heavy_barriers_per_s >= 0) std::printf(", \"heavy_barriers_per_s\": %.6g", heavy_barriers_per_s);
  std::printf("}\n");
}

/// The same, with a remark that is shown beside the figure.
inline void report_with_note(double value, const char* unit, const char* system, const char* version,
                             const std::string& note) {
  std::printf(
      "{\"value\": %.6g, \"unit\": \"%s\", \"system\": \"%s\", \"version\": \"%s\", \"note\": \"%s\"}\n",
      value, unit, system, version, note.c_str());
}

/// Nanoseconds one call of `body` takes. For a problem of a fixed size.
template <class Body>
[[nodiscard]] std::int64_t elapsed_ns(Body&& body) {
  const auto start = std::chrono::steady_clock::now();
  std::forward<Body>(body)();
  const auto taken = std::chrono::steady_clock::now() - start;
  return std::chrono::duration_cast<std::chrono::nanoseconds>(taken).count();
}

/// What the timed run below aims at. The noise guard counts in ticks of 10 ms, so much less would leave it
/// blind.
[[nodiscard]] inline std::int64_t target_ns(const options& opts) {
  return opts.quick ? 250'000'000 : 500'000'000;
}

/// Nanoseconds one iteration takes, where body(n) performs n of them: one timed run of about target_ns.
///
/// The count is found by running ever longer until a run is long enough to extrapolate from; those runs also
/// warm the caches. Only the last run counts. There is no floating point before it has ended, on purpose:
/// arithmetic sets sticky flags in MXCSR, and a context switch that saves and restores MXCSR (as
/// Boost.Context does) takes fifteen times as long between two stacks whose flags differ.
template <class Body>
[[nodiscard]] double ns_per_iteration(const options& opts, Body&& body) {
  const std::int64_t target = target_ns(opts);
  std::uint64_t count = 64;
  std::int64_t taken = elapsed_ns([&] { body(count); });
  while (taken < target / 16) {
    count *= 4;
    taken = elapsed_ns([&] { body(count); });
  }
  if (taken < target) count = count * static_cast<std::uint64_t>(16 * target / taken) / 16;
  taken = elapsed_ns([&] { body(count); });
  return static_cast<double>(taken) / static_cast<double>(count);
}

/// Nanoseconds one round takes, for a problem of a fixed size. round() works through the problem once, checks the answer,
/// and returns how long it took without the check. The first round warms up; then come as many as fill some time.
template <class Round>
[[nodiscard]] double ns_per_round(const options& opts, Round&& round) {
  const std::int64_t target = opts.quick ? 80'000'000 : 500'000'000;
  static_cast<void>(round());
  std::int64_t taken = 0;
  std::uint64_t rounds = 0;
  for (; taken < target; ++rounds) taken += round();
  return static_cast<double>(taken) / static_cast<double>(rounds);
}

}  // namespace weft::bench
