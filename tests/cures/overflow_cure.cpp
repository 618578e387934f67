// SPDX-License-Identifier: Apache-2.0
//
// A fiber that leaves its stack must be stopped at the guard, however it leaves.
//
// Two things have let fibers corrupt their neighbours in silence. A frame larger than the guard steps over it,
// unless the compiler makes it touch every page (-fstack-clash-protection, which weft gives to its users'
// code). And a kernel or emulator that accepts the call for a guard may not have made one.

#include "cures/check.hpp"
#include "support/child.hpp"
#include "support/fibers.hpp"
#include "support/recursion.hpp"
#include "sys/platform_interposed.hpp"

#include <csignal>
#include <cstring>

namespace weft::impl {
namespace {

using weft::testing::child_outcome;
using weft::testing::owner;
using weft::testing::run_in_child;

// A frame that reaches over the whole stack and the guard into the neighbour, and touches only its far end.
__attribute__((noinline)) int one_large_frame() {
  char frame[(84 << 10) + guard_bytes];
  char* far_end = frame;
  asm volatile("" : "+r"(far_end) : : "memory");  // or a compiler keeps only the one byte
  *far_end = 1;
  asm volatile("" : : "r"(far_end) : "memory");
  return *far_end;
}

// Runs `crime` on a 64 KiB stack that has a neighbour below, and says what came of both.
template <class Crime>
child_outcome run_beside_neighbour(Crime crime) {
  return run_in_child([&] {
    stack_pool pool;
    if (!install_overflow_handler()) std::_Exit(2);
    weft::testing::fiber_thread here;
    const stack_class size = *stack_class::holding(64 << 10);
    manual_fiber neighbour(pool, size, owner("neighbour", 1), [](manual_fiber& self) { self.pause(); });
    manual_fiber culprit(pool, size, owner("culprit", 2), [&](manual_fiber&) { crime(); });
    neighbour.resume();
    culprit.resume();
    std::fprintf(stderr, "nobody noticed\n");
  });
}

template <class Crime>
void must_be_named(Crime crime) {
  const child_outcome outcome = run_beside_neighbour(crime);
  WEFT_CURE_EXPECT(outcome.died_of(SIGABRT));
  WEFT_CURE_EXPECT(outcome.mentioned("stack overflow in fiber 2 'culprit' (stack 64 KiB"));
  WEFT_CURE_EXPECT(!outcome.mentioned("nobody noticed"));
  if (cures::failures != 0) std::fprintf(stderr, "the child said: %s\n", outcome.said.c_str());
}

// A kernel that says yes and does nothing must be seen through.
void a_guard_must_be_proven() {
  doors.reset();
  doors.guards_lie = true;
  {
    basic_stack_pool<interposed_platform> pool;
    WEFT_CURE_EXPECT(pool.guards() == guard_method::protection);
    stack_slot* const slot = *pool.take(stack_class());
    WEFT_CURE_EXPECT(system_memory::guard_holds(slot->low - 1));
    WEFT_CURE_EXPECT(system_memory::guard_holds(slot->low - guard_bytes));
    WEFT_CURE_EXPECT(!system_memory::guard_holds(slot->low));
    pool.give(*slot);
  }
  doors.reset();
}

int run_all() {
  a_guard_must_be_proven();
  must_be_named([] { weft::testing::recurse(0); });
  must_be_named([] { one_large_frame(); });
  return cures::verdict();
}

}  // namespace
}  // namespace weft::impl

int weft_run_cure() { return weft::impl::run_all(); }
