// SPDX-License-Identifier: Apache-2.0
//
// L4, variant `outside`, for oneTBB: tbb::concurrent_queue, which is what it offers for passing values among threads. It
// is unbounded. oneTBB's own deques are not for users, so it takes no part in the rest.
#include "compare/deque/config.hpp"

#include <oneapi/tbb/concurrent_queue.h>
#include <oneapi/tbb/version.h>
#include <string>

namespace {

namespace bench = weft::bench;
namespace pieces = weft::bench::pieces;
using pieces::raw_task;

}  // namespace

int main(int argc, char** argv) {
  const bench::options opts = bench::parse(argc, argv);
  if (opts.workload != "L4") bench::refuse("unknown workload", opts.workload);
  if (opts.variant != "outside") bench::refuse("unknown variant", opts.variant);
  if (opts.threads != 1) bench::refuse("not with so many threads", opts.workload);
  oneapi::tbb::concurrent_queue<raw_task> queue;
  const double cost = bench::ns_per_iteration(opts, [&](std::uint64_t count) {
    pieces::in_and_out(
        count, [&](const raw_task& task) { queue.push(task); },
        [&] {
          raw_task task{};
          if (queue.try_pop(task)) pieces::use(task);
        });
  });
  const std::string version = std::to_string(TBB_VERSION_MAJOR) + "." + std::to_string(TBB_VERSION_MINOR);
  bench::report(cost, "ns", "oneTBB", version.c_str());
}
