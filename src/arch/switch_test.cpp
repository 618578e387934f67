// SPDX-License-Identifier: Apache-2.0

#include "arch/switch.hpp"

#include "support/two_contexts.hpp"

#include <array>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <gtest/gtest.h>

namespace weft::impl {
namespace {

using testing::two_contexts;

TEST(Switch, GoesOverAndBack) {
  two_contexts pair([](two_contexts& p) {
    for (;;) {
      ++p.seen;
      p.back();
    }
  });
  for (int i = 1; i <= 1000; ++i) {
    pair.over();
    ASSERT_EQ(pair.seen, i);
  }
}

TEST(Switch, AFunctionThatEndsLeavesForGood) {
  two_contexts pair([](two_contexts& p) { p.seen = 7; });
  pair.over();
  EXPECT_EQ(pair.seen, 7);
}

// Integers, doubles, vectors and long doubles that are alive over a switch, on both sides, survive it.
template <int Salt>
__attribute__((noinline)) bool keeps_everything(two_contexts& pair, void (two_contexts::*go)()) {
  std::array<std::uint64_t, 24> integers{};
  std::array<double, 24> doubles{};
  long double extended = 1.25L + Salt;
  using vector = double __attribute__((vector_size(32)));
  vector wide = {1.0 + Salt, 2.0, 3.0, 4.0};
  for (std::size_t i = 0; i < integers.size(); ++i) {
    integers[i] = i * 0x9e3779b97f4a7c15U + Salt;
    doubles[i] = static_cast<double>(i) * 1.5 + Salt;
    asm volatile("" : "+r"(integers[i]));
  }
  bool kept = true;
  for (int round = 0; round < 100; ++round) {
    (pair.*go)();
    for (std::size_t i = 0; i < integers.size(); ++i) {
      kept = kept && integers[i] == i * 0x9e3779b97f4a7c15U + Salt + static_cast<std::uint64_t>(round);
      kept = kept && doubles[i] == static_cast<double>(i) * 1.5 + Salt + round;
      integers[i] += 1;
      doubles[i] += 1;
    }
    kept = kept && extended == 1.25L + Salt + round;
    kept = kept && wide[0] == 1.0 + Salt + round && wide[3] == 4.0 + round;
    extended += 1;
    wide += 1.0;
  }
  return kept;
}

TEST(Switch, KeepsWhatIsAliveOnBothSides) {
  two_contexts pair([](two_contexts& p) {
    p.seen = keeps_everything<1000>(p, &two_contexts::back) ? 1 : 2;
    p.back();
  });
  EXPECT_TRUE(keeps_everything<1>(pair, &two_contexts::over));
  pair.over();
  EXPECT_EQ(pair.seen, 1);
}

// The red zone: a leaf function keeps data below its stack pointer. The switch is inlined into this one and pushes
// nothing, or it would write over that data. (Sanitizers add calls, and so there is no leaf any more.)
WEFT_SWITCHES bool leaf_keeps_its_red_zone(two_contexts& pair) {
  volatile std::uint64_t words[12];
  for (std::uint64_t i = 0; i < 12; ++i) words[i] = i * 3 + 1;
  switch_context<switch_edge::ordered>(pair.carrier, pair.here(), pair.there);
  bool kept = true;
  for (std::uint64_t i = 0; i < 12; ++i) kept = kept && words[i] == i * 3 + 1;
  return kept;
}

TEST(Switch, LeavesTheRedZoneAlone) {
  two_contexts pair([](two_contexts& p) {
    for (;;) p.back();
  });
  EXPECT_TRUE(leaf_keeps_its_red_zone(pair));
}

TEST(Switch, ContextsStartWithAlignedStacks) {
  two_contexts pair([](two_contexts& p) {
    alignas(32) volatile char probe = 0;
    alignas(16) volatile char probe16 = 0;
    p.seen = reinterpret_cast<std::uintptr_t>(&probe) % 32 == 0 &&
             reinterpret_cast<std::uintptr_t>(&probe16) % 16 == 0;
  });
  pair.over();
  EXPECT_TRUE(pair.seen);
}

// E1: a running context's record holds no exceptions; the thread's words are the truth.
TEST(Switch, ExchangesExceptionStateBothWays) {
  exception_state thread{};
  exception_state from{};
  exception_state to{};
  exchange_exception_state(thread, from, to);
  EXPECT_TRUE(thread.empty() && from.empty() && to.empty());

  int exception = 0;
  thread = {&exception, 1};
  exchange_exception_state(thread, from, to);
  EXPECT_TRUE(thread.empty());
  EXPECT_EQ(from.caught, &exception);
  EXPECT_EQ(from.uncaught, 1U);

  exchange_exception_state(thread, to, from);  // and back
  EXPECT_EQ(thread.caught, &exception);
  EXPECT_EQ(thread.uncaught, 1U);
  EXPECT_TRUE(from.empty() && to.empty());
}

#if WEFT_ADDRESS_SANITIZER
// Frames of an abandoned context never return: what AddressSanitizer keeps for them must go all the same.
__attribute__((noinline)) void park_with_locals(two_contexts& pair) {
  volatile char locals[64];
  locals[0] = 1;
  pair.back();
  locals[1] = locals[0];
}

TEST(SwitchUnderAddressSanitizer, AnAbandonedContextLeavesNoPoisonBehind) {
  const auto poisoned = [](two_contexts& pair) {
    return __asan_region_is_poisoned(pair.memory, two_contexts::stack_bytes) != nullptr;
  };
  two_contexts pair(&park_with_locals);
  pair.over();
  forget_context(pair.there);
  EXPECT_FALSE(poisoned(pair));
}

TEST(SwitchUnderAddressSanitizer, AbandonedContextsLeaveNoFakeStacksBehind) {
  const auto abandon = [] {
    two_contexts pair(&park_with_locals);
    pair.over();
  };
  const auto address_space_pages = [] {
    std::ifstream statm("/proc/self/statm");
    long pages = 0;
    statm >> pages;
    return pages;
  };
  for (int i = 0; i < 20; ++i) abandon();
  const long before = address_space_pages();
  for (int i = 0; i < 200; ++i) abandon();
  EXPECT_LT(address_space_pages() - before, 25'000) << "a fake stack is some 700 pages";
}

TEST(SwitchUnderAddressSanitizer, WhatOnlyAParkedContextHoldsIsNoLeak) {
  two_contexts pair([](two_contexts& p) {
    auto* const held = new int(7);
    asm volatile("" : : "r"(held) : "memory");
    p.back();
    delete held;
    p.back();
  });
  pair.over();
  EXPECT_EQ(__lsan_do_recoverable_leak_check(), 0);
  pair.over();
}
#endif

#ifndef NDEBUG
TEST(SwitchDeathTest, SwitchingToARunningContextIsNamed) {
  two_contexts pair([](two_contexts& p) {
    for (;;) p.over();  // it runs already
  });
  EXPECT_DEATH(pair.over(), "C1: switching to a context that is not parked");
}
#endif

TEST(SwitchDeathTest, AStackMustEndAligned) {
  context c;
  alignas(16) static char memory[4096];
  EXPECT_DEATH(make_context(
                   c, memory, 4090, [](void*) {}, nullptr),
               "multiple of 16 bytes");
}

}  // namespace
}  // namespace weft::impl
