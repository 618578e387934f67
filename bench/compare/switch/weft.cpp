// SPDX-License-Identifier: Apache-2.0
//
// B1 for weft: the switch as the scheduler will use it, exception state included.
//
// Variant `inline` is the switch inlined into the loop, as the library's own code has it; `call` puts it
// behind one function, as a user of the library will meet it.
#include "arch/switch.hpp"
#include "compare/switch/config.hpp"

#include <weft/version.hpp>

#include <cstdint>
#include <cstdlib>

namespace {

namespace bench = weft::bench;
namespace impl = weft::impl;

struct two_sides {
  impl::attached_carrier carrier;
  impl::context other;
};

WEFT_ALWAYS_INLINE void go_over(two_sides& sides) noexcept {
  impl::switch_context<impl::switch_edge::unordered>(sides.carrier, sides.carrier.native, sides.other);
}
WEFT_ALWAYS_INLINE void come_back(two_sides& sides) noexcept {
  impl::switch_context<impl::switch_edge::unordered>(sides.carrier, sides.other, sides.carrier.native);
}
WEFT_SWITCHES void go_over_by_call(two_sides& sides) noexcept { go_over(sides); }
WEFT_SWITCHES void come_back_by_call(two_sides& sides) noexcept { come_back(sides); }

WEFT_SWITCHES void answer_inline(void* raw) {
  auto& sides = *static_cast<two_sides*>(raw);
  impl::begin_context(sides.other);
  for (;;) come_back(sides);
}
WEFT_SWITCHES void answer_by_call(void* raw) {
  auto& sides = *static_cast<two_sides*>(raw);
  impl::begin_context(sides.other);
  for (;;) come_back_by_call(sides);
}
WEFT_SWITCHES void ask_inline(two_sides& sides, std::uint64_t count) {
  for (std::uint64_t i = 0; i < count; ++i) go_over(sides);
}
WEFT_SWITCHES void ask_by_call(two_sides& sides, std::uint64_t count) {
  for (std::uint64_t i = 0; i < count; ++i) go_over_by_call(sides);
}

void measure(const bench::options& opts, void (*answer)(void*), void (*ask)(two_sides&, std::uint64_t)) {
  void* const stack = std::aligned_alloc(4096, bench::switching::stack_bytes);
  two_sides sides;
  impl::make_context(sides.other, stack, bench::switching::stack_bytes, answer, &sides);
  bench::switching::run(opts, "weft", WEFT_VERSION_STRING, [&](std::uint64_t count) { ask(sides, count); });
  impl::forget_context(sides.other);
  std::free(stack);
}

}  // namespace

int main(int argc, char** argv) {
  const bench::options opts = bench::parse(argc, argv);
  switch (bench::switching::chosen(opts)) {
    case bench::switching::variant::inlined: measure(opts, &answer_inline, &ask_inline); break;
    case bench::switching::variant::called: measure(opts, &answer_by_call, &ask_by_call); break;
  }
}
