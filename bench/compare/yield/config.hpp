// SPDX-License-Identifier: Apache-2.0
//
// B2, yielding: two fibers on one worker give way to each other through the scheduler. The figure is nanoseconds a switch;
// a round trip is two.
//
//   one site   both yield from the same place in the program
//   two sites  each from a place of its own
//   deep       each from a place of its own, three calls below its loop
//
// It matters because a processor guesses where a jump goes from where it came from the last time. Both fibers have been
// started before time is taken; one of them takes it, and yields as often as it is asked to, the other until it is told
// to stop.
#pragma once

#include "support/program.hpp"

#include <cstdint>
#include <limits>
#include <string>

namespace weft::bench::yielding {

/// Keeps a call from becoming the last thing its caller does, which would take the frame away; and functions of different
/// sites from becoming one, because they look alike.
template <int Site>
inline void keep_frame() noexcept {
  asm volatile("" : : "i"(Site));
}

template <class Yield, int Site>
[[gnu::noinline]] void third_frame() {
  Yield{}();
  keep_frame<Site>();
}
template <class Yield, int Site>
[[gnu::noinline]] void second_frame() {
  third_frame<Yield, Site>();
  keep_frame<Site>();
}
template <class Yield, int Site>
[[gnu::noinline]] void first_frame() {
  second_frame<Yield, Site>();
  keep_frame<Site>();
}

/// One place that yields, `most` times or until it is told to stop; returns how often. Each number is another place.
template <class Yield, int Site, bool Deep>
[[gnu::noinline]] std::uint64_t yield_from(std::uint64_t most, const volatile bool& stop) {
  std::uint64_t count = 0;
  for (; count < most && !stop; ++count) {
    if constexpr (Deep) {
      first_frame<Yield, Site>();
    } else {
      Yield{}();
    }
    keep_frame<Site>();
  }
  return count;
}

using place = std::uint64_t (*)(std::uint64_t most, const volatile bool& stop);
struct places {
  place asking;
  place answering;
};

template <class Yield>
[[nodiscard]] places chosen(const options& opts) {
  if (opts.workload != "B2") refuse("unknown workload", opts.workload);
  if (opts.threads != 1) refuse("this workload runs on one thread, not on", std::to_string(opts.threads));
  if (opts.variant == "one site") return {&yield_from<Yield, 1, false>, &yield_from<Yield, 1, false>};
  if (opts.variant == "two sites") return {&yield_from<Yield, 1, false>, &yield_from<Yield, 2, false>};
  if (opts.variant == "deep") return {&yield_from<Yield, 1, true>, &yield_from<Yield, 2, true>};
  refuse("unknown variant", opts.variant);
}

/// Measures in the calling fiber. start(f) starts f() as another fiber of the same worker, and returns something to join.
template <class Yield, class Start>
void run(const options& opts, const char* system, const char* version, Start&& start) {
  const places at = chosen<Yield>(opts);
  volatile bool stop = false;
  volatile bool started = false;
  std::uint64_t asked = 0;
  std::uint64_t answered = 0;
  auto other = start([&] {
    started = true;
    answered = at.answering(std::numeric_limits<std::uint64_t>::max(), stop);
  });
  while (!started) Yield{}();
  const double ns = ns_per_iteration(opts, [&](std::uint64_t count) { asked += at.asking(count, stop); });
  stop = true;
  other.join();
  if (answered + 2 < asked || asked + 2 < answered)
    fail(std::to_string(asked) + " yields of one, " + std::to_string(answered) + " of the other");
  report(ns / 2, "ns", system, version);
}

}  // namespace weft::bench::yielding
