// SPDX-License-Identifier: Apache-2.0

#include "queue/inbox.hpp"

#include "support/interrupting_platform.hpp"
#include "support/run_items.hpp"
#include "sys/platform_interposed.hpp"

#include <algorithm>
#include <cstddef>
#include <gtest/gtest.h>
#include <utility>
#include <vector>

namespace weft::impl {
namespace {

using testing::batch_of;
using testing::numbers;
using testing::range;
using testing::run_items;

TEST(Inbox, GivesOutEverythingInTheOrderOfThePushes) {
  auto items = run_items(4);
  inbox box;
  EXPECT_TRUE(box.drain().empty());
  for (auto& item : items) box.push(item.word());
  run_batch drained = box.drain();
  EXPECT_EQ(drained.size(), 4U);
  EXPECT_EQ(numbers(std::move(drained)), range(0, 4));
  EXPECT_TRUE(box.drain().empty());
}

TEST(Inbox, SaysWhichPushMetAnEmptyBox) {
  auto items = run_items(5);
  inbox box;
  EXPECT_TRUE(box.push(items[0].word()));
  EXPECT_FALSE(box.push(items[1].word()));
  EXPECT_FALSE(box.push(batch_of(items, 2, 4)));
  EXPECT_EQ(numbers(box.drain()).size(), 4U);
  EXPECT_TRUE(box.push(items[4].word()));
  EXPECT_EQ(numbers(box.drain()).size(), 1U);
}

TEST(Inbox, TakesAWholeBatchInItsOrder) {
  auto items = run_items(7);
  inbox box;
  EXPECT_FALSE(box.push(run_batch())) << "an empty batch wakes nobody";
  EXPECT_TRUE(box.empty_approx());
  EXPECT_TRUE(box.push(batch_of(items, 0, 3)));
  box.push(items[3].word());
  box.push(batch_of(items, 4, 7));
  EXPECT_EQ(numbers(box.drain()), range(0, 7));
}

TEST(Inbox, KnowsWhetherItIsEmpty) {
  auto items = run_items(1);
  inbox box;
  EXPECT_TRUE(box.empty_approx());
  EXPECT_TRUE(box.empty_after_barrier());
  box.push(items[0].word());
  EXPECT_FALSE(box.empty_approx());
  EXPECT_FALSE(box.empty_after_barrier());
  EXPECT_EQ(numbers(box.drain()), range(0, 1));
  EXPECT_TRUE(box.empty_after_barrier());
}

TEST(Inbox, KeepsTheKindOfEachRunnable) {
  auto items = run_items(2);
  inbox box;
  box.push(items[0].word(runnable::kind::fiber));
  box.push(items[1].word(runnable::kind::completion));
  run_batch drained = box.drain();
  EXPECT_EQ(drained.pop_front(), items[0].word(runnable::kind::fiber));
  EXPECT_EQ(drained.pop_front(), items[1].word(runnable::kind::completion));
}

TEST(Inbox, WhatWasDrainedMayBePushedAgainAtOnce) {
  auto items = run_items(3);
  inbox box;
  for (int round = 0; round < 3; ++round) {
    box.push(batch_of(items, 0, 3));
    EXPECT_EQ(numbers(box.drain()), range(0, 3));
  }
}

TEST(Inbox, TouchesNoMoreThanItMust) {
  auto items = run_items<interposed_platform>(1);
  basic_inbox<interposed_platform> box;
  const auto atomics_in = [](auto&& action) {
    doors.reset();
    action();
    return doors.calls(door::atomic_operation);
  };
  EXPECT_EQ(atomics_in([&] { box.push(items[0].word()); }), 3U) << "a look, its own link, an exchange";
  basic_run_batch<interposed_platform> all;
  EXPECT_EQ(atomics_in([&] { all = box.drain(); }), 3U) << "a look, an exchange, one link";
  EXPECT_EQ(numbers(std::move(all)), range(0, 1));
  basic_run_batch<interposed_platform> none;
  EXPECT_EQ(atomics_in([&] { none = box.drain(); }), 1U) << "an empty inbox costs one load";
  EXPECT_TRUE(none.empty());
  doors.reset();
}

// A push and a drain, each interrupted before each of its steps by a push, a drain, or a drain that pushes back what it
// found: the case in which a word is the same as before and what lies behind it is not.
TEST(Inbox, LosesAndDoublesNothingWhenInterrupted) {
  using platform = testing::interrupting_platform;
  using box_type = basic_inbox<platform>;
  enum { push, drain, bounce, operations };
  for (int outer = push; outer < bounce; ++outer) {
    for (int inner = push; inner < operations; ++inner) {
      bool interrupted = true;
      for (std::uint64_t step = 1; interrupted; ++step) {
        auto items = run_items<platform>(4);
        box_type box;
        std::vector<std::size_t> drained;
        const auto drain_all = [&] {
          for (const std::size_t number : numbers(box.drain())) drained.push_back(number);
        };
        box.push(items[0].word());
        box.push(items[1].word());
        const auto intrude = [&] {
          if (inner == push) box.push(items[3].word());
          if (inner == drain) drain_all();
          if (inner == bounce) box.push(box.drain());
        };
        interrupted = testing::interruptions.run(step, intrude, [&] {
          if (outer == push) box.push(items[2].word());
          if (outer == drain) drain_all();
        });
        drain_all();
        const std::size_t pushed = 2U + (outer == push ? 1U : 0U) + (inner == push && interrupted ? 1U : 0U);
        EXPECT_EQ(drained.size(), pushed) << "outer " << outer << ", inner " << inner << ", step " << step;
        std::sort(drained.begin(), drained.end());
        EXPECT_EQ(std::unique(drained.begin(), drained.end()), drained.end());
      }
    }
  }
}

#ifndef NDEBUG
TEST(InboxDeathTest, AnInboxThatIsNotEmptyMustNotGo) {
  auto items = run_items(1);
  EXPECT_DEATH(
      {
        inbox box;
        box.push(items[0].word());
      },
      "S1: a queue was destroyed with runnables still in it");
}
#endif

}  // namespace
}  // namespace weft::impl
