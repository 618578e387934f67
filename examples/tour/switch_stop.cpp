// SPDX-License-Identifier: Apache-2.0
//
// First stop: how fast control moves from one stack to another, beside Boost.Context in the same run.

#include "arch/switch.hpp"
#include "tour.hpp"

#include <algorithm>
#include <cstdlib>
#include <memory>
#ifdef WEFT_TOUR_HAS_BOOST
#include <boost/context/detail/fcontext.hpp>
#endif

namespace tour {
namespace {

namespace impl = weft::impl;

constexpr std::size_t stack_bytes = std::size_t{64} << 10U;

struct free_memory {
  void operator()(void* memory) const { std::free(memory); }
};
using stack_memory = std::unique_ptr<void, free_memory>;

stack_memory new_stack() { return stack_memory(std::aligned_alloc(4096, stack_bytes)); }

struct pair {
  impl::attached_carrier carrier;
  impl::context other;
};

// Comes back at once, for ever.
WEFT_SWITCHES void answer(void* raw) {
  auto& both = *static_cast<pair*>(raw);
  impl::begin_context(both.other);
  for (;;) impl::switch_context<impl::switch_edge::ordered>(both.carrier, both.other, both.carrier.native);
}

WEFT_SWITCHES void ask(pair& both, long times) {
  for (long i = 0; i < times; ++i)
    impl::switch_context<impl::switch_edge::ordered>(both.carrier, both.carrier.native, both.other);
}

double weft_ns(long round_trips) {
  const stack_memory stack = new_stack();
  pair both;
  impl::make_context(both.other, stack.get(), stack_bytes, &answer, &both);
  ask(both, 1000);
  return seconds([&] { ask(both, round_trips); }) / static_cast<double>(round_trips) / 2 * 1e9;
}

#ifdef WEFT_TOUR_HAS_BOOST
double boost_ns(long round_trips) {
  using boost::context::detail::fcontext_t;
  using boost::context::detail::jump_fcontext;
  using boost::context::detail::make_fcontext;
  using boost::context::detail::transfer_t;
  const stack_memory stack = new_stack();
  fcontext_t other =
      make_fcontext(static_cast<char*>(stack.get()) + stack_bytes, stack_bytes, [](transfer_t from) {
        for (;;) from = jump_fcontext(from.fctx, nullptr);
      });
  const auto ask = [&](long times) {
    transfer_t from{other, nullptr};
    for (long i = 0; i < times; ++i) from = jump_fcontext(from.fctx, nullptr);
    other = from.fctx;
  };
  ask(1000);
  return seconds([&] { ask(round_trips); }) / static_cast<double>(round_trips) / 2 * 1e9;
}
#endif

}  // namespace

bool show_switch(const options& how) {
  heading("1. The switch: from one stack to another and back");
  const long round_trips = how.brief ? 1'000'000 : 20'000'000;
  double ours = 1e9;
  for (int i = 0; i < 5; ++i) ours = std::min(ours, weft_ns(round_trips));
  std::printf("   weft            %5.2f ns a switch (exception state travels with the fiber)\n", ours);
#ifdef WEFT_TOUR_HAS_BOOST
  double theirs = 1e9;
  for (int i = 0; i < 5; ++i) theirs = std::min(theirs, boost_ns(round_trips));
  std::printf("   Boost.Context   %5.2f ns a switch (it does not)\n", theirs);
  std::printf("   weft takes %.2f of its time\n", ours / theirs);
#else
  std::printf("   (Boost.Context is not installed: nothing to compare with)\n");
#endif
  return true;
}

}  // namespace tour
