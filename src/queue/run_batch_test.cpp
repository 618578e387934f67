// SPDX-License-Identifier: Apache-2.0

#include "queue/run_batch.hpp"

#include "support/run_items.hpp"

#include <gtest/gtest.h>
#include <utility>

namespace weft::impl {
namespace {

using testing::batch_of;
using testing::numbers;
using testing::range;
using testing::run_items;

TEST(RunBatch, IsFirstInFirstOut) {
  auto items = run_items(3);
  run_batch batch;
  EXPECT_TRUE(batch.empty());
  EXPECT_FALSE(batch.pop_front());
  for (auto& item : items) batch.push_back(item.word());
  EXPECT_EQ(batch.size(), 3U);
  EXPECT_EQ(batch.first(), items[0].word());
  EXPECT_EQ(batch.last(), items[2].word());
  EXPECT_EQ(numbers(std::move(batch)), range(0, 3));
}

TEST(RunBatch, KeepsTheKindOfEachRunnable) {
  auto items = run_items(3);
  run_batch batch;
  batch.push_back(items[0].word(runnable::kind::fiber));
  batch.push_back(items[1].word(runnable::kind::completion));
  batch.push_front(items[2].word(runnable::kind::coroutine));
  EXPECT_EQ(batch.pop_front().what(), runnable::kind::coroutine);
  EXPECT_EQ(batch.pop_front().what(), runnable::kind::fiber);
  EXPECT_EQ(batch.pop_front().what(), runnable::kind::completion);
  EXPECT_TRUE(batch.empty());
}

TEST(RunBatch, WhatIsPushedInFrontComesFirst) {
  auto items = run_items(3);
  run_batch batch;
  for (std::size_t i = 3; i-- > 0;) batch.push_front(items[i].word());
  EXPECT_EQ(batch.last(), items[2].word());
  EXPECT_EQ(numbers(std::move(batch)), range(0, 3));
}

TEST(RunBatch, AppendsAllOfAnother) {
  auto items = run_items(5);
  run_batch batch;
  batch.append(batch_of(items, 0, 0));
  EXPECT_TRUE(batch.empty());
  batch.append(batch_of(items, 0, 2));  // to nothing
  run_batch more = batch_of(items, 2, 5);
  batch.append(std::move(more));
  EXPECT_TRUE(more.empty());  // NOLINT(bugprone-use-after-move): a batch that was moved from is empty
  batch.append(run_batch());
  EXPECT_EQ(batch.size(), 5U);
  EXPECT_EQ(numbers(std::move(batch)), range(0, 5));
}

TEST(RunBatch, SplitsAnywhere) {
  auto items = run_items(5);
  for (std::size_t n = 0; n <= 7; ++n) {
    const std::size_t cut = std::min<std::size_t>(n, 5);
    run_batch batch = batch_of(items, 0, 5);
    run_batch oldest = batch.split_off(n);
    EXPECT_EQ(oldest.size(), cut);
    EXPECT_EQ(batch.size(), 5 - cut);
    EXPECT_EQ(numbers(std::move(oldest)), range(0, cut));
    EXPECT_EQ(numbers(std::move(batch)), range(cut, 5));
  }
}

TEST(RunBatch, CanBeUsedAgainAfterItWasEmptied) {
  auto items = run_items(4);
  run_batch batch = batch_of(items, 0, 2);
  EXPECT_EQ(numbers(batch.split_off(2)), range(0, 2));
  batch.push_back(items[3].word());
  batch.push_back(items[2].word());
  EXPECT_EQ(numbers(std::move(batch)), (std::vector<std::size_t>{3, 2}));
}

TEST(RunBatch, MovesAndLeavesNothingBehind) {
  auto items = run_items(2);
  run_batch first = batch_of(items, 0, 2);
  run_batch second = std::move(first);
  EXPECT_TRUE(first.empty());  // NOLINT(bugprone-use-after-move): a batch that was moved from is empty
  first = std::move(second);
  EXPECT_EQ(numbers(std::move(first)), range(0, 2));
}

#ifndef NDEBUG
TEST(RunBatchDeathTest, ADroppedBatchIsNamed) {
  auto items = run_items(1);
  EXPECT_DEATH({ const run_batch dropped = batch_of(items, 0, 1); }, "B2: a batch was dropped");
  EXPECT_DEATH(
      {
        run_batch overwritten = batch_of(items, 0, 1);
        overwritten = run_batch();
      },
      "B2: a batch that still holds runnables was overwritten");
}
#endif

}  // namespace
}  // namespace weft::impl
