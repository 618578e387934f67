// SPDX-License-Identifier: Apache-2.0

#include "stack/usage.hpp"

#include "stack/stack_pool.hpp"
#include "support/fibers.hpp"
#include "support/residency.hpp"

#include <cstring>
#include <gtest/gtest.h>

namespace weft::impl {
namespace {

const std::size_t page = system_memory::page_size();

__attribute__((noinline)) void use_a_hundred_kib() {
  volatile char frame[100 << 10];
  for (std::size_t i = 0; i < sizeof frame; i += 8) frame[i] = 1;
}

struct UsageTest : ::testing::Test {
  stack_pool pool;
  stack_slot* slot = *pool.take(stack_class());
  void TearDown() override { pool.give(*slot); }

  void touch(std::size_t depth) { slot->high()[-static_cast<std::ptrdiff_t>(depth)] = 0x11; }
};

TEST_F(UsageTest, AFreshStackIsUnused) { EXPECT_LE(measure_depth(*slot, slot->high()), red_zone_bytes); }

TEST_F(UsageTest, MeasuresHowDeepItWasUsed) {
  touch(10 * page);
  const std::size_t depth = measure_depth(*slot, slot->high());
  EXPECT_GE(depth, 10 * page);
  EXPECT_LT(depth, 10 * page + 8);
  EXPECT_EQ(slot->deepest, depth);
}

TEST_F(UsageTest, PaintForgetsWhatWasBefore) {
  touch(10 * page);
  (void)measure_depth(*slot, slot->high());
  paint_below(*slot, slot->high());
  EXPECT_LE(measure_depth(*slot, slot->high()), red_zone_bytes + 16);
  touch(3 * page + 40);
  const std::size_t depth = measure_depth(*slot, slot->high());
  EXPECT_GE(depth, 3 * page + 40);
  EXPECT_LT(depth, 3 * page + 48);
  EXPECT_GE(slot->deepest, 10 * page) << "the deepest ever is kept";
}

TEST_F(UsageTest, PaintingTakesNoMemory) {
  touch(2 * page);
  touch(40 * page);  // with a hole between the two
  const std::size_t before = testing::count_resident(slot->low, slot->size());
  paint_below(*slot, slot->high());
  (void)measure_depth(*slot, slot->high());
  EXPECT_EQ(testing::count_resident(slot->low, slot->size()), before);
}

TEST_F(UsageTest, LooksAtAStackOfManyPages) {
  stack_slot* const large = *pool.take(*stack_class::holding(8 << 20));
  large->high()[-(7 << 20)] = 1;
  const std::size_t depth = measure_depth(*large, large->high());
  EXPECT_GE(depth, std::size_t{7} << 20U);
  EXPECT_LT(depth, (std::size_t{7} << 20U) + 8);
  pool.give(*large);
}

TEST_F(UsageTest, PaintAndScrubLeaveThePartInUseAlone) {
  char* const in_use = slot->high() - 2 * page;
  std::memset(in_use - red_zone_bytes, 0x33, 2 * page + red_zone_bytes);
  touch(5 * page);
  paint_below(*slot, in_use);
  ASSERT_TRUE(scrub_below(*slot, in_use).has_value());
  for (char* at = in_use - red_zone_bytes + 16; at < slot->high(); ++at) ASSERT_EQ(*at, 0x33);
  EXPECT_EQ(slot->high()[-static_cast<std::ptrdiff_t>(5 * page)], 0);
}

TEST_F(UsageTest, TrimGivesBackWhatLiesBelow) {
  for (std::size_t depth = page; depth <= 20 * page; depth += page) touch(depth);
  char* const in_use = slot->high() - 3 * page;
  const result<std::size_t> trimmed = trim_below(*slot, in_use);
  ASSERT_TRUE(trimmed.has_value());
  EXPECT_EQ(*trimmed, slot->size() - 4 * page);  // the page with the red zone stays
  EXPECT_EQ(testing::lowest_resident(slot->low, slot->size()), slot->high() - 4 * page);
  EXPECT_EQ(slot->high()[-static_cast<std::ptrdiff_t>(2 * page)], 0x11) << "what is in use stays";
  EXPECT_EQ(*trim_below(*slot, slot->low + 1), 0U) << "nothing below";
}

// A parked fiber is trimmed at its own stack pointer, and goes on as if nothing had happened.
TEST_F(UsageTest, AParkedFiberSurvivesTrimming) {
  testing::fiber_thread here;
  long sum = 0;
  manual_fiber fiber(pool, stack_class(), testing::owner("trimmed"), [&](manual_fiber& self) {
    volatile long kept[64];
    for (int i = 0; i < 64; ++i) kept[i] = i;
    use_a_hundred_kib();
    self.pause();
    for (const volatile long& number : kept) sum += number;
  });
  fiber.resume();
  stack_slot& stack = fiber.stack();
  const auto* before = testing::lowest_resident(stack.low, stack.size());
  EXPECT_GE(stack.high() - before, 100 << 10);
#if !defined(WEFT_SWITCH_BOOST)
  void* const parked_at = fiber.parked_context().machine.stack_pointer;
#else
  void* const parked_at = fiber.parked_context().machine.parked;
#endif
  ASSERT_TRUE(trim_below(stack, parked_at).has_value());
  const auto* after = testing::lowest_resident(stack.low, stack.size());
  EXPECT_LT(stack.high() - after, 32 << 10);
  fiber.resume();
  EXPECT_EQ(sum, 64 * 63 / 2);
}

#ifdef WEFT_PLATFORM_INTERPOSED
TEST_F(UsageTest, AKernelThatRefusesIsAnErrorAndChangesNothing) {
  touch(5 * page);
  doors.reset();
  doors.fail_from(door::discard, 1);
  EXPECT_EQ(trim_below(*slot, slot->high()).error(), std::errc::not_enough_memory);
  EXPECT_EQ(scrub_below(*slot, slot->high()).error(), std::errc::not_enough_memory);
  doors.reset();
  EXPECT_EQ(slot->high()[-static_cast<std::ptrdiff_t>(5 * page)], 0x11);
}

TEST_F(UsageTest, AKernelThatDoesNotTellWhatIsResidentIsMeasuredAllTheSame) {
  touch(5 * page);
  doors.reset();
  doors.fail_from(door::residency, 1);
  EXPECT_GE(measure_depth(*slot, slot->high()), 5 * page);
  doors.reset();
}
#endif

TEST(DepthSampler, SamplesTheFirstAndEveryNth) {
  depth_sampler sampler(3);
  std::string picks;
  for (int i = 0; i < 8; ++i) picks += sampler.next_is_sampled() ? 'x' : '.';
  EXPECT_EQ(picks, "x..x..x.");
  depth_sampler always(1);
  EXPECT_TRUE(always.next_is_sampled() && always.next_is_sampled());
  depth_sampler never(0);
  EXPECT_FALSE(never.next_is_sampled() || never.next_is_sampled());
}

#if !WEFT_ADDRESS_SANITIZER  // its fake stacks keep locals elsewhere
TEST_F(UsageTest, MeasuresWhatAFiberReallyUsed) {
  testing::fiber_thread here;
  manual_fiber fiber(pool, stack_class(), testing::owner("measured"), [](manual_fiber&) {
    volatile char frame[40 << 10];
    for (std::size_t i = 0; i < sizeof frame; i += 8) frame[i] = 1;
  });
  fiber.resume();
  const std::size_t depth = measure_depth(fiber.stack(), fiber.stack().high());
  EXPECT_GE(depth, std::size_t{40} << 10U);
  EXPECT_LT(depth, std::size_t{60} << 10U);
}

// As a scheduler samples: one user goes deep, the stack is painted below the frame in use, the next stays shallow.
TEST_F(UsageTest, PaintSeparatesOneUserFromTheNext) {
  testing::fiber_thread here;
  std::size_t first = 0;
  std::size_t second = 0;
  manual_fiber fiber(pool, stack_class(), testing::owner("loop"), [&](manual_fiber& self) {
    void* const frame = __builtin_frame_address(0);
    void* const in_use = static_cast<char*>(frame) - 2048;  // this frame and those of the calls below
    paint_below(self.stack(), in_use);
    use_a_hundred_kib();
    first = measure_depth(self.stack(), in_use);
    paint_below(self.stack(), in_use);
    asm volatile("" : : : "memory");  // the next user does nothing much
    second = measure_depth(self.stack(), in_use);
  });
  fiber.resume();
  EXPECT_GE(first, std::size_t{100} << 10U);
  EXPECT_LT(second, std::size_t{20} << 10U);
}
#endif

}  // namespace
}  // namespace weft::impl
