// SPDX-License-Identifier: Apache-2.0

#include "arch/switch.hpp"

#include "support/two_contexts.hpp"

#include <array>
#include <cstdint>
#include <cstring>
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

// The red zone: a leaf function keeps data below its stack pointer. The switch pushes nothing there, which a
// leaf with the switch inlined into it would notice.
TEST(Switch, LeavesTheRedZoneAlone) {
  two_contexts pair([](two_contexts& p) {
    for (;;) p.back();
  });
  volatile std::uint64_t words[12];
  for (std::uint64_t i = 0; i < 12; ++i) words[i] = i * 3;
  pair.over();
  for (std::uint64_t i = 0; i < 12; ++i) EXPECT_EQ(words[i], i * 3);
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
