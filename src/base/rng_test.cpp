// SPDX-License-Identifier: Apache-2.0

#include "base/rng.hpp"

#include <array>
#include <gtest/gtest.h>
#include <random>
#include <vector>

namespace weft::impl {
namespace {

static_assert(std::uniform_random_bit_generator<xoshiro256ss>);

// The first numbers of the authors' reference code for the state {1, 2, 3, 4}.
TEST(Rng, MatchesTheReferenceVectors) {
  xoshiro256ss random(std::array<std::uint64_t, 4>{1, 2, 3, 4});
  const std::uint64_t expected[] = {11520U,
                                    0U,
                                    1509978240U,
                                    1215971899390074240U,
                                    1216172134540287360U,
                                    607988272756665600U,
                                    16172922978634559625U,
                                    8476171486693032832U};
  for (std::uint64_t number : expected) EXPECT_EQ(random(), number);
}

TEST(Rng, OneSeedGivesOneStream) {
  xoshiro256ss a(7), b(7), c(8);
  std::vector<std::uint64_t> from_a, from_b, from_c;
  for (int i = 0; i < 100; ++i) {
    from_a.push_back(a());
    from_b.push_back(b());
    from_c.push_back(c());
  }
  EXPECT_EQ(from_a, from_b);
  EXPECT_NE(from_a, from_c);
}

TEST(Rng, SeedZeroIsAsGoodAsAny) {
  xoshiro256ss random(0);
  std::uint64_t any = 0;
  for (int i = 0; i < 4; ++i) any |= random();
  EXPECT_NE(any, 0U);
}

TEST(Rng, BelowStaysBelowAndReachesAll) {
  xoshiro256ss random(42);
  std::array<int, 10> counts{};
  for (int i = 0; i < 100000; ++i) ++counts.at(random.below(10));
  for (int count : counts) {
    EXPECT_GT(count, 9500);
    EXPECT_LT(count, 10500);
  }
  EXPECT_EQ(random.below(1), 0U);
  EXPECT_EQ(random.below(0), 0U);
}

TEST(Rng, SplitsAreIndependent) {
  xoshiro256ss parent(1);
  xoshiro256ss child = parent.split();
  EXPECT_NE(parent(), child());
}

}  // namespace
}  // namespace weft::impl
