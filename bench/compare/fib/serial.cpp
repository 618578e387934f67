// SPDX-License-Identifier: Apache-2.0
//
// A as plain calls, on one thread: what there is to gain and to lose. Shown for information.
#include "compare/fib/config.hpp"

#include <cstdint>

namespace {

namespace bench = weft::bench;

std::int64_t fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }

}  // namespace

int main(int argc, char** argv) {
  const bench::options opts = bench::parse(argc, argv);
  bench::fibonacci::run(opts, "serial", __VERSION__, bench::fibonacci::usual, fib);
}
