// SPDX-License-Identifier: Apache-2.0
//
// Q1 for weft: the inbox of a worker. It gives out all it has at a time, so on two threads the variants are the same.
// compare/global_queue/config.hpp says what is measured.
#include "compare/global_queue/config.hpp"
#include "queue/inbox.hpp"

#include <weft/version.hpp>

#include <cstddef>

namespace {

namespace bench = weft::bench;
namespace impl = weft::impl;

class weft_inbox {
 public:
  using item = bench::queueing::item_with<impl::run_link<impl::default_platform>>;

  void push(item& one) { inbox_.push(impl::runnable(impl::runnable::kind::task, &one)); }

  template <class F>
  std::size_t take(std::size_t /*most*/, F&& f) {
    impl::run_batch taken = inbox_.drain();
    const std::size_t count = taken.size();
    while (const impl::runnable next = taken.pop_front()) f(*static_cast<item*>(next.address()));
    return count;
  }

 private:
  impl::inbox inbox_;
};

}  // namespace

int main(int argc, char** argv) {
  bench::queueing::run<weft_inbox>(bench::parse(argc, argv), "Q1", "weft", WEFT_VERSION_STRING);
}
