// SPDX-License-Identifier: Apache-2.0

#include "stack/stack_pool.hpp"

#include "support/residency.hpp"
#include "support/scale.hpp"
#include "sys/platform_interposed.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <gtest/gtest.h>
#include <set>
#include <thread>
#include <vector>

namespace weft::impl {
namespace {

using testing::scaled;
using interposed_pool = basic_stack_pool<interposed_platform>;

TEST(StackPool, HandsOutGuardedStacksOfEachSize) {
  stack_pool pool;
  for (std::size_t i = 0; i < stack_class::count; ++i) {
    stack_slot* const slot = *pool.take(stack_class::at(i));
    EXPECT_EQ(slot->size(), stack_class::at(i).bytes());
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(slot->high()) % 16, 0U);
    slot->low[0] = 1;  // the lowest and the highest byte are usable
    slot->high()[-1] = 1;
    EXPECT_TRUE(system_memory::guard_holds(slot->low - 1));
    EXPECT_TRUE(system_memory::guard_holds(slot->low - guard_bytes));
    pool.give(*slot);
  }
}

TEST(StackPool, GuardsEveryStackAlsoBeyondOneSlab) {
  stack_pool pool;
  std::vector<stack_slot*> slots;
  std::set<char*> places;
  for (int i = 0; i < 500; ++i) {
    slots.push_back(*pool.take(*stack_class::holding(8 << 10)));
    places.insert(slots.back()->low);
    ASSERT_TRUE(slots.back()->guard.has_value());
  }
  EXPECT_EQ(places.size(), slots.size());
  EXPECT_EQ(pool.stats().taken, 500U);
  EXPECT_EQ(pool.stats().slabs, 3U);  // 64, 256, 1024
  for (stack_slot* slot : slots) {
    ASSERT_TRUE(system_memory::guard_holds(slot->low - 1));
    pool.give(*slot);
  }
  EXPECT_EQ(pool.stats().taken, 0U);
  EXPECT_EQ(pool.stats().warm, 500U);
}

// A system with pages as large as the guard (64 KiB on aarch64, where some distributions have such): nothing may
// assume 4 KiB.
struct large_page_memory : system_memory {
  static constexpr std::size_t page = guard_bytes;
  static std::size_t page_size() noexcept { return page; }
  static result<void*> reserve(std::size_t bytes) noexcept {
    EXPECT_EQ(bytes % page, 0U);
    return system_memory::reserve(bytes);
  }
  static result<void> discard(void* at, std::size_t bytes) noexcept {
    EXPECT_EQ(bytes % page, 0U);
    return system_memory::discard(at, bytes);
  }
};
struct large_page_platform : real_platform {
  using memory = large_page_memory;
};

TEST(StackPool, StacksAreWholePagesWhereverPagesAreLarge) {
  using large_pool = basic_stack_pool<large_page_platform>;
  large_pool pool({.warm_limit = 0});
  EXPECT_EQ(large_pool::fitting(*stack_class::holding(8 << 10)).bytes(), large_page_memory::page);
  EXPECT_EQ(large_pool::fitting(stack_class()), stack_class());
  stack_slot* const tiny = *pool.take(*stack_class::holding(8 << 10));
  EXPECT_EQ(tiny->size(), large_page_memory::page);
  const stack_location where = process_slabs.find(tiny->low);
  const auto header = static_cast<std::size_t>(where.in->first_guard - reinterpret_cast<char*>(where.in));
  EXPECT_EQ(header % large_page_memory::page, 0U);
  tiny->high()[-1] = 1;
  pool.give(*tiny);
}

TEST(StackPool, GivesTheNewestBackFirst) {
  stack_pool pool;
  stack_slot* const a = *pool.take(stack_class());
  stack_slot* const b = *pool.take(stack_class());
  pool.give(*a);
  pool.give(*b);
  EXPECT_EQ(*pool.take(stack_class()), b);
  EXPECT_EQ(*pool.take(stack_class()), a);
  pool.give(*a);
  pool.give(*b);
}

TEST(StackPool, CoolsDownWhatIsBeyondWhatShallBeKept) {
  stack_pool pool;
  std::array<stack_slot*, 6> taken{};
  for (stack_slot*& each : taken) {
    each = *pool.take(stack_class());
    each->high()[-1] = 1;
  }
  for (stack_slot* each : taken) pool.give(*each);
  EXPECT_TRUE(pool.has_warm_approx(5));
  EXPECT_FALSE(pool.has_warm_approx(6));
  EXPECT_EQ(pool.cool(6, 10), 0U);
  EXPECT_EQ(pool.cool(2, 3), 3U) << "no more at a time than asked for";
  EXPECT_EQ(pool.cool(2, 3), 1U);
  EXPECT_EQ(pool.stats().warm, 2U);
  EXPECT_EQ(pool.stats().cold, 4U);
  EXPECT_EQ(pool.stats().taken, 0U);
  const auto resident = std::count_if(taken.begin(), taken.end(), [](const stack_slot* each) {
    return testing::lowest_resident(each->low, each->size()) != nullptr;
  });
  EXPECT_EQ(resident, 2);
  EXPECT_FALSE(pool.has_warm_approx(2));
}

TEST(StackPool, BeyondTheBoundMemoryGoesBackToTheKernel) {
  stack_pool pool({.warm_limit = 1});
  stack_slot* const a = *pool.take(stack_class());
  stack_slot* const b = *pool.take(stack_class());
  a->high()[-1] = 1;
  b->high()[-1] = 1;
  pool.give(*a);
  pool.give(*b);
  EXPECT_EQ(pool.stats().warm, 1U);
  EXPECT_EQ(pool.stats().cold, 1U);
  EXPECT_EQ(testing::lowest_resident(b->low, b->size()), nullptr);
  EXPECT_NE(testing::lowest_resident(a->low, a->size()), nullptr);
  EXPECT_EQ(*pool.take(stack_class()), a) << "warm before cold";
  EXPECT_EQ(*pool.take(stack_class()), b);
  EXPECT_TRUE(system_memory::guard_holds(b->low - 1)) << "discarding must not remove the guard";
  pool.give(*a);
  pool.give(*b);
}

TEST(StackPool, AScrubbingPoolShowsNobodyWhatWasThere) {
  stack_pool pool({.scrub = true});
  stack_slot* slot = *pool.take(stack_class());
  std::memset(slot->low, 0x5a, slot->size());
  pool.give(*slot);
  slot = *pool.take(stack_class());
  for (std::size_t i = 0; i < slot->size(); i += 8) ASSERT_EQ(slot->low[i], 0);
  pool.give(*slot);
}

TEST(StackPool, ScrubsAlsoWhereTheKernelWillNotDiscard) {
  doors.reset();
  {
    interposed_pool pool({.scrub = true});
    stack_slot* slot = *pool.take(stack_class());
    std::memset(slot->low, 0x5a, slot->size());
    doors.fail_from(door::discard, 1);
    pool.give(*slot);
    slot = *pool.take(stack_class());
    for (std::size_t i = 0; i < slot->size(); i += 8) ASSERT_EQ(slot->low[i], 0);
    pool.give(*slot);
  }
  doors.reset();
}

TEST(StackPool, ReleaseUnusedKeepsOnlySlabsInUse) {
  doors.reset();
  doors.none_of_each = true;  // so that none is guarded ahead of its use
  interposed_pool pool;
  std::vector<stack_slot*> slots;
  for (int i = 0; i < 100; ++i) slots.push_back(*pool.take(stack_class()));
  EXPECT_EQ(pool.stats().slabs, 2U);
  stack_slot* const kept = slots.back();  // in the second slab
  slots.pop_back();
  for (stack_slot* slot : slots) {
    slot->high()[-1] = 1;
    pool.give(*slot);
  }
  pool.release_unused();
  const stack_pool_stats after = pool.stats();
  EXPECT_EQ(after.slabs, 1U);
  EXPECT_EQ(after.taken, 1U);
  EXPECT_EQ(after.warm, 0U);
  EXPECT_EQ(after.cold, 35U);  // the rest of the second slab that was ever used
  for (int i = 0; i < 50; ++i) slots[static_cast<std::size_t>(i)] = *pool.take(stack_class());  // still works
  for (int i = 0; i < 50; ++i) pool.give(*slots[static_cast<std::size_t>(i)]);
  pool.give(*kept);
  pool.release_unused();
  EXPECT_EQ(pool.stats().slabs, 0U);
  EXPECT_EQ(pool.stats().reserved_bytes, 0U);
  doors.reset();
}

TEST(StackPool, WithoutALargeSlabASmallOneDoes) {
  doors.reset();
  {
    interposed_pool pool;
    doors.reset();
    doors.fail_nth(door::reserve, 1);
    stack_slot* const slot = *pool.take(stack_class());
    EXPECT_EQ(doors.calls(door::reserve), 2U);
    EXPECT_EQ(pool.stats().slabs, 1U);
    pool.give(*slot);
  }
  doors.reset();
}

TEST(StackPool, WithoutAddressSpaceThereIsAnErrorAndNoLeak) {
  doors.reset();
  {
    interposed_pool pool;
    doors.fail_from(door::reserve, 2);
    const result<stack_slot*> none = pool.take(stack_class());
    EXPECT_EQ(none.error(), errc::out_of_stacks);
    EXPECT_EQ(pool.stats().taken, 0U);
  }
  doors.reset();
}

TEST(StackPool, AtTheMappingLimitThereIsAnErrorAndTheStackComesLater) {
  doors.reset();
  doors.guards_lie = true;  // so that guards are made by protection
  {
    interposed_pool pool;
    stack_slot* const first = *pool.take(stack_class());
    doors.fail_from(door::guard_by_protection, 2);
    EXPECT_EQ(pool.take(stack_class()).error(), errc::mapping_limit);
    EXPECT_EQ(pool.stats().taken, 1U);
    EXPECT_EQ(pool.stats().cold, 1U);
    doors.fail_from(door::guard_by_protection, door_plan::no_failure);
    stack_slot* const second = *pool.take(stack_class());
    EXPECT_TRUE(second->guard.has_value()) << "SP2: the stack that failed is guarded when it comes again";
    EXPECT_TRUE(system_memory::guard_holds(second->low - 1));
    pool.give(*first);
    pool.give(*second);
  }
  doors.reset();
}

// Every call to the kernel in a whole life of a pool fails once: there is an error or none, never a leak.
TEST(StackPool, SurvivesTheFailureOfEachSingleCall) {
  const auto life = [] {
    interposed_pool pool({.warm_limit = 10});
    std::vector<stack_slot*> slots;
    for (int i = 0; i < 80; ++i) {
      if (const result<stack_slot*> slot = pool.take(*stack_class::holding(16 << 10))) slots.push_back(*slot);
    }
    for (stack_slot* slot : slots) {
      EXPECT_TRUE(system_memory::guard_holds(slot->low - 1));
      slot->low[0] = 1;
      pool.give(*slot);
    }
    EXPECT_EQ(pool.stats().taken, 0U);
    pool.release_unused();
  };
  int scenarios = 0;
  for (door d : {door::reserve, door::guard_light, door::guard_light_each, door::guard_by_protection,
                 door::guard_holds, door::discard, door::mapping_limit}) {
    for (bool lie : {false, true}) {
      doors.reset();
      doors.guards_lie = lie;
      life();
      const std::uint64_t calls = doors.calls(d);
      const std::uint64_t step = scaled<std::uint64_t>(1, 16);
      for (std::uint64_t n = 1; n <= calls; n += step) {
        doors.reset();
        doors.guards_lie = lie;
        doors.fail_nth(d, n);
        life();
        // What was reserved and got was released. A failed call got nothing.
        const std::uint64_t got = doors.calls(door::reserve) - (d == door::reserve ? 1 : 0);
        ASSERT_EQ(got, doors.calls(door::release)) << "door " << static_cast<int>(d) << " call " << n;
        ++scenarios;
      }
    }
  }
  EXPECT_GT(scenarios, 20);
  doors.reset();
}

// How many calls it took to guard so many stacks lightly.
std::uint64_t calls_to_guard(std::size_t count) {
  interposed_pool pool;
  const std::uint64_t before = doors.calls(door::guard_light) + doors.calls(door::guard_light_each);
  std::vector<stack_slot*> slots;
  for (std::size_t i = 0; i < count; ++i) slots.push_back(*pool.take(*stack_class::holding(16 << 10)));
  const std::uint64_t calls = doors.calls(door::guard_light) + doors.calls(door::guard_light_each) - before;
  for (stack_slot* slot : slots) {
    EXPECT_TRUE(system_memory::guard_holds(slot->low - 1)) << "SP2";
    EXPECT_TRUE(system_memory::guard_holds(slot->low - guard_bytes)) << "SP2";
    EXPECT_FALSE(system_memory::guard_holds(slot->low));
    pool.give(*slot);
  }
  return calls;
}

bool kernel_guards_lightly() { return interposed_pool().guards() == guard_method::light; }
bool kernel_guards_several() {
  constexpr std::size_t bytes = 4 * guard_bytes;
  void* const at = *system_memory::reserve(bytes);
  const std::array<void*, 2> places{at, static_cast<char*>(at) + 2 * guard_bytes};
  const bool works =
      system_memory::guard_light_each(places, guard_bytes) == 2 && system_memory::guard_holds(at);
  system_memory::release(at, bytes);
  return works;
}

TEST(StackPool, TheMoreStacksThereAreTheMoreAreGuardedAtATime) {
  doors.reset();
  const std::uint64_t calls = calls_to_guard(2000);
  if (!kernel_guards_lightly()) {
    EXPECT_EQ(calls, 0U) << "each by protection";
  } else if (kernel_guards_several()) {
    EXPECT_LT(calls, 200U);
  } else {
    EXPECT_GE(calls, 2000U) << "each by itself";
  }
}
TEST(StackPool, AKernelThatGuardsSeveralNoMoreIsAskedOnceAgain) {
  doors.reset();
  if (!kernel_guards_several()) GTEST_SKIP() << "it never did";
  interposed_pool pool;
  std::vector<stack_slot*> slots;
  const auto take = [&](int count) {
    for (int i = 0; i < count; ++i) slots.push_back(*pool.take(*stack_class::holding(16 << 10)));
  };
  take(200);
  const std::uint64_t asked = doors.calls(door::guard_light_each);
  EXPECT_GT(asked, 1U);
  doors.none_of_each = true;  // as when the process locks its memory
  take(500);
  EXPECT_EQ(doors.calls(door::guard_light_each), asked + 1);
  EXPECT_LT(pool.stats().cold, 64U) << "what was carved for the last time";
  for (stack_slot* slot : slots) {
    EXPECT_TRUE(system_memory::guard_holds(slot->low - 1)) << "SP2";
    pool.give(*slot);
  }
  doors.reset();
}
TEST(StackPool, AFewStacksAreGuardedEachWhenItIsNeeded) {
  doors.reset();
  interposed_pool pool;
  stack_slot* const slot = *pool.take(stack_class());
  EXPECT_EQ(doors.calls(door::guard_light_each), 0U);
  EXPECT_EQ(pool.stats().cold, 0U);
  pool.give(*slot);
}
TEST(StackPool, AKernelThatGuardsOneAtATimeIsAskedOnce) {
  doors.reset();
  doors.none_of_each = true;
  (void)calls_to_guard(200);
  EXPECT_EQ(doors.calls(door::guard_light_each), kernel_guards_lightly() ? 1U : 0U);
  doors.reset();
}
TEST(StackPool, AKernelThatLiesAboutSeveralGuardsIsSeenThrough) {
  doors.reset();
  doors.guards_of_each_lie = true;
  (void)calls_to_guard(200);
  EXPECT_EQ(doors.calls(door::guard_light_each), kernel_guards_lightly() ? 1U : 0U);
  doors.reset();
}

TEST(StackPool, SeveralAreTakenAndGivenAtATime) {
  stack_pool pool({.warm_limit = 3});
  slot_chain some;
  ASSERT_TRUE(pool.take_batch(stack_class(), 10, some).has_value());
  EXPECT_EQ(some.size(), 1U) << "none is guarded yet: at least one";
  pool.give_batch(some);
  EXPECT_EQ(pool.stats().warm, 1U);

  std::vector<stack_slot*> slots;
  for (int i = 0; i < 10; ++i) slots.push_back(*pool.take(stack_class()));
  for (stack_slot* slot : slots) some.push(*slot);
  pool.give_batch(some);
  EXPECT_TRUE(some.empty());
  EXPECT_EQ(pool.stats().taken, 0U);
  EXPECT_EQ(pool.stats().warm, 3U) << "no more than the limit";
  EXPECT_GE(pool.stats().cold, 7U);

  ASSERT_TRUE(pool.take_batch(stack_class(), 8, some).has_value());
  EXPECT_EQ(some.size(), 8U);
  EXPECT_EQ(pool.stats().taken, 8U);
  std::set<stack_slot*> different;
  while (stack_slot* const slot = some.try_pop()) {
    EXPECT_TRUE(system_memory::guard_holds(slot->low - 1)) << "SP2";
    different.insert(slot);
    pool.give(*slot);
  }
  EXPECT_EQ(different.size(), 8U);
}
TEST(StackPool, OfSeveralTheNewestComesFirst) {
  stack_pool pool;
  slot_chain some;
  std::vector<stack_slot*> slots;
  for (int i = 0; i < 4; ++i) slots.push_back(*pool.take(stack_class()));
  for (stack_slot* slot : slots) some.push(*slot);
  pool.give_batch(some);
  ASSERT_TRUE(pool.take_batch(stack_class(), 3, some).has_value());
  EXPECT_EQ(some.try_pop(), slots[3]);
  EXPECT_EQ(some.try_pop(), slots[2]);
  EXPECT_EQ(some.try_pop(), slots[1]);
  EXPECT_EQ(*pool.take(stack_class()), slots[0]);
  for (stack_slot* slot : slots) pool.give(*slot);
}
TEST(StackPool, AScrubbingPoolKeepsNoneOfSeveralWarm) {
  stack_pool pool({.scrub = true});
  slot_chain some;
  ASSERT_TRUE(pool.take_batch(stack_class(), 1, some).has_value());
  pool.give_batch(some);
  EXPECT_EQ(pool.stats().warm, 0U);
  EXPECT_EQ(pool.stats().cold, 1U);
}

TEST(StackPool, ManyThreadsTakeAndGive) {
  stack_pool pool({.warm_limit = 16});
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&pool, t] {
      std::vector<stack_slot*> mine;
      for (int i = 0; i < 500; ++i) {
        stack_slot* const slot = *pool.take(stack_class::at(static_cast<std::size_t>((t + i) % 3)));
        ASSERT_EQ(slot->owner.load(), nullptr) << "SP1: two owners";
        static const stack_owner marker;
        slot->owner.store(&marker);
        slot->high()[-1] = static_cast<char>(t);
        mine.push_back(slot);
        if (mine.size() > 20) {
          ASSERT_EQ(mine.front()->high()[-1], static_cast<char>(t));
          pool.give(*mine.front());
          mine.erase(mine.begin());
        }
      }
      for (stack_slot* slot : mine) pool.give(*slot);
    });
  }
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(pool.stats().taken, 0U);
}

TEST(StackPoolDeathTest, GivingTwiceIsNamed) {
  EXPECT_DEATH(
      {
        stack_pool pool;
        stack_slot* const slot = *pool.take(stack_class());
        pool.give(*slot);
        pool.give(*slot);
      },
      "SP1: a stack was given back twice");
}

TEST(StackPoolDeathTest, GivingToAStrangerIsNamed) {
  EXPECT_DEATH(
      {
        stack_pool pool;
        stack_pool other;
        stack_slot* const theirs = *other.take(stack_class());
        stack_slot* const slot = *pool.take(stack_class());
        (void)theirs;
        other.give(*slot);
      },
      "SP1: a stack was given to a pool that it is not from");
}

TEST(StackPoolDeathTest, DestroyingAPoolInUseIsNamed) {
  EXPECT_DEATH(
      {
        stack_pool pool;
        (void)pool.take(stack_class());
      },
      "SP1: a stack pool was destroyed while stacks were in use");
}

}  // namespace
}  // namespace weft::impl
