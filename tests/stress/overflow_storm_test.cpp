// SPDX-License-Identifier: Apache-2.0
//
// A thousand processes, each with a fiber that leaves its stack somewhere else and in another way; each must be
// named, and named rightly.

#include "base/rng.hpp"
#include "support/child.hpp"
#include "support/fibers.hpp"
#include "support/recursion.hpp"
#include "support/scale.hpp"
#include "support/seed.hpp"

#include <alloca.h>
#include <gtest/gtest.h>
#include <string>
#include <vector>

namespace weft::impl {
namespace {

using testing::child_outcome;
using testing::run_in_child;

struct crime {
  std::uint64_t id;
  std::string name;
  stack_class size;
  std::uint32_t depth;  // how much stack is used before, in bytes
  bool large_frame;     // by one frame larger than what is left, or by many small ones
};

// Takes a stack frame whose size is only known here, and touches its far end alone.
__attribute__((noinline)) int take_frame(std::size_t bytes) {
  auto* const frame = static_cast<volatile char*>(alloca(bytes));
  frame[0] = 1;
  return frame[0];
}

// Uses about `bytes` of stack, then leaves the stack in the way chosen.
__attribute__((noinline)) int descend(std::uint32_t bytes, const crime& c) {
  volatile char frame[256];
  frame[bytes % 256] = 1;
  if (bytes > 512) return descend(bytes - 512, c) + frame[0];
  return c.large_frame ? take_frame(c.size.bytes() + guard_bytes / 2) : testing::recurse(0);
}

crime random_crime(xoshiro256ss& random, std::uint64_t id) {
  const stack_class size = stack_class::at(random.below(stack_class::count));
  return {id, "fiber-" + std::to_string(random.below(1'000'000)), size,
          random.below(static_cast<std::uint32_t>(size.bytes() / 4)), random.below(2) == 0};
}

[[noreturn]] void commit(const crime& c, xoshiro256ss random) {
  stack_pool pool;
  if (!install_overflow_handler()) std::_Exit(2);
  testing::fiber_thread here;
  // Innocent neighbours of the same size, so that a wrong neighbour could be named.
  std::vector<std::unique_ptr<manual_fiber>> others;
  const std::uint32_t before = random.below(5);
  for (std::uint32_t i = 0; i < 6; ++i) {
    const bool culprit = i == before;
    others.push_back(std::make_unique<manual_fiber>(
        pool, c.size,
        stack_owner{
            culprit ? c.id : 900'000 + i, culprit ? c.name.c_str() : "neighbour", {"crime.cpp", i + 1}},
        [&c, culprit](manual_fiber& self) {
          if (culprit) descend(c.depth, c);
          self.pause();
        }));
  }
  for (auto& fiber : others) fiber->resume();
  std::_Exit(0);
}

TEST(OverflowStorm, EveryOneIsNamedRightly) {
  xoshiro256ss random(testing::test_seed());
  const int children = testing::scaled(1000, 60) * testing::repetitions(10);
  int large = 0;
  for (int i = 0; i < children; ++i) {
    const crime c = random_crime(random, static_cast<std::uint64_t>(i) + 1);
    large += c.large_frame ? 1 : 0;
    const xoshiro256ss theirs = random.split();
    const child_outcome outcome = run_in_child([&] { commit(c, theirs); });
    const std::string expected = "weft: stack overflow in fiber " + std::to_string(c.id) + " '" + c.name +
                                 "' (stack " + std::to_string(c.size.bytes() >> 10U) +
                                 " KiB, spawned at crime.cpp:";
    ASSERT_TRUE(outcome.died_of(SIGABRT)) << "child " << i << " status " << outcome.status << "\n"
                                          << outcome.said;
    ASSERT_TRUE(outcome.mentioned(expected)) << "child " << i << " expected " << expected << "\n"
                                             << outcome.said;
    ASSERT_FALSE(outcome.mentioned("'neighbour'")) << "child " << i << "\n" << outcome.said;
  }
  std::printf("%d overflows named, %d of them by one large frame\n", children, large);
}

}  // namespace
}  // namespace weft::impl
