// SPDX-License-Identifier: Apache-2.0
//
// D1 for OpenMP: a task for each child of a node, and a taskwait.
#include "compare/skynet/config.hpp"

#include <cstdint>
#include <numeric>

namespace {

namespace bench = weft::bench;
using bench::skynet::fan_out;

std::int64_t sum(std::int64_t first, std::int64_t leaves) {
  if (leaves == 1) return first;
  const std::int64_t each = leaves / fan_out;
  std::int64_t sums[fan_out];
  for (int i = 0; i < fan_out; ++i) {
#pragma omp task shared(sums) firstprivate(first, each, i)
    sums[i] = sum(first + i * each, each);
  }
#pragma omp taskwait
  return std::accumulate(sums, sums + fan_out, std::int64_t{0});
}

}  // namespace

int main(int argc, char** argv) {
  const bench::options opts = bench::parse(argc, argv);
#pragma omp parallel num_threads(opts.threads)
#pragma omp single
  bench::skynet::run(opts, "OpenMP", __VERSION__, sum);
}
