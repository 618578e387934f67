// SPDX-License-Identifier: Apache-2.0
//
// weft's place in the line of SIGSEGV handlers: what is not weft's must reach whoever was there before.
// Each test runs in a child, since handlers are for the whole process.

#include "sys/fault_handler.hpp"

#include "support/child.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/syscall.h>

namespace weft::impl {
namespace {

using weft::testing::child_outcome;
using weft::testing::run_in_child;

fault_verdict never_ours(const siginfo_t&, void*) noexcept { return fault_verdict::not_ours; }

void say(const char* words) { (void)!::write(STDERR_FILENO, words, __builtin_strlen(words)); }

void reset_segv() {
  struct sigaction plain {};
  plain.sa_handler = SIG_DFL;
  ::sigaction(SIGSEGV, &plain, nullptr);
}

void fault() {
  void* page = ::mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  *static_cast<volatile char*>(page) = 1;
}

TEST(FaultHandler, WithoutAnyoneBeforeItTheFaultKillsAsItWould) {
  const child_outcome outcome = run_in_child([] {
    reset_segv();
    if (!install_fault_handler(&never_ours)) std::_Exit(2);
    fault();
  });
  EXPECT_TRUE(outcome.died_of(SIGSEGV)) << outcome.said;
}

TEST(FaultHandler, AnEarlierSiginfoHandlerGetsTheFault) {
  const child_outcome outcome = run_in_child([] {
    struct sigaction earlier {};
    earlier.sa_flags = SA_SIGINFO;
    earlier.sa_sigaction = [](int, siginfo_t* info, void* context) {
      say(info->si_addr != nullptr && context != nullptr ? "earlier handler\n" : "incomplete\n");
      std::_Exit(7);
    };
    ::sigaction(SIGSEGV, &earlier, nullptr);
    if (!install_fault_handler(&never_ours)) std::_Exit(2);
    fault();
  });
  EXPECT_TRUE(outcome.exited_with(7)) << outcome.said;
  EXPECT_TRUE(outcome.mentioned("earlier handler"));
}

TEST(FaultHandler, AnEarlierPlainHandlerGetsTheFaultWithItsMask) {
  const child_outcome outcome = run_in_child([] {
    struct sigaction earlier {};
    ::sigemptyset(&earlier.sa_mask);
    ::sigaddset(&earlier.sa_mask, SIGUSR1);
    earlier.sa_handler = [](int) {
      sigset_t now;
      ::pthread_sigmask(SIG_BLOCK, nullptr, &now);
      say(::sigismember(&now, SIGUSR1) == 1 ? "masked\n" : "not masked\n");
      std::_Exit(7);
    };
    ::sigaction(SIGSEGV, &earlier, nullptr);
    if (!install_fault_handler(&never_ours)) std::_Exit(2);
    fault();
  });
  EXPECT_TRUE(outcome.exited_with(7)) << outcome.said;
  EXPECT_TRUE(outcome.mentioned("masked"));
  EXPECT_FALSE(outcome.mentioned("not masked"));
}

TEST(FaultHandler, ASignalThatSomebodySentKillsToo) {
  const child_outcome outcome = run_in_child([] {
    reset_segv();
    if (!install_fault_handler(&never_ours)) std::_Exit(2);
    ::kill(::getpid(), SIGSEGV);
    for (;;) ::pause();
  });
  EXPECT_TRUE(outcome.died_of(SIGSEGV)) << outcome.said;
}

TEST(FaultHandler, ASentSignalIsIgnoredWhereItWasIgnoredBefore) {
  const child_outcome outcome = run_in_child([] {
    struct sigaction ignore {};
    ignore.sa_handler = SIG_IGN;
    ::sigaction(SIGSEGV, &ignore, nullptr);
    if (!install_fault_handler(&never_ours)) std::_Exit(2);
    ::kill(::getpid(), SIGSEGV);
    say("still here\n");
  });
  EXPECT_TRUE(outcome.exited_with(0)) << outcome.said;
  EXPECT_TRUE(outcome.mentioned("still here"));
}

// A handler that asked to be called once (SA_RESETHAND) is called once, whether it returns or raises again.
TEST(FaultHandler, AHandlerForOneTimeIsCalledOnce) {
  for (const bool raises_again : {false, true}) {
    const child_outcome outcome = run_in_child([&] {
      static bool again;
      again = raises_again;
      struct sigaction earlier {};
      earlier.sa_flags = static_cast<int>(SA_RESETHAND | SA_NODEFER);
      earlier.sa_handler = [](int) {
        say("called\n");
        if (again) ::raise(SIGSEGV);
      };
      ::sigaction(SIGSEGV, &earlier, nullptr);
      if (!install_fault_handler(&never_ours)) std::_Exit(2);
      fault();
    });
    EXPECT_TRUE(outcome.died_of(SIGSEGV)) << outcome.status;
    const std::size_t first = outcome.said.find("called");
    ASSERT_NE(first, std::string::npos);
    EXPECT_EQ(outcome.said.find("called", first + 1), std::string::npos) << outcome.said;
  }
}

#ifndef WEFT_TEST_EMULATED  // qemu fails an assertion of its own on such a signal
// The kernel's word that a signal found no stack names no address and does not come again by itself.
TEST(FaultHandler, AFaultThatDoesNotRepeatStillKills) {
  const child_outcome outcome = run_in_child([] {
    reset_segv();
    if (!install_fault_handler(&never_ours)) std::_Exit(2);
    siginfo_t info{};
    info.si_signo = SIGSEGV;
    info.si_code = SI_KERNEL;
    // The kernel alone may send this code to others, but a process may queue it to itself.
    ::syscall(SYS_rt_tgsigqueueinfo, ::getpid(), ::syscall(SYS_gettid), SIGSEGV, &info);
    say("survived\n");
  });
  EXPECT_TRUE(outcome.died_of(SIGSEGV)) << outcome.status << outcome.said;
  EXPECT_FALSE(outcome.mentioned("survived"));
}
#endif

TEST(FaultHandler, WhatTheExaminerHandlesGoesNoFurther) {
  const child_outcome outcome = run_in_child([] {
    reset_segv();
    static void* page = ::mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    const auto repair = [](const siginfo_t&, void*) noexcept {
      ::mprotect(page, 4096, PROT_READ | PROT_WRITE);
      return fault_verdict::handled;
    };
    if (!install_fault_handler(repair)) std::_Exit(2);
    errno = 1234;
    *static_cast<volatile char*>(page) = 5;
    if (errno != 1234) say("errno was lost\n");
    if (*static_cast<volatile char*>(page) == 5) say("repaired\n");
  });
  EXPECT_TRUE(outcome.exited_with(0)) << outcome.said;
  EXPECT_TRUE(outcome.mentioned("repaired"));
  EXPECT_FALSE(outcome.mentioned("errno was lost"));
}

}  // namespace
}  // namespace weft::impl
