// SPDX-License-Identifier: Apache-2.0

#include "stack/stack_cache.hpp"

#include "sys/platform_interposed.hpp"

#include <gtest/gtest.h>
#include <vector>

namespace weft::impl {
namespace {

TEST(StackCache, TakesABatchAndThenNeedsNobody) {
  doors.reset();
  {
    basic_stack_pool<interposed_platform> pool;
    basic_stack_cache<interposed_platform> cache(pool);
    stack_slot* slot = *cache.take(stack_class());
    EXPECT_EQ(cache.size(stack_class()), basic_stack_cache<interposed_platform>::batch - 1);
    doors.reset();
    for (int i = 0; i < 100; ++i) {
      cache.give(*slot);
      slot = *cache.take(stack_class());
    }
    EXPECT_EQ(doors.calls(door::mutex_lock), 0U) << "a cached stack costs no lock";
    EXPECT_EQ(doors.calls(door::reserve), 0U);
    EXPECT_EQ(doors.calls(door::guard_light) + doors.calls(door::guard_by_protection), 0U);
    EXPECT_EQ(doors.calls(door::discard), 0U);
    cache.give(*slot);
  }
  doors.reset();
}

TEST(StackCache, GivesTheNewestFirst) {
  stack_pool pool;
  stack_cache cache(pool);
  stack_slot* const a = *cache.take(stack_class());
  stack_slot* const b = *cache.take(stack_class());
  cache.give(*a);
  cache.give(*b);
  EXPECT_EQ(*cache.take(stack_class()), b);
  EXPECT_EQ(*cache.take(stack_class()), a);
  cache.give(*a);
  cache.give(*b);
}

TEST(StackCache, TheOldestHalfLeavesWhenThereAreTooMany) {
  stack_pool pool;
  stack_cache cache(pool);
  std::vector<stack_slot*> slots;
  for (std::size_t i = 0; i < stack_cache::most + 1; ++i) slots.push_back(*pool.take(stack_class()));
  for (stack_slot* slot : slots) cache.give(*slot);
  EXPECT_EQ(cache.size(stack_class()), stack_cache::most / 2);
  EXPECT_EQ(*cache.take(stack_class()), slots.back()) << "the newest stays, and stays on top";
  cache.give(*slots.back());
  EXPECT_EQ(pool.stats().warm, stack_cache::most + 1 - stack_cache::most / 2);
}

TEST(StackCache, LargeStacksComeOneByOne) {
  stack_pool pool;
  stack_cache cache(pool);
  stack_slot* const large = *cache.take(*stack_class::holding(8 << 20));
  EXPECT_EQ(cache.size(*stack_class::holding(8 << 20)), 0U);
  EXPECT_EQ(pool.stats().taken, 1U);
  cache.give(*large);
}

TEST(StackCache, PassesThePoolsErrorsOn) {
  doors.reset();
  {
    basic_stack_pool<interposed_platform> pool;
    basic_stack_cache<interposed_platform> cache(pool);
    doors.fail_from(door::reserve, 1);
    EXPECT_EQ(cache.take(stack_class()).error(), errc::out_of_stacks);
  }
  doors.reset();
}

TEST(StackCache, FlushReturnsEverything) {
  stack_pool pool;
  {
    stack_cache cache(pool);
    cache.give(**cache.take(stack_class()));
    EXPECT_EQ(pool.stats().taken, stack_cache::batch);
  }
  EXPECT_EQ(pool.stats().taken, 0U);
}

}  // namespace
}  // namespace weft::impl
