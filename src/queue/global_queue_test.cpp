// SPDX-License-Identifier: Apache-2.0

#include "queue/global_queue.hpp"

#include "support/interrupting_platform.hpp"
#include "support/run_items.hpp"

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

TEST(GlobalQueue, GivesOutTheOldestFirst) {
  auto items = run_items(5);
  global_queue queue;
  for (auto& item : items) queue.push(item.word());
  EXPECT_EQ(numbers(queue.try_take(2).items), range(0, 2));
  EXPECT_EQ(numbers(queue.try_take(2).items), range(2, 4));
  EXPECT_EQ(numbers(queue.try_take(2).items), range(4, 5));
  EXPECT_EQ(queue.try_take(2).outcome, take_outcome::empty);
}

TEST(GlobalQueue, SaysWhatIsLeft) {
  auto items = run_items(2);
  global_queue queue;
  EXPECT_FALSE(queue.try_take(1).left_some);
  queue.push(items[0].word());
  queue.push(items[1].word());
  global_queue::taking first = queue.try_take(1);
  EXPECT_EQ(first.outcome, take_outcome::taken);
  EXPECT_TRUE(first.left_some);
  EXPECT_EQ(numbers(std::move(first.items)), range(0, 1));
  global_queue::taking second = queue.try_take(1);
  EXPECT_EQ(second.outcome, take_outcome::taken);
  EXPECT_FALSE(second.left_some);
  EXPECT_EQ(numbers(std::move(second.items)), range(1, 2));
}

TEST(GlobalQueue, KnowsWhetherItIsEmpty) {
  auto items = run_items(2);
  global_queue queue;
  EXPECT_TRUE(queue.empty());
  queue.push(items[0].word());
  queue.push(items[1].word());
  EXPECT_FALSE(queue.empty());
  EXPECT_EQ(numbers(queue.try_take(1).items), range(0, 1));
  EXPECT_FALSE(queue.empty());
  EXPECT_EQ(numbers(queue.try_take(1).items), range(1, 2));
  EXPECT_TRUE(queue.empty());
}

// Single pushes, batches and takes of all sizes, in all orders: always the oldest, never too many.
TEST(GlobalQueue, TakesBatchesInTheirOrder) {
  auto items = run_items(24);
  for (std::size_t put = 1; put <= 6; ++put) {
    for (std::size_t take = 1; take <= 8; ++take) {
      global_queue queue;
      std::size_t pushed = 0;
      std::size_t taken = 0;
      while (taken < items.size()) {
        for (int twice = 0; twice < 2 && pushed < items.size(); ++twice) {
          const std::size_t until = std::min(pushed + put, items.size());
          if (put == 1) {
            queue.push(items[pushed].word());
          } else {
            queue.push(batch_of(items, pushed, until));
          }
          pushed = until;
        }
        global_queue::taking some = queue.try_take(take);
        const std::size_t expected = std::min(take, pushed - taken);
        ASSERT_EQ(numbers(std::move(some.items)), range(taken, taken + expected));
        taken += expected;
        ASSERT_EQ(some.left_some, taken < pushed);
        ASSERT_EQ(queue.empty(), taken == pushed);
      }
    }
  }
}

TEST(GlobalQueue, AnEmptyBatchIsNothing) {
  global_queue queue;
  queue.push(run_batch());
  EXPECT_TRUE(queue.empty());
  EXPECT_EQ(queue.try_take(1).outcome, take_outcome::empty);
}

TEST(GlobalQueue, KeepsTheKindOfEachRunnable) {
  auto items = run_items(2);
  global_queue queue;
  queue.push(items[0].word(runnable::kind::fiber));
  queue.push(items[1].word(runnable::kind::coroutine));
  run_batch both = queue.try_take(2).items;
  EXPECT_EQ(both.pop_front(), items[0].word(runnable::kind::fiber));
  EXPECT_EQ(both.pop_front(), items[1].word(runnable::kind::coroutine));
}

TEST(GlobalQueue, AMillionAreTakenWithoutTurningThemOver) {
  auto items = run_items(1'000'000);
  global_queue queue;
  for (auto& item : items) queue.push(item.word());
  std::size_t expected = 0;
  while (!queue.empty()) {
    run_batch some = queue.try_take(1000).items;
    ASSERT_EQ(some.size(), 1000U);
    while (const runnable next = some.pop_front()) {
      ASSERT_EQ(testing::run_item<>::of(next).sequence, expected++);
    }
  }
  EXPECT_EQ(expected, items.size());
}

