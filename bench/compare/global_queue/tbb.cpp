// SPDX-License-Identifier: Apache-2.0
//
// Q2 for oneTBB: tbb::concurrent_queue, its unbounded queue for many producers and many consumers. It gives out one at a
// time.
#include "compare/global_queue/config.hpp"

#include <cstddef>
#include <oneapi/tbb/concurrent_queue.h>
#include <oneapi/tbb/version.h>
#include <string>

namespace {

namespace bench = weft::bench;

class tbb_queue {
  struct nothing {};

 public:
  using item = bench::queueing::item_with<nothing>;

  void push(item& one) { queue_.push(&one); }

  template <class F>
  std::size_t take(std::size_t most, F&& f) {
    std::size_t count = 0;
    for (item* next = nullptr; count < most && queue_.try_pop(next); ++count) f(*next);
    return count;
  }

 private:
  oneapi::tbb::concurrent_queue<item*> queue_;
};

}  // namespace

int main(int argc, char** argv) {
  const std::string version = std::to_string(TBB_VERSION_MAJOR) + "." + std::to_string(TBB_VERSION_MINOR);
  bench::queueing::run<tbb_queue>(bench::parse(argc, argv), "Q2", "oneTBB", version.c_str());
}
