// SPDX-License-Identifier: Apache-2.0
//
// D1 for weft: the ten children of a node by joins of halves.
#include "compare/skynet/config.hpp"

#include <weft/join.hpp>
#include <weft/runtime.hpp>
#include <weft/version.hpp>

#include <cstdint>

namespace {

namespace bench = weft::bench;

std::int64_t sum(std::int64_t first, std::int64_t leaves);

/// The sum of `count` children that stand side by side, each with so many leaves.
std::int64_t sum_of_children(std::int64_t first, std::int64_t leaves, int count) {
  if (count == 1) return sum(first, leaves);
  const int half = count / 2;
  const auto [a, b] =
      weft::join([=] { return sum_of_children(first, leaves, half); },
                 [=] { return sum_of_children(first + half * leaves, leaves, count - half); });
  return a + b;
}

std::int64_t sum(std::int64_t first, std::int64_t leaves) {
  if (leaves == 1) return first;
  return sum_of_children(first, leaves / bench::skynet::fan_out, bench::skynet::fan_out);
}

}  // namespace

// NOLINTNEXTLINE(bugprone-exception-escape): without memory or threads the program may as well end
int main(int argc, char** argv) {
  const bench::options opts = bench::parse(argc, argv);
  const weft::runtime_options how{.workers = static_cast<std::uint32_t>(opts.threads)};
  return weft::run([&] { bench::skynet::run(opts, "weft", WEFT_VERSION_STRING, sum); }, how);
}
