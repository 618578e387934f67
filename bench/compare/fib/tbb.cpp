// SPDX-License-Identifier: Apache-2.0
//
// A for oneTBB: parallel_invoke, which is a little faster here than the task_group of its own Fibonacci example.
#include "compare/fib/config.hpp"

#include <cstdint>
#include <oneapi/tbb/parallel_invoke.h>
#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/version.h>
#include <string>

namespace {

namespace bench = weft::bench;

std::int64_t fib(int n) {
  if (n < 2) return n;
  std::int64_t a = 0;
  std::int64_t b = 0;
  oneapi::tbb::parallel_invoke([&] { a = fib(n - 1); }, [&] { b = fib(n - 2); });
  return a + b;
}

}  // namespace

int main(int argc, char** argv) {
  const bench::options opts = bench::parse(argc, argv);
  const std::string version = std::to_string(TBB_VERSION_MAJOR) + "." + std::to_string(TBB_VERSION_MINOR);
  oneapi::tbb::task_arena arena(opts.threads);
  arena.execute(
      [&] { bench::fibonacci::run(opts, "oneTBB", version.c_str(), bench::fibonacci::small, fib); });
}
