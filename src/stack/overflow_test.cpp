// SPDX-License-Identifier: Apache-2.0

#include "stack/overflow.hpp"

#include "support/child.hpp"
#include "support/fibers.hpp"
#include "support/recursion.hpp"
#include "support/unprobed.hpp"

#include <atomic>
#include <gtest/gtest.h>
#include <link.h>
#include <sys/mman.h>

namespace weft::impl {
namespace {

using testing::child_outcome;
using testing::owner;
using testing::recurse;
using testing::run_in_child;

// Runs f(pool) in a child process that runs fibers and names overflows, and dies of other faults as any does.
template <class F>
child_outcome in_guarded_child(F f) {
  return run_in_child([&] {
    struct sigaction plain {};
    plain.sa_handler = SIG_DFL;  // whatever a sanitizer has put there
    ::sigaction(SIGSEGV, &plain, nullptr);
    stack_pool pool;
    if (!install_overflow_handler()) std::_Exit(2);
    testing::fiber_thread here;
    f(pool);
  });
}

// Runs a body on a fiber of its own in such a child.
child_outcome on_fiber_in_child(const stack_owner& who, stack_class size, manual_fiber::function body) {
  return in_guarded_child([&](stack_pool& pool) {
    manual_fiber fiber(pool, size, who, std::move(body));
    fiber.resume();
  });
}

TEST(Overflow, NamesFiberStackAndSite) {
  const child_outcome outcome = on_fiber_in_child(owner("reader", 42), *stack_class::holding(128 << 10),
                                                  [](manual_fiber&) { recurse(0); });
  EXPECT_TRUE(outcome.died_of(SIGABRT)) << outcome.status;
  EXPECT_TRUE(outcome.mentioned("weft: stack overflow in fiber 42 'reader' (stack 128 KiB, spawned at "))
      << outcome.said;
  EXPECT_TRUE(outcome.mentioned("overflow_test.cpp:")) << outcome.said;
  EXPECT_TRUE(outcome.mentioned("it left its stack at the lower end")) << outcome.said;
}

TEST(Overflow, ShowsTheCallsThatLedThere) {
  const child_outcome outcome =
      on_fiber_in_child(owner("reader"), stack_class(), [](manual_fiber&) { recurse(0); });
  const std::size_t first = outcome.said.find("weft:   #0 0x");
  ASSERT_NE(first, std::string::npos) << outcome.said;
  const std::string innermost = outcome.said.substr(first, outcome.said.find('\n', first) - first);
  EXPECT_NE(innermost.find("recurse"), std::string::npos) << "not the culprit: " << innermost;
  EXPECT_TRUE(outcome.mentioned("weft:   ... and further callers")) << outcome.said;
}

TEST(Overflow, AFiberWithoutANameIsStillReported) {
  const child_outcome outcome = in_guarded_child([](stack_pool& pool) {
    manual_fiber fiber(pool, stack_class(), stack_owner{}, [](manual_fiber& self) {
      self.stack().owner.store(nullptr, std::memory_order_relaxed);
      recurse(0);
    });
    fiber.resume();
  });
  EXPECT_TRUE(outcome.mentioned("stack overflow in an unnamed fiber (stack 256 KiB)")) << outcome.said;
}

TEST(Overflow, ThePolicyIsAskedAfterTheReport) {
  const child_outcome outcome = in_guarded_child([](stack_pool& pool) {
    set_overflow_policy([](const overflow_event& event) noexcept -> overflow_verdict {
      std::_Exit(event.owner != nullptr && event.owner->id == 9 && event.stack->size() == stack_class::usual
                     ? 33
                     : 34);
    });
    manual_fiber fiber(pool, stack_class(), owner("judged", 9), [](manual_fiber&) { recurse(0); });
    fiber.resume();
  });
  EXPECT_TRUE(outcome.exited_with(33)) << outcome.status;
  EXPECT_TRUE(outcome.mentioned("stack overflow in fiber 9 'judged'"));
}

TEST(Overflow, APolicyMayEndTheProcess) {
  const child_outcome outcome = in_guarded_child([](stack_pool& pool) {
    set_overflow_policy([](const overflow_event&) noexcept { return overflow_verdict::abort; });
    manual_fiber fiber(pool, stack_class(), owner("judged", 9), [](manual_fiber&) { recurse(0); });
    fiber.resume();
  });
  EXPECT_TRUE(outcome.died_of(SIGABRT)) << outcome.status;
}

TEST(Overflow, AnOverflowOnAnotherThreadIsNamedToo) {
  const child_outcome outcome = in_guarded_child([](stack_pool& pool) {
    manual_fiber fiber(pool, stack_class(), owner("elsewhere", 5), [](manual_fiber& self) {
      self.pause();
      recurse(0);
    });
    testing::on_fiber_thread([&] { fiber.resume(); });
    testing::on_fiber_thread([&] { fiber.resume(); });
  });
  EXPECT_TRUE(outcome.died_of(SIGABRT)) << outcome.status;
  EXPECT_TRUE(outcome.mentioned("stack overflow in fiber 5 'elsewhere'")) << outcome.said;
}

// Other faults on a fiber are not weft's: they end the process as they would without weft.
TEST(Overflow, AnOrdinaryFaultOnAFiberStaysOne) {
  const child_outcome outcome = in_guarded_child([](stack_pool& pool) {
    manual_fiber fiber(pool, stack_class(), owner("victim"), [](manual_fiber&) {
      void* page = ::mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      *static_cast<volatile char*>(page) = 1;
    });
    fiber.resume();
  });
  EXPECT_TRUE(outcome.died_of(SIGSEGV)) << outcome.status;
  EXPECT_FALSE(outcome.mentioned("stack overflow")) << outcome.said;
}

// A guard hit by somebody who runs elsewhere is a stray pointer; it must not be blamed on the stack's fiber.
TEST(Overflow, AStrayAccessToAGuardIsToldApart) {
  const child_outcome outcome = in_guarded_child([](stack_pool& pool) {
    manual_fiber innocent(pool, stack_class(), owner("innocent", 1),
                          [](manual_fiber& self) { self.pause(); });
    char* const guard = innocent.stack().low - 8;
    manual_fiber culprit(pool, stack_class(), owner("culprit", 2),
                         [&](manual_fiber&) { *static_cast<volatile char*>(guard) = 1; });
    innocent.resume();
    culprit.resume();
  });
  EXPECT_TRUE(outcome.died_of(SIGSEGV)) << outcome.status;
  EXPECT_FALSE(outcome.mentioned("stack overflow")) << outcome.said;
  EXPECT_TRUE(
      outcome.mentioned("a stack's guard was touched by code running on the stack of fiber 2 'culprit'"))
      << outcome.said;
}

// Frames that were not probed (code compiled without stack-clash protection) may land anywhere below; whatever they
// hit, it is the fiber that runs which is named.
TEST(Overflow, AnUnprobedFrameIsBlamedOnTheFiberThatRuns) {
  const std::size_t stack = 64 << 10;
  // Touched: the own guard from far below, the neighbour's guard, and the guard of the one below that.
  for (const std::size_t touched : {stack + guard_bytes / 2, 2 * stack + guard_bytes + guard_bytes / 2,
                                    3 * stack + 2 * guard_bytes + guard_bytes / 2}) {
    const child_outcome outcome = in_guarded_child([&](stack_pool& pool) {
      const stack_class size = *stack_class::holding(stack);
      manual_fiber lowest(pool, size, owner("lowest", 1), [](manual_fiber& self) { self.pause(); });
      manual_fiber neighbour(pool, size, owner("neighbour", 2), [](manual_fiber& self) { self.pause(); });
      manual_fiber culprit(pool, size, owner("culprit", 3), [&](manual_fiber& self) {
        testing::touch_unprobed(self.stack().high() - touched, touched + 20'000);
      });
      lowest.resume();
      neighbour.resume();
      culprit.resume();
    });
    EXPECT_TRUE(outcome.died_of(SIGABRT)) << touched << " " << outcome.status;
    EXPECT_TRUE(outcome.mentioned("stack overflow in fiber 3 'culprit'")) << touched << "\n" << outcome.said;
  }
}

// A signal whose frame does not fit on what is left of a stack: the kernel gives no address.
TEST(Overflow, ASignalFrameThatDoesNotFitIsNamed) {
  const child_outcome outcome = in_guarded_child([](stack_pool& pool) {
    struct sigaction plain {};
    plain.sa_handler = [](int) {};  // without SA_ONSTACK
    ::sigaction(SIGUSR1, &plain, nullptr);
    manual_fiber fiber(pool, *stack_class::holding(16 << 10), owner("cramped", 4), [](manual_fiber& self) {
      testing::raise_with_little_stack(self.stack().low + 400, SIGUSR1);
    });
    fiber.resume();
    std::fprintf(stderr, "nobody noticed\n");
  });
  EXPECT_TRUE(outcome.died_of(SIGABRT)) << outcome.status << outcome.said;
  EXPECT_TRUE(outcome.mentioned("stack overflow in fiber 4 'cramped'")) << outcome.said;
  EXPECT_TRUE(outcome.mentioned("a signal arrived and its frame did not fit")) << outcome.said;
}

// The report must not wait for the loader's lock, which a thread inside dlopen() holds.
TEST(Overflow, IsReportedWhileAnotherThreadHoldsTheLoadersLock) {
  const child_outcome outcome = in_guarded_child([](stack_pool& pool) {
    ::alarm(60);  // a hang ends here, by another signal
    static std::atomic<bool> held{false};
    std::thread holder([] {
      // The callback runs under the loader's lock, and stays there.
      ::dl_iterate_phdr(
          [](dl_phdr_info*, std::size_t, void*) {
            held = true;
            for (;;) ::pause();
            return 0;
          },
          nullptr);
    });
    while (!held) std::this_thread::yield();
    manual_fiber fiber(pool, stack_class(), owner("urgent", 6), [](manual_fiber&) { recurse(0); });
    fiber.resume();
  });
  EXPECT_TRUE(outcome.died_of(SIGABRT)) << outcome.status << outcome.said;
  EXPECT_TRUE(outcome.mentioned("stack overflow in fiber 6 'urgent'")) << outcome.said;
  EXPECT_TRUE(outcome.mentioned("weft:   #0 0x")) << outcome.said;
}

// A fault in a signal handler that interrupted a fiber is the handler's, not the fiber's overflow.
TEST(Overflow, AFaultInAHandlerOnTheAlternateStackIsNotTheFibers) {
  const child_outcome outcome = in_guarded_child([](stack_pool& pool) {
    struct sigaction faulty {};
    faulty.sa_flags = SA_ONSTACK;
    faulty.sa_handler = [](int) {
      void* page = ::mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      *static_cast<volatile char*>(page) = 1;
    };
    ::sigaction(SIGUSR1, &faulty, nullptr);
    manual_fiber fiber(pool, stack_class(), owner("interrupted"), [](manual_fiber&) { ::raise(SIGUSR1); });
    fiber.resume();
  });
  EXPECT_TRUE(outcome.died_of(SIGSEGV)) << outcome.status;
  EXPECT_FALSE(outcome.mentioned("stack overflow")) << outcome.said;
}

TEST(AlternateStackDeathTest, IsRemovedByItsOwnThread) {
  EXPECT_DEATH(
      {
        alternate_stack mine;
        (void)mine.install();
        std::thread([&] { mine.remove(); }).join();
      },
      "removed by the thread that installed it");
}

TEST(AlternateStack, LeavesOneThatSomebodyElsePutInItsPlace) {
  std::thread([] {
    stack_t before{};
    ::sigaltstack(nullptr, &before);
    static char theirs[64 << 10];
    {
      alternate_stack mine;
      ASSERT_TRUE(mine.install().has_value());
      stack_t other{};
      other.ss_sp = theirs;
      other.ss_size = sizeof theirs;
      ::sigaltstack(&other, nullptr);
    }
    stack_t after{};
    ::sigaltstack(nullptr, &after);
    EXPECT_EQ(after.ss_sp, theirs);
    before.ss_flags &= SS_DISABLE;
    ::sigaltstack(&before, nullptr);
  }).join();
}

#ifdef WEFT_PLATFORM_INTERPOSED
TEST(AlternateStack, WithoutMemoryThereIsAnErrorAndNothingIsInstalled) {
  stack_t before{};
  ::sigaltstack(nullptr, &before);
  doors.reset();
  doors.fail_from(door::reserve, 1);
  alternate_stack mine;
  EXPECT_EQ(mine.install().error(), std::errc::not_enough_memory);
  doors.reset();
  stack_t after{};
  ::sigaltstack(nullptr, &after);
  EXPECT_EQ(after.ss_sp, before.ss_sp);
  EXPECT_TRUE(mine.install().has_value()) << "it can be tried again";
}
#endif

TEST(AlternateStack, PutsBackWhatWasThere) {
  std::thread([] {
    stack_t before{};
    ::sigaltstack(nullptr, &before);
    {
      alternate_stack mine;
      ASSERT_TRUE(mine.install().has_value());
      stack_t now{};
      ::sigaltstack(nullptr, &now);
      EXPECT_NE(now.ss_sp, before.ss_sp);
      EXPECT_GE(now.ss_size, std::size_t{64} << 10U);
    }
    stack_t after{};
    ::sigaltstack(nullptr, &after);
    EXPECT_EQ(after.ss_sp, before.ss_sp);
    EXPECT_EQ(after.ss_flags, before.ss_flags);
  }).join();
}

}  // namespace
}  // namespace weft::impl
