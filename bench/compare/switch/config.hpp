// SPDX-License-Identifier: Apache-2.0
//
// B1, the raw switch: two stacks on one thread hand control back and forth, with no scheduler between them.
//
// Every program of this workload keeps to the same terms: one side is the thread's own stack, the other a
// stack of stack_bytes; the other side does nothing but switch back; a round trip is two switches and the
// figure is nanoseconds per switch. Variant `inline` is the switch as the library offers it at its best;
// variant `call` is the same switch behind one function that is not inlined, on both sides.
#pragma once

#include "support/program.hpp"

#include <cstddef>
#include <string>

namespace weft::bench::switching {

inline constexpr std::size_t stack_bytes = 64 * 1024;
inline constexpr double switches_per_round_trip = 2;

enum class variant { inlined, called };

/// The variant asked for; refuses another workload, another variant, and more than one thread.
[[nodiscard]] inline variant chosen(const options& opts) {
  if (opts.workload != "B1") refuse("unknown workload", opts.workload);
  if (opts.threads != 1) refuse("this workload runs on one thread, not on", std::to_string(opts.threads));
  if (opts.variant == "inline") return variant::inlined;
  if (opts.variant == "call") return variant::called;
  refuse("unknown variant", opts.variant);
}

/// Times `round_trips(n)`, which goes to the other stack and back n times, and reports the cost of one
/// switch.
template <class RoundTrips>
void run(const options& opts, const char* system, const char* version, RoundTrips&& round_trips) {
  report(ns_per_iteration(opts, round_trips) / switches_per_round_trip, "ns", system, version);
}

}  // namespace weft::bench::switching
