// SPDX-License-Identifier: Apache-2.0
//
// A program for debuggers to look at: one fiber parked three calls deep, then one that stops inside.
// With --run it goes through without stopping, for valgrind.

#include "support/fibers.hpp"

#include <cstring>

using weft::impl::machine_context;
using weft::impl::manual_fiber;
using weft::impl::stack_class;
using weft::impl::stack_pool;

// Where gdb stops; the arguments are what it needs to find the parked fiber.
extern "C" __attribute__((noinline)) void look_here(const machine_context* parked) {
  asm volatile("" : : "r"(parked) : "memory");
}

__attribute__((noinline)) static void innermost(manual_fiber& self) {
  self.pause();
  asm volatile("" : : : "memory");
}
__attribute__((noinline)) static void middle(manual_fiber& self) {
  innermost(self);
  asm volatile("" : : : "memory");
}
__attribute__((noinline)) static void outermost(manual_fiber& self) {
  middle(self);
  asm volatile("" : : : "memory");
}

int main(int argc, char** argv) {
  const bool run_through = argc > 1 && std::strcmp(argv[1], "--run") == 0;
  stack_pool pool;
  weft::testing::fiber_thread here;
  {
    manual_fiber parked(pool, stack_class(), weft::testing::owner("parked"),
                        [](manual_fiber& self) { outermost(self); });
    parked.resume();
    manual_fiber running(pool, stack_class(), weft::testing::owner("running"),
                         [&](manual_fiber&) { look_here(&parked.parked_context().machine); });
    running.resume();
    parked.resume();
  }
  // Under valgrind: many stacks made, used and given back.
  for (int i = 0; run_through && i < 50; ++i) {
    manual_fiber fiber(pool, *stack_class::holding(32 << 10), weft::testing::owner("many"),
                       [](manual_fiber& self) {
                         try {
                           throw 1;
                         } catch (int) {
                           outermost(self);
                         }
                       });
    while (!fiber.resume()) {
    }
  }
  return 0;
}
