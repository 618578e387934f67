// SPDX-License-Identifier: Apache-2.0
//
// A for OpenMP: two tasks and a taskwait, as its examples compute Fibonacci numbers.
#include "compare/fib/config.hpp"

#include <cstdint>

namespace {

namespace bench = weft::bench;

std::int64_t fib(int n) {
  if (n < 2) return n;
  std::int64_t a = 0;
  std::int64_t b = 0;
#pragma omp task shared(a) firstprivate(n)
  a = fib(n - 1);
#pragma omp task shared(b) firstprivate(n)
  b = fib(n - 2);
#pragma omp taskwait
  return a + b;
}

}  // namespace

int main(int argc, char** argv) {
  const bench::options opts = bench::parse(argc, argv);
#pragma omp parallel num_threads(opts.threads)
#pragma omp single
  bench::fibonacci::run(opts, "OpenMP", __VERSION__, bench::fibonacci::small, fib);
}
