// SPDX-License-Identifier: Apache-2.0
//
// How deep tasks go, by the places where they are spawned; and how many stacks there are.
#include "sched/identity.hpp"
#include "support/sleeping_workers.hpp"
#include "support/stack_user.hpp"

#include <weft/nursery.hpp>
#include <weft/runtime.hpp>
#include <weft/suspend.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <gtest/gtest.h>
#include <thread>
#include <vector>

namespace weft {
namespace {

constexpr std::size_t deep = 64 * 1024;
constexpr std::size_t at_most_beside = 40 * 1024;  // the loop, and the large frames of sanitizers

/// What was noted of a line of this file, once that many were.
stack_use use_of(const runtime& of, std::uint32_t line, std::uint64_t samples = 1) {
  for (;;) {
    const std::vector<stack_use> all = of.stack_uses();
    const auto found = std::find_if(all.begin(), all.end(), [line](const stack_use& each) {
      return each.line == line && each.file.ends_with("stack_use_test.cpp");
    });
    if (found != all.end() && found->samples >= samples) return *found;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

TEST(Stacks, WhoSleepsKeepsNoneForLater) {
  if (impl::tasks_change_stacks) GTEST_SKIP() << "stacks are used in turn, and so there are more";
  constexpr std::size_t waiting = 100;
  constexpr std::size_t most_spare = 64;  // as a worker keeps, each with a loop at its base
  runtime one({.workers = 1});
  std::vector<resumer> by(waiting);
  std::vector<handle<void>> tasks;
  for (resumer& each : by)
    tasks.push_back(one.spawn([&each] { suspend("test", [&](const resumer& mine) { each = mine; }); }));
  testing::await_sleep(one);
  for (const resumer& each : by) each.resume();
  for (auto& each : tasks) each.join();
  testing::await_sleep(one);
  EXPECT_LE(detail::core_of(one)->stacks().stats().taken, most_spare + 1) << "and the one that it sleeps on";
}

TEST(StackUse, IsKnownByThePlaceWhereTasksAreSpawned) {
  runtime one({.workers = 2, .measure_stack_every = 1});
  const std::uint32_t first = __LINE__ + 1;
  for (int i = 0; i < 10; ++i) one.spawn([] { (void)testing::use_stack(deep); }).join();
  const std::uint32_t second = __LINE__ + 1;
  for (int i = 0; i < 10; ++i) one.spawn([] {}).join();
  const stack_use much = use_of(one, first, 10);
  EXPECT_EQ(much.samples, 10U);
  EXPECT_GE(much.deepest, deep);
  EXPECT_LE(much.deepest, deep + at_most_beside);
  EXPECT_GT(much.stack, much.deepest);
  const stack_use little = use_of(one, second, 10);
  EXPECT_EQ(little.samples, 10U);
  EXPECT_LE(little.deepest, at_most_beside) << "what others have left on the stack does not count";
}

TEST(StackUse, IsThatOfAllTasksWhichCameInABurst) {
  runtime one({.workers = 2, .measure_stack_every = 1});
  const std::uint32_t line = __LINE__ + 3;
  const nursery children(one, [](nursery& in) {
    for (int i = 0; i < 100; ++i) {
      in.spawn([i] { (void)testing::use_stack(i == 50 ? deep : 1024); });
    }
  });
  EXPECT_GE(use_of(one, line, 100).deepest, deep);
}

TEST(StackUse, IsThatOfAStackOfItsOwn) {
  constexpr std::size_t large = 1024 * 1024;
  runtime one({.workers = 1, .measure_stack_every = 1});
  const std::uint32_t line = __LINE__ + 1;
  one.spawn({.stack_bytes = large}, [] { (void)testing::use_stack(large / 2); }).join();
  const stack_use seen = use_of(one, line);
  EXPECT_GE(seen.deepest, large / 2);
  EXPECT_GE(seen.stack, large);
}

TEST(StackUse, IsRememberedWhereAStackIsTrimmedInTheMeantime) {
  runtime one({.workers = 2, .measure_stack_every = 1});
  std::atomic<const char*> frame{nullptr};
  resumer by;
  const std::uint32_t line = __LINE__ + 1;
  auto waiting = one.spawn([&] {
    (void)testing::use_stack(deep);
    const char* const here = testing::stack_here();
    suspend("until the test is over", [&](resumer mine) {
      by = mine;
      frame = here;
    });
  });
  while (frame == nullptr) std::this_thread::yield();
  EXPECT_EQ(testing::wait_until_trimmed(frame), nullptr);
  EXPECT_TRUE(by.resume());
  waiting.join();
  EXPECT_GE(use_of(one, line).deepest, deep);
}

std::uint64_t count_samples(runtime& of) {
  std::uint64_t samples = 0;
  for (const stack_use& each : of.stack_uses()) samples += each.samples;
  return samples;
}

constexpr std::uint64_t many = 20'000;
constexpr std::uint64_t too_often = many / 1'000;  // about every 4,000th

TEST(StackUse, IsSampledUnlessToldOtherwise) {
  runtime one({.workers = 1});
  one.spawn([] {
       const nursery children([](nursery& in) {
         for (std::uint64_t i = 0; i < many; ++i) in.spawn([] {});
       });
     })
      .join();
  EXPECT_GE(count_samples(one), 1U);
  EXPECT_LE(count_samples(one), too_often);
}

TEST(StackUse, IsSampledAsRarelyWhereEachTaskWakesItsWorker) {
  runtime one({.workers = 1});
  for (std::uint64_t i = 0; i < many; ++i) one.spawn([] {}).join();
  EXPECT_GE(count_samples(one), 1U);
  EXPECT_LE(count_samples(one), too_often);
}

TEST(StackUse, IsSampledAsRarelyAmongUrgentTasks) {
  runtime one({.workers = 1});
  for (std::uint64_t i = 0; i < many / 10; ++i) one.spawn({.priority = priority::high}, [] {}).join();
  EXPECT_LE(count_samples(one), too_often / 10 + 1);
}

TEST(StackUse, IsNotMeasuredWhereNobodyWantsToKnow) {
  runtime one({.workers = 1, .measure_stack_every = 0});
  for (int i = 0; i < 200; ++i) one.spawn([] {}).join();
  EXPECT_TRUE(one.stack_uses().empty());
}

}  // namespace
}  // namespace weft
