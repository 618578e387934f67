// SPDX-License-Identifier: Apache-2.0
//
// D1, skynet: a tree of a million leaves in which each node has ten children. A leaf gives its number, a node the sum of its
// children's. The figure is nanoseconds a leaf. With --quick the tree has 100,000 leaves.
#pragma once

#include "support/program.hpp"

#include <cstdint>
#include <string>

namespace weft::bench::skynet {

inline constexpr int fan_out = 10;

/// Measures sum(first, leaves), which gives the sum of the numbers of a tree whose first leaf has that number.
template <class Sum>
void run(const options& opts, const char* system, const char* version, Sum&& sum) {
  if (opts.workload != "D1") refuse("unknown workload", opts.workload);
  if (!opts.variant.empty()) refuse("unknown variant", opts.variant);
  const volatile std::int64_t leaves = opts.quick ? 100'000 : 1'000'000;
  const std::int64_t right = leaves * (leaves - 1) / 2;
  const double ns = ns_per_round(opts, [&] {
    std::int64_t value = 0;
    const std::int64_t taken = elapsed_ns([&] { value = sum(std::int64_t{0}, std::int64_t{leaves}); });
    if (value != right) fail("the sum is not " + std::to_string(value));
    return taken;
  });
  report(ns / static_cast<double>(leaves), "ns", system, version);
}

}  // namespace weft::bench::skynet
