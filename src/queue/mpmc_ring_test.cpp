// SPDX-License-Identifier: Apache-2.0

#include "sys/platform_interposed.hpp"

#include <weft/detail/mpmc_ring.hpp>

#include <atomic>
#include <cstdint>
#include <gtest/gtest.h>
#include <new>
#include <optional>
#include <thread>
#include <vector>

namespace weft::detail {
namespace {

using impl::door;
using impl::doors;

template <class T>
using ring = mpmc_ring<T, std_atomics>;

TEST(MpmcRing, IsAQueue) {
  ring<int> r(8);
  EXPECT_EQ(r.try_pop(), std::nullopt);
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(r.try_push(i));
  EXPECT_EQ(r.size_approx(), 5U);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(r.try_pop(), i);
  EXPECT_EQ(r.try_pop(), std::nullopt);
  EXPECT_EQ(r.size_approx(), 0U);
}

TEST(MpmcRing, HoldsExactlyItsCapacity) {
  ring<int> r(4);
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(r.try_push(i));
  EXPECT_FALSE(r.try_push(4));
  EXPECT_EQ(r.size_approx(), 4U);
  EXPECT_EQ(r.try_pop(), 0);
  EXPECT_TRUE(r.try_push(4));
  EXPECT_FALSE(r.try_push(5));
  for (int i = 1; i < 5; ++i) EXPECT_EQ(r.try_pop(), i);
}

TEST(MpmcRing, RoundsItsCapacityUp) {
  EXPECT_EQ(ring<int>(0).capacity(), 2U);
  EXPECT_EQ(ring<int>(1).capacity(), 2U);
  EXPECT_EQ(ring<int>(3).capacity(), 4U);
  EXPECT_EQ(ring<int>(4096).capacity(), 4096U);
  EXPECT_THROW(ring<int>(SIZE_MAX), std::bad_alloc);
}

TEST(MpmcRing, GoesRoundAndRound) {
  ring<std::uint64_t> r(2);
  for (std::uint64_t i = 0; i < 1000; i += 3) {
    ASSERT_TRUE(r.try_push(i));
    ASSERT_TRUE(r.try_push(i + 1));
    ASSERT_EQ(r.try_pop(), i);
    ASSERT_TRUE(r.try_push(i + 2));
    ASSERT_EQ(r.try_pop(), i + 1);
    ASSERT_EQ(r.try_pop(), i + 2);
  }
}

TEST(MpmcRing, HoldsWhatHasNoDefault) {
  struct named {
    explicit named(char n) : letter(n) {}
    char letter;
  };
  ring<named> r(2);
  EXPECT_TRUE(r.try_push(named('x')));
  EXPECT_EQ(r.try_pop()->letter, 'x');
}

TEST(MpmcRing, CannotBeMadeWithoutMemory) {
  doors.reset();
  doors.fail_nth(door::allocate, 1);
  EXPECT_THROW((mpmc_ring<int, impl::interposed_platform>(4)), std::bad_alloc);
  doors.reset();
}

// What was done before a push is seen after the pop: plain data, which ThreadSanitizer watches. And a cell is not filled
// again before it was read: the ring has two.
TEST(MpmcRing, PassesOnWhatWasDoneBefore) {
  std::vector<int> prepared(2000, 0);
  ring<int*> r(2);
  std::thread sender([&] {
    for (int& item : prepared) {
      item = 42;
      while (!r.try_push(&item)) std::this_thread::yield();
    }
  });
  for (int& item : prepared) {
    std::optional<int*> got;
    while (!(got = r.try_pop())) std::this_thread::yield();
    ASSERT_EQ(*got, &item) << "one sender, one receiver: in order";
    EXPECT_EQ(**got, 42);
  }
  sender.join();
}

}  // namespace
}  // namespace weft::detail
