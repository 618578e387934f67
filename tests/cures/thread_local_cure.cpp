// SPDX-License-Identifier: Apache-2.0
//
// Thread-local state read after a fiber moved to another thread must be that thread's.
//
// Compilers assume that a function runs on one thread and keep the address of a thread_local for its whole
// length. One function here waits twice and goes on upon two other threads; what it reads must be 1, 2, 3.
// An ordinary access reads 1, 1, 1, which is how the best-known fiber libraries have corrupted memory.

#include "cures/check.hpp"
#include "support/fibers.hpp"

#include <array>
#include <latch>
#include <semaphore>
#include <thread>

namespace weft::impl {
namespace {

struct visit {
  std::array<carrier*, 3> seen{};
};

// One function, so that a compiler has every chance to remember what it read first.
__attribute__((noinline)) void travel(manual_fiber& self, visit& log) {
  log.seen[0] = current_carrier();
  self.pause();
  log.seen[1] = current_carrier();
  self.pause();
  log.seen[2] = current_carrier();
}

// The same in a loop, where the address would be hoisted out.
__attribute__((noinline)) void travel_in_a_loop(manual_fiber& self, visit& log) {
  for (carrier*& seen : log.seen) {
    seen = current_carrier();
    self.pause();
  }
}

// The three threads live at the same time: one that had ended would leave its memory to the next.
void visit_three_threads(void (*journey)(manual_fiber&, visit&)) {
  stack_pool pool;
  visit log;
  std::array<carrier*, 3> real{};
  manual_fiber fiber(pool, stack_class(), weft::testing::owner("traveller"),
                     [&](manual_fiber& self) { journey(self, log); });
  std::array<std::binary_semaphore, 3> turns{std::binary_semaphore(0), std::binary_semaphore(0),
                                             std::binary_semaphore(0)};
  std::counting_semaphore<3> arrived(0);
  std::binary_semaphore done(0);
  std::latch leave(1);
  std::array<std::thread, 3> threads;
  for (std::size_t i = 0; i < threads.size(); ++i) {
    threads[i] = std::thread([&, i] {
      weft::testing::fiber_thread here;
      real[i] = &here.carrier();
      arrived.release();
      turns[i].acquire();
      fiber.resume();
      done.release();
      leave.wait();
    });
  }
  for (std::size_t i = 0; i < threads.size(); ++i) arrived.acquire();
  for (std::binary_semaphore& turn : turns) {
    turn.release();
    done.acquire();
  }
  leave.count_down();
  for (std::thread& thread : threads) thread.join();
  WEFT_CURE_EXPECT(real[0] != real[1] && real[1] != real[2] && real[0] != real[2]);
  WEFT_CURE_EXPECT(log.seen[0] == real[0]);
  WEFT_CURE_EXPECT(log.seen[1] == real[1]);
  WEFT_CURE_EXPECT(log.seen[2] == real[2]);
}

int run_all() {
  visit_three_threads(&travel);
  visit_three_threads(&travel_in_a_loop);
  return cures::verdict();
}

}  // namespace
}  // namespace weft::impl

int weft_run_cure() { return weft::impl::run_all(); }
