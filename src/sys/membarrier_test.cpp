// SPDX-License-Identifier: Apache-2.0
//
// What the kernel's barrier does where it is offered, where it is refused, and where it is taken away later.
//
// A process asks the kernel once and keeps the answer. So every test has a process of its own: this one forks it, and
// never asks itself.

#include "support/child.hpp"
#include "support/scale.hpp"
#include "support/seccomp.hpp"

#include <weft/deque.hpp>
#include <weft/detail/atomics.hpp>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <gtest/gtest.h>
#include <linux/membarrier.h>
#include <optional>
#include <sys/syscall.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace weft::detail {
namespace {

using testing::child_outcome;

constexpr int cannot_be_tested_here = 77;

// Runs a test in a process of its own; skips it where the process says so.
#define WEFT_IN_A_PROCESS_OF_ITS_OWN(...)                                                       \
  do {                                                                                          \
    const child_outcome outcome = testing::run_in_child(__VA_ARGS__);                           \
    if (outcome.exited_with(cannot_be_tested_here)) GTEST_SKIP() << outcome.said;               \
    EXPECT_TRUE(outcome.exited_with(0)) << "status " << outcome.status << ": " << outcome.said; \
  } while (false)

void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "%s\n", what);
  std::_Exit(1);
}

void skip_unless(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "%s\n", what);
  std::_Exit(cannot_be_tested_here);
}

void skip_unless_asymmetric() {
  skip_unless(available_barriers() == barrier_kind::asymmetric, "this kernel does not offer membarrier(2)");
}

void refuse_membarrier(int command, int error) {
  skip_unless(testing::refuse_call(SYS_membarrier, static_cast<std::uint32_t>(command),
                                   static_cast<std::uint32_t>(error)),
              "no seccomp filter can be installed here");
}

long raw_membarrier(int command) { return ::syscall(SYS_membarrier, command, 0, 0); }

// One owner and one thief: every item comes out exactly once.
void require_that_a_deque_works() {
  constexpr int items = testing::scaled(200'000, 20'000);
  deque<int> d(2);
  std::vector<std::atomic<int>> taken(items);
  std::atomic<int> stolen_items{0};
  std::atomic<bool> done{false};
  const auto take = [&](int item) {
    taken[static_cast<std::size_t>(item)].fetch_add(1, std::memory_order_relaxed);
  };
  std::thread thief([&, end = d.thief_end()] {
    while (!done.load(std::memory_order_acquire)) {
      const auto stolen = end.steal();
      if (!stolen) continue;
      take(*stolen);
      stolen_items.fetch_add(1, std::memory_order_relaxed);
    }
  });
  d.push(0);
  while (stolen_items.load(std::memory_order_relaxed) == 0)
    std::this_thread::yield();  // now there is a thief
  for (int i = 1; i < items; ++i) {
    d.push(i);
    if (i % 3 != 0) continue;
    while (const std::optional<int> popped = d.pop()) take(*popped);
  }
  while (const std::optional<int> popped = d.pop()) take(*popped);
  done.store(true, std::memory_order_release);
  thief.join();
  for (const std::atomic<int>& times : taken)
    require(times.load() == 1, "an item was not taken exactly once");
}

TEST(Membarrier, IsUsedWhereverTheKernelOffersIt) {
  WEFT_IN_A_PROCESS_OF_ITS_OWN([] {
    const bool offered = raw_membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) == 0 &&
                         raw_membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED) == 0;
    require(available_barriers() == (offered ? barrier_kind::asymmetric : barrier_kind::symmetric),
            offered ? "offered, but not used" : "used, but not offered");
    require_that_a_deque_works();
  });
}

TEST(Membarrier, IsCounted) {
  WEFT_IN_A_PROCESS_OF_ITS_OWN([] {
    skip_unless_asymmetric();
    require(heavy_barrier_count() == 0, "asking for barriers is not issuing one");
    for (int i = 0; i < 3; ++i) fence_all_threads();
    require(heavy_barrier_count() == 3, "three were issued");
    deque<int> d;
    d.push(1);
    (void)d.steal();
    require(heavy_barrier_count() == 4, "a steal issues one");
  });
}

// After the first answer the kernel is asked neither for what it can do nor to register again.
TEST(Membarrier, IsRegisteredOnce) {
  WEFT_IN_A_PROCESS_OF_ITS_OWN([] {
    skip_unless_asymmetric();
    refuse_membarrier(MEMBARRIER_CMD_QUERY, EPERM);
    refuse_membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, EPERM);
    require(available_barriers() == barrier_kind::asymmetric, "the answer has changed");
    require_that_a_deque_works();
  });
}

// The child of a fork shares nothing with its parent's threads, but must be able to go on.
TEST(Membarrier, SurvivesAFork) {
  WEFT_IN_A_PROCESS_OF_ITS_OWN([] {
    skip_unless_asymmetric();
    const child_outcome forked = testing::run_in_child([] {
      require(available_barriers() == barrier_kind::asymmetric, "the answer has changed");
      require(raw_membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED) == 0, "the registration was not inherited");
      require_that_a_deque_works();
    });
    require(forked.exited_with(0), forked.said.c_str());
  });
}

void expect_fall_back(int refused_command, int error) {
  WEFT_IN_A_PROCESS_OF_ITS_OWN([=] {
    refuse_membarrier(refused_command, error);
    require(available_barriers() == barrier_kind::symmetric, "refused, but used");
    require_that_a_deque_works();
    require(heavy_barrier_count() == 0, "refused, but issued");
  });
}

TEST(Membarrier, FallsBackWhereTheKernelHasNone) { expect_fall_back(MEMBARRIER_CMD_QUERY, ENOSYS); }

TEST(Membarrier, FallsBackWhereAFilterForbidsIt) { expect_fall_back(MEMBARRIER_CMD_QUERY, EPERM); }

TEST(Membarrier, FallsBackWhereRegistrationFails) {
  expect_fall_back(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, EPERM);
}

TEST(Membarrier, FallsBackWhereOnlyTheBarrierItselfIsForbidden) {
  expect_fall_back(MEMBARRIER_CMD_PRIVATE_EXPEDITED, EPERM);
}

// Falling back after the fact would be too late: owners that pay for no fence are already running.
TEST(Membarrier, StopsTheProcessWhenItIsForbiddenLater) {
  const child_outcome outcome = testing::run_in_child([] {
    skip_unless_asymmetric();
    deque<int> d;
    d.push(1);
    refuse_membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED, EPERM);
    (void)d.steal();
  });
  if (outcome.exited_with(cannot_be_tested_here)) GTEST_SKIP() << outcome.said;
  EXPECT_TRUE(outcome.died_of(SIGABRT)) << outcome.said;
  EXPECT_TRUE(outcome.mentioned("install the seccomp filter before the first weft object is made"))
      << outcome.said;
}

}  // namespace
}  // namespace weft::detail
