// SPDX-License-Identifier: Apache-2.0

#include "support/child.hpp"
#include "support/emulation.hpp"
#include "sys/platform_interposed.hpp"

#include <weft/backoff.hpp>
#include <weft/deque_channel.hpp>

#include <atomic>
#include <csignal>
#include <cstdint>
#include <functional>
#include <gtest/gtest.h>
#include <new>
#include <optional>
#include <set>
#include <thread>
#include <utility>
#include <vector>

namespace weft {
namespace {

using impl::door;
using impl::doors;

constexpr deque_channel_options small{.local_capacity = 4, .global_capacity = 8, .global_interval = 0};

TEST(DequeChannel, HasTheSizesOfLoom) {
  constexpr deque_channel_options usual;
  EXPECT_EQ(usual.local_capacity, 256U);
  EXPECT_EQ(usual.global_capacity, 4096U);
}

TEST(DequeChannel, AWorkerGetsBackItsOwnNewestFirst) {
  deque_channel<int> channel(2);
  auto& me = channel.worker_at(0);
  EXPECT_EQ(me.try_receive(), std::nullopt);
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(me.try_send(i));
  EXPECT_EQ(me.size_approx(), 10U);
  for (int i = 9; i >= 0; --i) EXPECT_EQ(me.try_receive(), i);
  EXPECT_EQ(me.try_receive(), std::nullopt);
}

TEST(DequeChannel, OtherThreadsSendToTheGlobalQueueOldestFirst) {
  deque_channel<int> channel(1);
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(channel.try_send(i));
  EXPECT_EQ(channel.worker_at(0).size_approx(), 0U);
  EXPECT_EQ(channel.size_approx(), 5U);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(channel.worker_at(0).try_receive(), i);
}

TEST(DequeChannel, LooksAtItsOwnThenTheGlobalQueueThenSteals) {
  deque_channel<int> channel(3, small);
  ASSERT_TRUE(channel.worker_at(0).try_send(1));
  ASSERT_TRUE(channel.try_send(2));
  ASSERT_TRUE(channel.worker_at(2).try_send(3));
  auto& me = channel.worker_at(0);
  EXPECT_EQ(me.try_receive(), 1);
  EXPECT_EQ(me.try_receive(), 2);
  EXPECT_EQ(me.try_receive(), 3);
  EXPECT_EQ(me.try_receive(), std::nullopt);
}

TEST(DequeChannel, StealsTheOldest) {
  deque_channel<int> channel(2);
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(channel.worker_at(0).try_send(i));
  EXPECT_EQ(channel.worker_at(1).try_receive(), 0);
  EXPECT_EQ(channel.worker_at(1).try_receive(), 1);
  EXPECT_EQ(channel.worker_at(0).try_receive(), 2);
}

TEST(DequeChannel, FindsEveryWorkerWhereverItLooksFirst) {
  for (std::size_t receiver = 0; receiver < 5; ++receiver) {
    deque_channel<std::size_t> channel(5, small);
    std::set<std::size_t> expected;
    for (std::size_t i = 0; i < 5; ++i) {
      ASSERT_TRUE(channel.worker_at(i).try_send(i));
      expected.insert(i);
    }
    std::set<std::size_t> found;
    while (const auto value = channel.worker_at(receiver).try_receive()) found.insert(*value);
    EXPECT_EQ(found, expected);
  }
}

TEST(DequeChannel, OverflowsIntoTheGlobalQueueAndThenSaysSo) {
  deque_channel<int> channel(1, small);
  auto& me = channel.worker_at(0);
  for (int i = 0; i < 12; ++i) ASSERT_TRUE(me.try_send(i)) << i;
  EXPECT_EQ(me.size_approx(), 4U);
  EXPECT_FALSE(me.try_send(12));
  EXPECT_FALSE(channel.try_send(12));
  EXPECT_EQ(channel.size_approx(), 12U) << "a refused value is nowhere";
  for (int i : {3, 2, 1, 0, 4, 5, 6, 7, 8, 9, 10, 11}) EXPECT_EQ(me.try_receive(), i);
  EXPECT_EQ(me.try_receive(), std::nullopt);
  EXPECT_TRUE(me.try_send(13)) << "there is room again";
  EXPECT_EQ(me.try_receive(), 13);
}

TEST(DequeChannel, ALocalValueDoesNotStarveTheGlobalQueue) {
  deque_channel_options options;
  options.global_interval = 5;
  deque_channel<int> channel(1, options);
  auto& me = channel.worker_at(0);
  ASSERT_TRUE(channel.try_send(-1));
  ASSERT_TRUE(channel.try_send(-2));
  std::vector<int> order;
  for (int i = 0; i < 12; ++i) {
    ASSERT_TRUE(me.try_send(i));
    order.push_back(*me.try_receive());
  }
  EXPECT_EQ(order[4], -1);
  EXPECT_EQ(order[9], -2);
  EXPECT_EQ(deque_channel_options().global_interval, 61U);
}

TEST(DequeChannel, ZeroLeavesTheGlobalQueueForWhenThereIsNothingElse) {
  deque_channel<int> channel(1, small);
  auto& me = channel.worker_at(0);
  ASSERT_TRUE(channel.try_send(-1));
  for (int i = 0; i < 1000; ++i) {
    ASSERT_TRUE(me.try_send(i));
    ASSERT_EQ(me.try_receive(), i);
  }
  EXPECT_EQ(me.try_receive(), -1);
}

TEST(DequeChannel, HelpersReceiveFromAnywhere) {
  deque_channel<int> channel(2, small);
  ASSERT_TRUE(channel.try_send(1));
  ASSERT_TRUE(channel.worker_at(0).try_send(2));
  ASSERT_TRUE(channel.worker_at(1).try_send(3));
  EXPECT_EQ(channel.try_receive(), 1);
  std::set<int> stolen;
  while (const auto value = channel.try_receive()) stolen.insert(*value);
  EXPECT_EQ(stolen, (std::set<int>{2, 3}));
}

TEST(DequeChannel, AChannelWithoutWorkersIsAQueue) {
  deque_channel<int> channel(0);
  EXPECT_EQ(channel.worker_count(), 0U);
  EXPECT_EQ(channel.try_receive(), std::nullopt);
  ASSERT_TRUE(channel.try_send(1));
  EXPECT_EQ(channel.try_receive(), 1);
}

// Somebody else is always faster: between a thief's look and its claim.
struct losing_orders : detail::symmetric_orders {
  static inline std::function<void()> somebody_else;  // NOLINT(cert-err58-cpp): cannot throw
  template <class Bottom, class Buffer>
  static auto look(const Bottom& bottom, const Buffer& buffer) noexcept {
    const auto seen = symmetric_orders::look(bottom, buffer);
    if (auto act = std::exchange(somebody_else, nullptr)) {
      act();
      somebody_else = std::move(act);
    }
    return seen;
  }
};

TEST(DequeChannel, GivesUpAfterSeveralLostRaces) {
  deque_channel<int, losing_orders> channel(2);
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(channel.worker_at(0).try_send(i));
  int lost = 0;
  losing_orders::somebody_else = [&] {
    ++lost;
    EXPECT_TRUE(channel.try_receive());
  };
  EXPECT_FALSE(channel.worker_at(1).try_receive());
  losing_orders::somebody_else = nullptr;
  EXPECT_EQ(lost, 4);
  EXPECT_TRUE(channel.worker_at(1).try_receive()) << "there was something all the time";
}

TEST(DequeChannel, StopsWhoAsksForAWorkerThatIsNotThere) {
  const testing::child_outcome outcome = testing::run_in_child([] {
    deque_channel<int> channel(2);
    (void)channel.worker_at(2);
  });
  EXPECT_TRUE(outcome.died_of(SIGABRT));
  EXPECT_TRUE(outcome.mentioned("a worker that it does not have")) << outcome.said;
}

// All memory comes from the constructor: each allocation of it fails in turn, and later none is made.
TEST(DequeChannel, AllocatesWhenItIsMadeAndNeverAgain) {
  using channel_type = deque_channel<int, barriers::asymmetric, impl::interposed_platform>;
  doors.reset();
  std::uint64_t allocations = 0;
  {
    channel_type channel(2, small);
    allocations = doors.calls(door::allocate);
    for (int i = 0; i < 100; ++i) (void)channel.worker_at(0).try_send(i);
    while (channel.worker_at(1).try_receive()) {
    }
  }
  EXPECT_EQ(allocations, 3U) << "a deque for each of two, and a ring";
  EXPECT_EQ(doors.calls(door::allocate), allocations);
  for (std::uint64_t n = 1; n <= allocations; ++n) {
    doors.reset();
    doors.fail_nth(door::allocate, n);
    EXPECT_THROW(channel_type(2, small), std::bad_alloc) << n;
  }
  doors.reset();
}

// [team]
// A pool in twenty lines: each worker counts up to the number it gets, by splitting it.
long count_by_splitting(int number, std::size_t team) {
  weft::deque_channel<int, weft::barriers::symmetric> channel(team);
  std::atomic<long> counted{0};
  std::vector<std::thread> threads;
  if (!channel.try_send(number)) return -1;  // by any thread, here one that is not of the team
  for (std::size_t i = 0; i < team; ++i) {
    threads.emplace_back([&, i] {
      auto& me = channel.worker_at(i);
      weft::backoff pause;
      while (counted < number) {
        std::optional<int> task = me.try_receive();
        if (!task) {
          pause.snooze();
          continue;
        }
        pause.reset();
        while (*task > 1 && me.try_send(*task / 2)) *task -= *task / 2;  // half of it for whoever comes
        counted += *task;
      }
    });
  }
  for (std::thread& t : threads) t.join();
  return counted;
}
// [team]

TEST(DequeChannel, TheExampleOfTheGuideCounts) {
  EXPECT_EQ(count_by_splitting(10'000, 1), 10'000);
  EXPECT_EQ(count_by_splitting(10'000, testing::keeps_seq_cst ? 3 : 1), 10'000);
}

}  // namespace
}  // namespace weft
