// SPDX-License-Identifier: Apache-2.0
//
// Fibers that throw, catch, unwind and wait at random, while threads take turns in resuming them: whatever a
// fiber keeps on its stack or in its exception state must still be its own, wherever it goes on.

#include "base/rng.hpp"
#include "support/fibers.hpp"
#include "support/scale.hpp"
#include "support/seed.hpp"

#include <atomic>
#include <chrono>
#include <csignal>
#include <dlfcn.h>
#include <exception>
#include <execinfo.h>
#include <gtest/gtest.h>
#include <memory>
#include <mutex>
#include <pthread.h>
#include <thread>
#include <vector>

namespace weft::impl {
namespace {

struct wanderer {
  std::uint64_t id;
  xoshiro256ss random;
  long waits = 0;
  bool good = true;

  void check(bool holds) { good = good && holds; }

  void wait(manual_fiber& self) {
    ++waits;
    const int uncaught = std::uncaught_exceptions();
    const std::exception_ptr handled = std::current_exception();
    self.pause();
    check(std::uncaught_exceptions() == uncaught);
    check(std::current_exception() == handled);
  }

  struct waits_in_destructor {
    waits_in_destructor(wanderer& w, manual_fiber& fiber) : who(w), self(fiber) {}
    waits_in_destructor(const waits_in_destructor&) = delete;
    waits_in_destructor& operator=(const waits_in_destructor&) = delete;
    ~waits_in_destructor() { who.wait(self); }

    wanderer& who;
    manual_fiber& self;
  };

  // A random tree of calls, throws and handlers, with waits everywhere.
  void wander(manual_fiber& self, int depth) {
    std::uint64_t kept[16];
    for (std::uint64_t i = 0; i < 16; ++i) kept[i] = id * 1000 + i + static_cast<std::uint64_t>(depth);
    switch (random.below(4)) {
      case 0: wait(self); break;
      case 1:
        try {
          const waits_in_destructor guard(*this, self);
          throw id + static_cast<std::uint64_t>(depth);
        } catch (std::uint64_t thrown) {
          check(thrown == id + static_cast<std::uint64_t>(depth));
          if (depth > 0) wander(self, depth - 1);
          wait(self);
          try {
            throw;
          } catch (std::uint64_t again) {
            check(again == id + static_cast<std::uint64_t>(depth));
          }
        }
        break;
      default:
        if (depth > 0) wander(self, depth - 1);
        break;
    }
    for (std::uint64_t i = 0; i < 16; ++i)
      check(kept[i] == id * 1000 + i + static_cast<std::uint64_t>(depth));
  }
};

void storm(int fibers, int rounds) {
  stack_pool pool;
  xoshiro256ss random(testing::test_seed());
  std::vector<wanderer> wanderers;
  for (int i = 0; i < fibers; ++i) wanderers.push_back({static_cast<std::uint64_t>(i), random.split()});
  std::vector<std::unique_ptr<manual_fiber>> ready;
  for (wanderer& w : wanderers) {
    ready.push_back(std::make_unique<manual_fiber>(pool, *stack_class::holding(64 << 10),
                                                   stack_owner{w.id, "wanderer", {}},
                                                   [&w, rounds](manual_fiber& self) {
                                                     for (int i = 0; i < rounds; ++i) w.wander(self, 6);
                                                   }));
  }
  // Threads take fibers from a common heap at random, so that fibers move at nearly every wait.
  std::mutex mutex;
  std::atomic<int> alive{fibers};
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&, mine = random.split()]() mutable {
      testing::fiber_thread here;
      while (alive.load() > 0) {
        std::unique_ptr<manual_fiber> fiber;
        {
          const std::lock_guard hold(mutex);
          if (!ready.empty()) {
            std::swap(ready[mine.below(static_cast<std::uint32_t>(ready.size()))], ready.back());
            fiber = std::move(ready.back());
            ready.pop_back();
          }
        }
        if (!fiber) {
          std::this_thread::yield();
          continue;
        }
        if (fiber->resume()) {
          alive.fetch_sub(1);
        } else {
          const std::lock_guard hold(mutex);
          ready.push_back(std::move(fiber));
        }
      }
    });
  }
  for (std::thread& t : threads) t.join();
  long waits = 0;
  for (const wanderer& w : wanderers) {
    EXPECT_TRUE(w.good) << "fiber " << w.id;
    waits += w.waits;
  }
  std::printf("%d fibers, %ld waits\n", fibers, waits);
  EXPECT_GT(waits, fibers);
}

TEST(FiberStorm, ExceptionsAndStacksStayWithTheirFibers) {
  storm(200, testing::scaled(400, 40) * testing::repetitions(25));
}

// A profiler's view: a signal arrives anywhere, also in the middle of a switch, and the handler takes a backtrace.
// The unwinder must find its way, or know that it cannot; it must never run off a stack. Nothing is thrown
// meanwhile, since libgcc's own code for throwing is not fit to be unwound through.
// Boost's switch has no such rules, and the sanitizers forbid backtraces in handlers.
#if !defined(WEFT_SWITCH_BOOST) && !WEFT_THREAD_SANITIZER && !WEFT_ADDRESS_SANITIZER
std::atomic<long> backtraces{0};
std::atomic<long> strange_frames{0};

void take_backtrace(int) {
  void* frames[64];
  const int count = ::backtrace(frames, 64);
  backtraces.fetch_add(1, std::memory_order_relaxed);
  for (int i = 0; i < count; ++i) {
    if (i == 1) continue;  // the kernel's way back from the handler, which may lie in no module
    Dl_info module{};
    if (::dladdr(frames[i], &module) == 0) strange_frames.fetch_add(1, std::memory_order_relaxed);
  }
}

// Frames of different sizes on the two sides of a switch, so that one's unwind rules are wrong for the other.
__attribute__((noinline)) void pause_with_large_frame(manual_fiber& self) {
  volatile char frame[3000];
  frame[0] = 1;
  self.pause();
  frame[1] = frame[0];
}

TEST(FiberStorm, BacktracesFromASignalWorkAnywhere) {
  void* warm[4];
  ::backtrace(warm, 4);
  struct sigaction action {};
  action.sa_handler = &take_backtrace;
  action.sa_flags = SA_RESTART | SA_ONSTACK;
  ::sigaction(SIGPROF, &action, nullptr);
  stack_pool pool;
  std::atomic<bool> stop{false};
  std::atomic<pthread_t> target{};
  std::atomic<bool> started{false};
  std::thread switcher([&] {
    testing::fiber_thread here;
    manual_fiber fiber(pool, *stack_class::holding(16 << 10), testing::owner("profiled"),
                       [](manual_fiber& self) {
                         for (;;) {
                           self.pause();
                           pause_with_large_frame(self);
                         }
                       });
    target = ::pthread_self();
    started = true;
    while (!stop.load(std::memory_order_relaxed)) fiber.resume();
  });
  while (!started) std::this_thread::yield();
  // Signals that arrive while one is pending are lost, the more the busier the machine is: hence the loop.
  const long wanted = testing::scaled(15'000L, 300L) * testing::repetitions(10);
  for (long sent = 0; backtraces.load() < wanted && sent < wanted * 100; ++sent) {
    ::pthread_kill(target, SIGPROF);
    std::this_thread::sleep_for(std::chrono::microseconds(1));
  }
  stop = true;
  switcher.join();
  std::printf("%ld backtraces taken\n", backtraces.load());
  EXPECT_GE(backtraces.load(), wanted / 2);
  EXPECT_EQ(strange_frames.load(), 0) << "a backtrace went through what is no code";
}
#endif

}  // namespace
}  // namespace weft::impl
