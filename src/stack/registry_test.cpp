// SPDX-License-Identifier: Apache-2.0

#include "stack/registry.hpp"

#include "stack/stack_pool.hpp"
#include "support/scale.hpp"
#include "sys/platform_interposed.hpp"

#include <array>
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
  EXPECT_EQ(process_slabs.find(a->low).slot, a);
  EXPECT_EQ(process_slabs.find(a->high() - 1).slot, a);
  EXPECT_EQ(process_slabs.find(a->low - 1).slot, a) << "the guard belongs to the stack above it";
  EXPECT_EQ(process_slabs.find(a->low - guard_bytes).slot, a);
  EXPECT_EQ(process_slabs.find(b->low).slot, b);
  EXPECT_NE(a, b);
  pool.give(*a);
  pool.give(*b);
}

TEST(Registry, KnowsNothingOfOtherMemory) {
  stack_pool pool;
  stack_slot* const slot = *pool.take(stack_class());
  const stack_location found = process_slabs.find(slot->low);
  int local = 0;
  EXPECT_FALSE(process_slabs.find(&local));
  EXPECT_FALSE(process_slabs.find(nullptr));
  EXPECT_FALSE(process_slabs.find(found.in)) << "a slab's header is no stack";
  EXPECT_FALSE(process_slabs.find(found.in->end()));
  pool.give(*slot);
}

TEST(Registry, ForgetsSlabsThatAreGone) {
  const void* inside = nullptr;
  {
    stack_pool pool;
    stack_slot* const slot = *pool.take(stack_class());
    inside = slot->low;
    pool.give(*slot);
    EXPECT_TRUE(process_slabs.find(inside));
  }
  EXPECT_FALSE(process_slabs.find(inside));
}

TEST(Registry, AFullTableIsAnError) {
  basic_slab_registry<real_platform, 3> small;
  std::array<slab, 4> slabs{};
  for (std::size_t i = 0; i < 3; ++i) EXPECT_TRUE(small.add(slabs[i]).has_value());
  EXPECT_EQ(small.add(slabs[3]).error(), errc::out_of_stacks);
  small.remove(slabs[1]);
  EXPECT_TRUE(small.add(slabs[3]).has_value());
  EXPECT_EQ(slabs[3].registered_as, 1U);
}

TEST(RegistryDeathTest, RemovingAStrangerIsNamed) {
  using small_registry = basic_slab_registry<real_platform, 3>;
  small_registry small;
  slab stranger;
  EXPECT_DEATH(small.remove(stranger), "G1: a slab leaves the registry that is not in it");
}

// The atomics come through the seam, so that the protocol can be model-checked as it is.
TEST(Registry, TakesItsAtomicsFromThePlatform) {
  basic_slab_registry<interposed_platform, 3> counted;
  slab one;
  doors.reset();
  EXPECT_TRUE(counted.add(one).has_value());
  EXPECT_FALSE(counted.find(&one));
  counted.remove(one);
  EXPECT_GT(doors.calls(door::atomic_operation), 10U);
  doors.reset();
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
        EXPECT_EQ(process_slabs.find(theirs->low).slot, theirs);
        other.give(*theirs);
      }
    });
  }
  for (int i = 0; i < 20000 * testing::repetitions(50); ++i)
    ASSERT_EQ(process_slabs.find(mine->low + 100).slot, mine);
  stop = true;
  for (std::thread& t : churners) t.join();
  pool.give(*mine);
}

}  // namespace
}  // namespace weft::impl
