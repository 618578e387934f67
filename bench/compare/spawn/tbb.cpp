// SPDX-License-Identifier: Apache-2.0
//
// C for oneTBB: a task_group, in an arena of as many threads as are asked for.
#include "compare/spawn/config.hpp"

#include <cstddef>
#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/task_group.h>
#include <oneapi/tbb/version.h>
#include <string>

int main(int argc, char** argv) {
  namespace bench = weft::bench;
  const bench::options opts = bench::parse(argc, argv);
  const std::string version = std::to_string(TBB_VERSION_MAJOR) + "." + std::to_string(TBB_VERSION_MINOR);
  oneapi::tbb::task_arena arena(opts.threads);
  arena.execute([&] {
    bench::spawning::run(opts, "oneTBB", version.c_str(), [](auto& all) {
      oneapi::tbb::task_group group;
      for (std::size_t i = 0; i < all.size(); ++i) group.run(all[i]);
      group.wait();
    });
  });
}
