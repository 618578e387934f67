// SPDX-License-Identifier: Apache-2.0
//
// Q2 for weft: the queue of an execution context. config.hpp says what is measured.
#include "compare/global_queue/config.hpp"
#include "queue/global_queue.hpp"

#include <weft/version.hpp>

#include <cstddef>

namespace {

namespace bench = weft::bench;
namespace impl = weft::impl;

class weft_queue {
 public:
  using item = bench::queueing::item_with<impl::run_link<impl::default_platform>>;

  void push(item& one) { queue_.push(impl::runnable(impl::runnable::kind::task, &one)); }

  template <class F>
  std::size_t take(std::size_t most, F&& f) {
    impl::run_batch taken = queue_.try_take(most).items;
    const std::size_t count = taken.size();
    while (const impl::runnable next = taken.pop_front()) f(*static_cast<item*>(next.address()));
    return count;
  }

 private:
  impl::global_queue queue_;
};

}  // namespace

int main(int argc, char** argv) {
  bench::queueing::run<weft_queue>(bench::parse(argc, argv), "Q2", "weft", WEFT_VERSION_STRING);
}