// Every operation interrupted before each of its steps by every other one, on queues of 0 to 3 runnables.
struct InterruptedGlobalQueueTest : ::testing::Test {
  using platform = testing::interrupting_platform;
  using queue = basic_global_queue<platform>;
  using item = testing::run_item<platform>;
  enum class operation { push_one, push_two, take_one, take_three };
  static constexpr operation all[] = {operation::push_one, operation::push_two, operation::take_one,
                                      operation::take_three};

  // One queue, filled with `before` runnables: producer 0 pushed them, 1 and 2 are the two operations.
  struct scene {
    explicit scene(std::size_t before) {
      for (std::size_t i = 0; i < before; ++i) {
        under_test.push(older[i].word());
        ++pushed;
      }
    }

    void perform(operation what, std::vector<item>& own) {
      switch (what) {
        case operation::push_one:
          under_test.push(own[0].word());
          pushed += 1;
          break;
        case operation::push_two:
          under_test.push(testing::batch_of(own, 0, 2));
          pushed += 2;
          break;
        case operation::take_one: take(1); break;
        case operation::take_three: take(3); break;
      }
    }

    void take(std::size_t n) {
      queue::taking got = under_test.try_take(n);
      handed_out += got.items.size();
      const std::size_t there = pushed - handed_out;  // also what an interruption has changed
      EXPECT_LE(got.items.size(), n);
      EXPECT_EQ(got.items.empty(), got.outcome != take_outcome::taken);
      EXPECT_TRUE(got.outcome != take_outcome::empty || there == 0) << "what was pushed is not seen";
      last = got.outcome;
      while (const runnable next = got.items.pop_front()) taken.push_back(&item::of(next));
    }

    // Everything came out once, and each producer's in its order.
    void finish() {
      while (!under_test.empty()) {
        take(2);
        ASSERT_EQ(last, take_outcome::taken) << "busy, and nobody is at it";
      }
      EXPECT_EQ(taken.size(), pushed);
      std::size_t next[3] = {0, 0, 0};
      for (const item* one : taken) EXPECT_EQ(one->sequence, next[one->producer]++);
    }

    std::vector<item> older = testing::run_items<platform>(3, 0);
    queue under_test;
    std::size_t pushed = 0;
    std::size_t handed_out = 0;
    std::vector<const item*> taken;
    take_outcome last = take_outcome::empty;
  };
};

TEST_F(InterruptedGlobalQueueTest, LosesAndDoublesNothing) {
  int busy_beside_a_push = 0;
  int busy_beside_a_take = 0;
  for (std::size_t before = 0; before <= 3; ++before) {
    for (const operation outer : all) {
      for (const operation inner : all) {
        bool interrupted = true;
        for (std::uint64_t step = 1; interrupted; ++step) {
          auto outer_items = run_items<platform>(2, 1);
          auto inner_items = run_items<platform>(2, 2);
          scene s(before);
          const auto intrude = [&] {
            s.perform(inner, inner_items);
            if (s.last != take_outcome::busy) return;
            ++(outer == operation::push_one || outer == operation::push_two ? busy_beside_a_push
                                                                            : busy_beside_a_take);
          };
          interrupted = testing::interruptions.run(step, intrude, [&] { s.perform(outer, outer_items); });
          s.finish();
          ASSERT_FALSE(HasFailure()) << "before " << before << ", step " << step << ", outer "
                                     << static_cast<int>(outer) << ", inner " << static_cast<int>(inner);
        }
      }
    }
  }
  EXPECT_GT(busy_beside_a_push, 0) << "no interruption fell between the two steps of a push";
  EXPECT_GT(busy_beside_a_take, 0) << "no interruption fell into a take";
}

#ifndef NDEBUG
TEST(GlobalQueueDeathTest, AQueueThatIsNotEmptyMustNotGo) {
  auto items = run_items(1);
  EXPECT_DEATH(
      {
        global_queue queue;
        queue.push(items[0].word());
      },
      "Q2: a global queue was destroyed with runnables still in it");
}
#endif

}  // namespace
}  // namespace weft::impl
