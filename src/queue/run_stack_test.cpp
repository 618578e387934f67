// SPDX-License-Identifier: Apache-2.0

#include "queue/run_stack.hpp"

#include "support/run_items.hpp"

#include <gtest/gtest.h>
#include <utility>
#include <vector>

namespace weft::impl {
namespace {

using stack = basic_run_stack<default_platform>;
using testing::batch_of;
using testing::numbers;
using testing::range;
using testing::run_items;

TEST(RunStack, GivesAPileNewestFirst) {
  auto items = run_items(3);
  stack word;
  EXPECT_FALSE(word.take_all());
  EXPECT_TRUE(word.push(items[0].word(), items[0].word()));
  EXPECT_FALSE(word.push(items[1].word(), items[1].word()));
  EXPECT_FALSE(word.push(items[2].word(), items[2].word()));
  EXPECT_FALSE(word.empty());
  std::vector<std::size_t> found;
  for (runnable at = word.take_all(); at; at = run_link<default_platform>::of(at).next.read()) {
    found.push_back(testing::run_item<>::of(at).sequence);
  }
  EXPECT_EQ(found, (std::vector<std::size_t>{2, 1, 0}));
  EXPECT_TRUE(word.empty());
}

TEST(RunStack, AChainGoesOnTopAsItIs) {
  auto items = run_items(4);
  stack word;
  word.push(batch_of(items, 2, 4));
  word.push(batch_of(items, 0, 2));
  EXPECT_EQ(numbers(turned_over<default_platform>(word.take_all())), (std::vector<std::size_t>{3, 2, 1, 0}));
}

TEST(RunStack, ABatchTurnedOverTwiceIsTheSame) {
  auto items = run_items(5);
  run_batch there = turned_over(batch_of(items, 0, 5));
  EXPECT_EQ(there.size(), 5U);
  EXPECT_EQ(there.first(), items[4].word());
  EXPECT_EQ(there.last(), items[0].word());
  EXPECT_EQ(numbers(turned_over(std::move(there))), range(0, 5));
  EXPECT_TRUE(turned_over(run_batch()).empty());
  EXPECT_TRUE(turned_over<default_platform>(runnable()).empty());
}

}  // namespace
}  // namespace weft::impl
