// SPDX-License-Identifier: Apache-2.0
//
// What the programs of W share: the scheme is theirs, the rest is here.
#pragma once

#include "compare/stealing/fork_join.hpp"
#include "compare/stealing/schemes.hpp"
#include "compare/stealing/shapes.hpp"

#include <weft/version.hpp>

namespace weft::bench::stealing {

template <class Scheme>
[[nodiscard]] measured measure(const options& opts) {
  if (opts.threads > 2)
    refuse("these workloads run on one thread or two, not on", std::to_string(opts.threads));
  if (opts.workload == "W1") return throughput<Scheme>(opts);
  if (opts.workload == "W2") return latency<Scheme>(opts);
  if constexpr (requires(typename Scheme::deque d, runnable r) { d.pop_if(r); }) {
    if (opts.workload == "W3") return fork_join<Scheme>(opts);
  }
  refuse("unknown workload", opts.workload);
}

template <class Scheme>
int run(int argc, char** argv, const char* system) {
  const options opts = parse(argc, argv);
  const measured all = measure<Scheme>(opts);
  const double per_second = static_cast<double>(all.barriers) * 1e9 / static_cast<double>(all.taken_ns);
  report(all.value, opts.workload == "W2" ? "us" : "ns", system, WEFT_VERSION_STRING, per_second);
  return 0;
}

}  // namespace weft::bench::stealing
