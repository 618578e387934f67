// SPDX-License-Identifier: Apache-2.0
//
// C for OpenMP: one thread of the team makes the tasks and waits for them; the others run them. With many tasks in the queue
// libgomp runs a new one at once instead of queueing it.
#include "compare/spawn/config.hpp"

#include <cstddef>

int main(int argc, char** argv) {
  namespace bench = weft::bench;
  const bench::options opts = bench::parse(argc, argv);
#pragma omp parallel num_threads(opts.threads)
#pragma omp single
  bench::spawning::run(opts, "OpenMP", __VERSION__, [](auto& all) {
    for (std::size_t i = 0; i < all.size(); ++i) {
      const auto child = all[i];
#pragma omp task firstprivate(child)
      child();
    }
#pragma omp taskwait
  });
}
