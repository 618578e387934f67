// SPDX-License-Identifier: Apache-2.0

#include "stack/stack_class.hpp"

#include <gtest/gtest.h>

namespace weft::impl {
namespace {

TEST(StackClass, HoldsWhatWasAskedFor) {
  EXPECT_EQ(stack_class::holding(8 << 10)->bytes(), 8U << 10);
  EXPECT_EQ(stack_class::holding((8 << 10) + 1)->bytes(), 16U << 10);
  EXPECT_EQ(stack_class::holding(100'000)->bytes(), 128U << 10);
  EXPECT_EQ(stack_class::holding(256 << 10)->bytes(), 256U << 10);
  EXPECT_EQ(stack_class::holding(8 << 20)->bytes(), 8U << 20);
}

TEST(StackClass, RefusesWhatWeftDoesNotOffer) {
  EXPECT_EQ(stack_class::holding(0).error(), errc::invalid_stack_size);
  EXPECT_EQ(stack_class::holding(8191).error(), errc::invalid_stack_size);
  EXPECT_EQ(stack_class::holding((8U << 20) + 1).error(), errc::invalid_stack_size);
  EXPECT_EQ(stack_class::holding(SIZE_MAX).error(), errc::invalid_stack_size);
}

TEST(StackClass, EveryIndexIsAPowerOfTwo) {
  std::size_t expected = stack_class::smallest;
  for (std::size_t i = 0; i < stack_class::count; ++i, expected *= 2) {
    EXPECT_EQ(stack_class::at(i).bytes(), expected);
    EXPECT_EQ(stack_class::holding(expected)->index(), i);
  }
  EXPECT_LT(stack_class::at(0), stack_class());
}

}  // namespace
}  // namespace weft::impl
