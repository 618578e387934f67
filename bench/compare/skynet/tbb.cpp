// SPDX-License-Identifier: Apache-2.0
//
// D1 for oneTBB: a task_group for the children of each node.
#include "compare/skynet/config.hpp"

#include <cstdint>
#include <numeric>
#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/task_group.h>
#include <oneapi/tbb/version.h>
#include <string>

namespace {

namespace bench = weft::bench;
using bench::skynet::fan_out;

std::int64_t sum(std::int64_t first, std::int64_t leaves) {
  if (leaves == 1) return first;
  const std::int64_t each = leaves / fan_out;
  std::int64_t sums[fan_out];
  oneapi::tbb::task_group group;
  for (int i = 0; i < fan_out; ++i) group.run([=, &sums] { sums[i] = sum(first + i * each, each); });
  group.wait();
  return std::accumulate(sums, sums + fan_out, std::int64_t{0});
}

}  // namespace

int main(int argc, char** argv) {
  const bench::options opts = bench::parse(argc, argv);
  const std::string version = std::to_string(TBB_VERSION_MAJOR) + "." + std::to_string(TBB_VERSION_MINOR);
  oneapi::tbb::task_arena arena(opts.threads);
  arena.execute([&] { bench::skynet::run(opts, "oneTBB", version.c_str(), sum); });
}
