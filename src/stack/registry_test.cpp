// SPDX-License-Identifier: Apache-2.0

#include "stack/registry.hpp"

#include "stack/stack_pool.hpp"

#include <atomic>
#include <gtest/gtest.h>
#include <thread>
#include <vector>

namespace weft::impl {
namespace {

TEST(Registry, FindsAStackByAnyOfItsBytes) {
  stack_pool pool;
  stack_slot* const a = *pool.take(stack_class());
  stack_slot* const b = *pool.take(stack_class());
  EXPECT_EQ(find_stack(a->low).slot, a);
  EXPECT_EQ(find_stack(a->high() - 1).slot, a);
  EXPECT_EQ(find_stack(a->low - 1).slot, a) << "the guard belongs to the stack above it";
  EXPECT_EQ(find_stack(a->low - guard_bytes).slot, a);
  EXPECT_EQ(find_stack(b->low).slot, b);
  EXPECT_NE(a, b);
  pool.give(*a);
  pool.give(*b);
}

TEST(Registry, KnowsNothingOfOtherMemory) {
  stack_pool pool;
  stack_slot* const slot = *pool.take(stack_class());
  const stack_location found = find_stack(slot->low);
  int local = 0;
  EXPECT_FALSE(find_stack(&local));
  EXPECT_FALSE(find_stack(nullptr));
  EXPECT_FALSE(find_stack(found.in)) << "a slab's header is no stack";
  EXPECT_FALSE(find_stack(found.in->end()));
  pool.give(*slot);
}

TEST(Registry, ForgetsSlabsThatAreGone) {
  const void* inside = nullptr;
  {
    stack_pool pool;
    stack_slot* const slot = *pool.take(stack_class());
    inside = slot->low;
    pool.give(*slot);
    EXPECT_TRUE(find_stack(inside));
  }
  EXPECT_FALSE(find_stack(inside));
}

TEST(Registry, AFullTableIsAnError) {
  std::vector<slab> many(slab_registry_capacity,
                         slab{.first_guard = nullptr, .bytes = 0, .count = 0, .size_class = {}});
  std::size_t registered = 0;
  result<void> last;
  while (registered < many.size() && (last = register_slab(many[registered])).has_value()) ++registered;
  slab one_more{.first_guard = nullptr, .bytes = 0, .count = 0, .size_class = {}};
  EXPECT_EQ(register_slab(one_more).error(), errc::out_of_stacks);
  for (std::size_t i = 0; i < registered; ++i) unregister_slab(many[i]);
  EXPECT_TRUE(register_slab(one_more).has_value());
  unregister_slab(one_more);
}

// Slabs come and go on two threads while a third keeps finding the stack it stands for.
TEST(Registry, FindsWhileOthersComeAndGo) {
  stack_pool pool;
  stack_slot* const mine = *pool.take(stack_class());
  std::atomic<bool> stop{false};
  std::vector<std::thread> churners;
  for (int i = 0; i < 2; ++i) {
    churners.emplace_back([&stop] {
      while (!stop.load(std::memory_order_relaxed)) {
        stack_pool other;
        stack_slot* const theirs = *other.take(stack_class());
        EXPECT_EQ(find_stack(theirs->low).slot, theirs);
        other.give(*theirs);
      }
    });
  }
  for (int i = 0; i < 20000; ++i) ASSERT_EQ(find_stack(mine->low + 100).slot, mine);
  stop = true;
  for (std::thread& t : churners) t.join();
  pool.give(*mine);
}

}  // namespace
}  // namespace weft::impl
