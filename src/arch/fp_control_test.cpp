// SPDX-License-Identifier: Apache-2.0

#include "arch/fp_control.hpp"

#include "support/two_contexts.hpp"

#include <cfenv>
#include <gtest/gtest.h>

namespace weft::impl {
namespace {

using testing::two_contexts;

// The other side rounds upward; what it leaves behind tells whether the control words travelled.
void round_upward(two_contexts& pair) {
  std::fesetround(FE_UPWARD);
  pair.back();
  pair.seen = std::fegetround();
  pair.back();
}

TEST(FpControl, TravelsWithTheContextWhenAskedTo) {
  std::fesetround(FE_TONEAREST);
  two_contexts pair(&round_upward);
  pair.carrier.keep_fp_control = true;
  pair.over();
  EXPECT_EQ(std::fegetround(), FE_TONEAREST);
  std::fesetround(FE_DOWNWARD);
  pair.over();
  EXPECT_EQ(pair.seen, FE_UPWARD);
  EXPECT_EQ(std::fegetround(), FE_DOWNWARD);
  std::fesetround(FE_TONEAREST);
}

TEST(FpControl, StaysWithTheThreadOtherwise) {
  std::fesetround(FE_TONEAREST);
  two_contexts pair(&round_upward);
  pair.over();
  if (switch_keeps_fp_control) {  // Boost's switch knows no other way
    EXPECT_EQ(std::fegetround(), FE_TONEAREST);
    return;
  }
  EXPECT_EQ(std::fegetround(), FE_UPWARD);
  std::fesetround(FE_TONEAREST);
  pair.over();
  EXPECT_EQ(pair.seen, FE_TONEAREST);
}

TEST(FpControl, ReadsBackWhatItWrote) {
  const fp_control before = fp_control::read();
  std::fesetround(FE_TOWARDZERO);
  const fp_control toward_zero = fp_control::read();
  before.write();
  EXPECT_EQ(std::fegetround(), FE_TONEAREST);
  toward_zero.write();
  EXPECT_EQ(std::fegetround(), FE_TOWARDZERO);
  before.write();
}

}  // namespace
}  // namespace weft::impl
