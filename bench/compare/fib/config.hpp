// SPDX-License-Identifier: Apache-2.0
//
// A, fork-join: fib(38) by joining two calls, with no cut-off. The figure is the time divided by the number of calls, which
// are 126,491,971.
//
// With --quick it is fib(33). oneTBB and OpenMP take so long for a call that they compute fib(30), with --quick fib(26), and
// their time is divided by the calls of that. Variant `native` is the same program, compiled for the machine at hand.
#pragma once

#include "support/program.hpp"

#include <cstdint>
#include <string>

namespace weft::bench::fibonacci {

/// Which number is computed, by a system that can afford it and by one that is slow.
struct size {
  int full;
  int quick;
};
inline constexpr size usual{38, 33};
inline constexpr size small{30, 26};

/// What fib(n) is, and how many calls it takes.
struct answer {
  std::int64_t value;
  std::int64_t calls;
};

[[nodiscard]] constexpr answer answer_of(int n) {
  answer last{0, 1};
  answer now{1, 1};
  for (int i = 1; i < n; ++i) {
    const answer next{last.value + now.value, last.calls + now.calls + 1};
    last = now;
    now = next;
  }
  return now;
}
static_assert(answer_of(38).calls == 126'491'971 && answer_of(38).value == 39'088'169);

/// Measures fib(n), which is to compute what its name says.
template <class Fib>
void run(const options& opts, const char* system, const char* version, size of, Fib&& fib) {
  if (opts.workload != "A") refuse("unknown workload", opts.workload);
  if (opts.variant != "plain" && opts.variant != "native") refuse("unknown variant", opts.variant);
  const volatile int n = opts.quick ? of.quick : of.full;  // so that nothing is computed by the compiler
  const answer right = answer_of(n);
  const double ns = ns_per_round(opts, [&] {
    std::int64_t value = 0;
    const std::int64_t taken = elapsed_ns([&] { value = fib(n); });
    if (value != right.value) fail("fib(" + std::to_string(n) + ") is not " + std::to_string(value));
    return taken;
  });
  report(ns / static_cast<double>(right.calls), "ns", system, version);
}

}  // namespace weft::bench::fibonacci
