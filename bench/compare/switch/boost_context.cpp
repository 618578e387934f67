// SPDX-License-Identifier: Apache-2.0
//
// B1 for Boost.Context: the switch below its fiber class, make_fcontext and jump_fcontext, used the way the
// library's own performance test uses them.
//
// jump_fcontext is a function in assembly, so for Boost the variant `inline` is a direct call of it; there is
// no shorter way. It returns the context that was left, which is where the next jump goes.
#include "compare/switch/config.hpp"

#include <boost/context/detail/fcontext.hpp>
#include <boost/context/fixedsize_stack.hpp>
#include <boost/version.hpp>
#include <cstdint>
#include <string>

namespace {

namespace bench = weft::bench;
namespace context = boost::context;
using context::detail::fcontext_t;
using context::detail::jump_fcontext;
using context::detail::make_fcontext;
using context::detail::transfer_t;

[[gnu::noinline]] transfer_t jump_by_call(fcontext_t to) {
  const transfer_t from = jump_fcontext(to, nullptr);
  asm volatile("");  // keeps the jump from becoming a tail call, which would take the extra frame away again
  return from;
}

template <auto Jump>
void answer(transfer_t from) {
  for (;;) from = Jump(from.fctx);
}

template <auto Jump>
void measure(const bench::options& opts, const char* version) {
  context::fixedsize_stack allocator(bench::switching::stack_bytes);
  context::stack_context stack = allocator.allocate();
  fcontext_t other = make_fcontext(stack.sp, stack.size, answer<Jump>);
  bench::switching::run(opts, "boost.context", version, [&](std::uint64_t count) {
    transfer_t from{other, nullptr};
    for (std::uint64_t i = 0; i < count; ++i) from = Jump(from.fctx);
    other = from.fctx;
  });
  allocator.deallocate(stack);
}

std::string boost_version() {
  return std::to_string(BOOST_VERSION / 100000) + "." + std::to_string(BOOST_VERSION / 100 % 1000) + "." +
         std::to_string(BOOST_VERSION % 100);
}

}  // namespace

int main(int argc, char** argv) {
  const bench::options opts = bench::parse(argc, argv);
  const std::string version = boost_version();
  switch (bench::switching::chosen(opts)) {
    case bench::switching::variant::inlined:
      measure<[](fcontext_t to) { return jump_fcontext(to, nullptr); }>(opts, version.c_str());
      break;
    case bench::switching::variant::called: measure<jump_by_call>(opts, version.c_str()); break;
  }
}
