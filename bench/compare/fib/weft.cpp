// SPDX-License-Identifier: Apache-2.0
//
// A for weft: join().
#include "compare/fib/config.hpp"

#include <weft/join.hpp>
#include <weft/runtime.hpp>
#include <weft/version.hpp>

#include <cstdint>

namespace {

namespace bench = weft::bench;

std::int64_t fib(int n) {
  if (n < 2) return n;
  const auto [a, b] = weft::join([=] { return fib(n - 1); }, [=] { return fib(n - 2); });
  return a + b;
}

}  // namespace

// NOLINTNEXTLINE(bugprone-exception-escape): without memory or threads the program may as well end
int main(int argc, char** argv) {
  const bench::options opts = bench::parse(argc, argv);
  const weft::runtime_options how{.workers = static_cast<std::uint32_t>(opts.threads)};
  return weft::run(
      [&] { bench::fibonacci::run(opts, "weft", WEFT_VERSION_STRING, bench::fibonacci::usual, fib); }, how);
}
