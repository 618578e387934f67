// SPDX-License-Identifier: Apache-2.0

#include "queue/top_word.hpp"

#include <gtest/gtest.h>

namespace weft::impl {
namespace {

TEST(TopWord, KeepsItsPartsApart) {
  const top_word settled = top_word::settled(7);
  EXPECT_TRUE(settled.is_settled() && !settled.is_asked() && !settled.is_claimed());
  EXPECT_EQ(settled.head(), 7U);
  const top_word asked = top_word::asked(0xffffffff, thief_id{0xffff});
  EXPECT_TRUE(!asked.is_settled() && asked.is_asked() && !asked.is_claimed());
  EXPECT_EQ(asked.head(), 0xffffffffU);
  EXPECT_EQ(asked.end(), 0xffffffffU);
  EXPECT_EQ(asked.by(), thief_id{0xffff});
  const top_word claimed = top_word::claimed(0xffffffff, 0xffff, thief_id{1});
  EXPECT_TRUE(!claimed.is_settled() && !claimed.is_asked() && claimed.is_claimed());
  EXPECT_EQ(claimed.head(), 0xffffffffU);
  EXPECT_EQ(claimed.end(), 0xfffeU);
  EXPECT_EQ(claimed.count(), 0xffffU);
  EXPECT_EQ(claimed.by(), thief_id{1});
}

// The owner alone.

TEST(TopWordDeathTest, AClaimFitsItsCount) {
  EXPECT_DEATH((void)top_word::claimed(0, 0, thief_id{1}),
               "TW1: a claim of nothing, of too many, or by nobody");
  EXPECT_DEATH((void)top_word::claimed(0, 0x10000, thief_id{1}), "TW1");
  EXPECT_DEATH((void)top_word::claimed(0, 1, thief_id{}), "TW1");
}

}  // namespace
}  // namespace weft::impl
