// SPDX-License-Identifier: Apache-2.0

#include "arch/carrier.hpp"

#include "arch/shadow_stack.hpp"

#include <gtest/gtest.h>
#include <thread>

namespace weft::impl {
namespace {

TEST(Carrier, IsFoundByTheThreadItIsAttachedTo) {
  EXPECT_EQ(current_carrier(), nullptr);
  {
    attached_carrier mine;
    EXPECT_EQ(current_carrier(), &mine);
    std::thread([&] {
      EXPECT_EQ(current_carrier(), nullptr);
      attached_carrier theirs;
      EXPECT_EQ(current_carrier(), &theirs);
    }).join();
    EXPECT_EQ(current_carrier(), &mine);
  }
  EXPECT_EQ(current_carrier(), nullptr);
}

TEST(Carrier, KnowsTheExceptionStateOfItsThread) {
  attached_carrier mine;
  EXPECT_EQ(mine.exceptions, &thread_exception_state());
  EXPECT_TRUE(mine.exceptions->empty());
  try {
    throw 1;
  } catch (int) {
    EXPECT_FALSE(mine.exceptions->empty());
    EXPECT_NE(mine.exceptions->caught, nullptr);
  }
  EXPECT_TRUE(mine.exceptions->empty());
}

TEST(Carrier, AttachesWhereNoShadowStackIsActive) {
  ASSERT_FALSE(shadow_stack_active()) << "these tests cannot run under a hardware shadow stack";
  carrier mine;
  EXPECT_TRUE(attach(mine).has_value());
  detach(mine);
}

TEST(CarrierDeathTest, OneCarrierAThread) {
  EXPECT_DEATH(
      {
        attached_carrier first;
        attached_carrier second;
      },
      "one carrier a thread");
}

}  // namespace
}  // namespace weft::impl
