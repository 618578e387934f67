// SPDX-License-Identifier: Apache-2.0

#include "support/child.hpp"

#include <weft/deque.hpp>

#include <array>
#include <atomic>
#include <csignal>
#include <cstdint>
#include <gtest/gtest.h>
#include <new>
#include <optional>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

namespace weft {
namespace {

// A value of N bytes that no other number has.
template <std::size_t N>
struct bytes {
  std::array<unsigned char, N> content;

  static bytes numbered(int number) {
    bytes made{};
    for (std::size_t i = 0; i < N; ++i) {
      made.content[i] = static_cast<unsigned char>(number + static_cast<int>(i) * 37);
    }
    return made;
  }
  friend bool operator==(const bytes&, const bytes&) = default;
};

// A task as Loom has them: function, argument, scope.
struct raw_task {
  void (*run)(void*);
  void* argument;
  void* scope;
};
static_assert(sizeof(raw_task) == 24);

// Cannot be made without saying what it is.
struct named {
  explicit named(int n) : number(n) {}
  int number;
};

static_assert(detail::queueable<int> && detail::queueable<void*> && detail::queueable<raw_task> &&
              detail::queueable<named> && detail::queueable<bytes<64>>);
static_assert(!detail::queueable<std::string> && !detail::queueable<bytes<65>> &&
              !detail::queueable<const int>);
static_assert(!std::is_copy_constructible_v<deque<int>> && !std::is_move_constructible_v<deque<int>>,
              "thieves hold its address");
static_assert(alignof(deque<int>) == detail::contended_bytes &&
                  sizeof(deque<int>) == 2 * detail::contended_bytes,
              "the ends lie on lines of their own, and nothing else does");
static_assert(noexcept(std::declval<deque<int>&>().steal()) && noexcept(
    std::declval<deque<int>&>().pop()) && noexcept(std::declval<deque<int>&>().try_push(1)));

// pop_if compares bits, so it is there only where equal values have equal bits.
template <class T>
concept can_be_taken_back = requires(deque<T> d, T item) {
  d.pop_if(item);
};
static_assert(can_be_taken_back<int> && can_be_taken_back<raw_task*> && can_be_taken_back<raw_task>);
static_assert(!can_be_taken_back<double>);

template <class Deque>
struct DequeTest : ::testing::Test {};
using both_kinds = ::testing::Types<deque<int>, deque<int, barriers::symmetric>>;
TYPED_TEST_SUITE(DequeTest, both_kinds);

TYPED_TEST(DequeTest, IsAStackForItsOwner) {
  TypeParam d;
  EXPECT_EQ(d.pop(), std::nullopt);
  for (int i = 0; i < 10; ++i) d.push(i);
  for (int i = 9; i >= 0; --i) EXPECT_EQ(d.pop(), i);
  EXPECT_EQ(d.pop(), std::nullopt);
  d.push(10);
  EXPECT_EQ(d.pop(), 10);
}

TYPED_TEST(DequeTest, IsAQueueForThieves) {
  TypeParam d;
  EXPECT_EQ(d.steal().outcome(), steal_outcome::empty);
  for (int i = 0; i < 10; ++i) d.push(i);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(*d.steal(), i);
  EXPECT_EQ(d.steal().outcome(), steal_outcome::empty);
}

TYPED_TEST(DequeTest, ServesBothEndsAtOnce) {
  TypeParam d;
  for (int i = 0; i < 5; ++i) d.push(i);
  EXPECT_EQ(*d.steal(), 0);
  EXPECT_EQ(d.pop(), 4);
  EXPECT_EQ(*d.steal(), 1);
  d.push(5);
  EXPECT_EQ(d.pop(), 5);
  EXPECT_EQ(d.pop(), 3);
  EXPECT_EQ(*d.steal(), 2);
  EXPECT_EQ(d.pop(), std::nullopt);
  EXPECT_EQ(d.steal().outcome(), steal_outcome::empty);
}

TYPED_TEST(DequeTest, HoldsWhatItsCapacitySaysAndThenDoubles) {
  TypeParam d(8);
  EXPECT_EQ(d.capacity(), 8U);
  for (int i = 0; i < 8; ++i) d.push(i);
  EXPECT_EQ(d.capacity(), 8U);
  d.push(8);
  EXPECT_EQ(d.capacity(), 16U);
  for (int i = 8; i >= 0; --i) EXPECT_EQ(d.pop(), i);
  EXPECT_EQ(d.capacity(), 16U) << "it never shrinks";
}

TYPED_TEST(DequeTest, RoundsItsCapacityUp) {
  EXPECT_EQ(TypeParam(0).capacity(), 1U);
  EXPECT_EQ(TypeParam(1).capacity(), 1U);
  EXPECT_EQ(TypeParam(3).capacity(), 4U);
  EXPECT_EQ(TypeParam(1000).capacity(), 1024U);
  EXPECT_EQ(TypeParam().capacity(), TypeParam::default_capacity);
}

TYPED_TEST(DequeTest, ACapacityBeyondAllMemoryIsRefused) {
  EXPECT_THROW(TypeParam(SIZE_MAX), std::bad_alloc);
  EXPECT_THROW(TypeParam(SIZE_MAX / 2), std::bad_alloc);
}

TYPED_TEST(DequeTest, ReusesWhatThievesHaveLeftBehind) {
  TypeParam d(4);
  for (int i = 0; i < 1000; ++i) {
    d.push(i);
    EXPECT_EQ(*d.steal(), i);
  }
  EXPECT_EQ(d.capacity(), 4U) << "it grew, though it never held more than one item";
}

// Wherever the items stand in the ring when it grows, they keep their order.
TYPED_TEST(DequeTest, GrowsFromAnyPosition) {
  for (int stolen = 0; stolen < 9; ++stolen) {
    TypeParam d(4);
    for (int i = 0; i < stolen; ++i) {
      d.push(i);
      ASSERT_EQ(*d.steal(), i);
    }
    for (int i = 0; i < 40; ++i) d.push(i);
    EXPECT_EQ(d.size_approx(), 40U);
    for (int i = 0; i < 20; ++i) ASSERT_EQ(*d.steal(), i);
    for (int i = 39; i >= 20; --i) ASSERT_EQ(d.pop(), i);
  }
}

TYPED_TEST(DequeTest, CountsWhatItHolds) {
  TypeParam d(2);
  EXPECT_TRUE(d.empty_approx());
  for (int i = 1; i <= 5; ++i) {
    d.push(i);
    EXPECT_EQ(d.size_approx(), static_cast<std::size_t>(i));
    EXPECT_FALSE(d.empty_approx());
  }
  (void)d.pop();
  (void)d.steal();
  EXPECT_EQ(d.size_approx(), 3U);
  while (d.pop()) {
  }
  EXPECT_EQ(d.size_approx(), 0U);
  EXPECT_TRUE(d.empty_approx());
}

TYPED_TEST(DequeTest, TakesBackTheNewestOnlyIfItIsTheOne) {
  TypeParam d;
  EXPECT_FALSE(d.pop_if(0)) << "an empty slot looks like zero, but nothing is there";
  d.push(1);
  d.push(2);
  EXPECT_FALSE(d.pop_if(1)) << "2 lies above it";
  EXPECT_EQ(d.size_approx(), 2U);
  EXPECT_TRUE(d.pop_if(2));
  EXPECT_FALSE(d.pop_if(2)) << "it is gone";
  EXPECT_TRUE(d.pop_if(1));
  EXPECT_FALSE(d.pop_if(1));
  EXPECT_TRUE(d.empty_approx());
}

TYPED_TEST(DequeTest, DoesNotTakeBackWhatWasStolen) {
  TypeParam d;
  d.push(1);
  EXPECT_EQ(*d.steal(), 1);
  EXPECT_FALSE(d.pop_if(1)) << "the slot still holds it";
  d.push(2);
  d.push(3);
  EXPECT_EQ(*d.steal(), 2);
  EXPECT_TRUE(d.pop_if(3));
  EXPECT_EQ(d.pop(), std::nullopt);
}

TYPED_TEST(DequeTest, AThiefCanStealAndNothingElse) {
  TypeParam d;
  typename TypeParam::thief first = d.thief_end();
  const typename TypeParam::thief second = first;
  EXPECT_TRUE(first.empty_approx());
  for (int i = 0; i < 3; ++i) d.push(i);
  EXPECT_EQ(second.size_approx(), 3U);
  EXPECT_EQ(*first.steal(), 0);
  EXPECT_EQ(*second.steal(), 1);
  EXPECT_EQ(d.pop(), 2);
  EXPECT_EQ(first.steal().outcome(), steal_outcome::empty);
}

TYPED_TEST(DequeTest, WhatIsLeftInItIsForgotten) {
  TypeParam d(2);
  for (int i = 0; i < 100; ++i) d.push(i);
}  // the leak checker looks at the buffers that it has grown through

template <class Value>
void expect_values_pass_through() {
  deque<Value> d(2);
  for (int i = 0; i < 20; ++i) d.push(Value::numbered(i));
  for (int i = 0; i < 10; ++i) EXPECT_EQ(*d.steal(), Value::numbered(i));
  for (int i = 19; i >= 10; --i) EXPECT_EQ(d.pop(), Value::numbered(i));
  d.push(Value::numbered(1));
  EXPECT_FALSE(d.pop_if(Value::numbered(2)));
  EXPECT_TRUE(d.pop_if(Value::numbered(1)));
}

TEST(Deque, HoldsValuesOfAnySizeUpTo64Bytes) {
  expect_values_pass_through<bytes<1>>();
  expect_values_pass_through<bytes<3>>();
  expect_values_pass_through<bytes<8>>();
  expect_values_pass_through<bytes<9>>();
  expect_values_pass_through<bytes<24>>();
  expect_values_pass_through<bytes<63>>();
  expect_values_pass_through<bytes<64>>();
}

TEST(Deque, HoldsWhatHasNoDefault) {
  deque<named> d;
  d.push(named(1));
  d.push(named(2));
  EXPECT_EQ(d.pop()->number, 2);
  EXPECT_EQ((*d.steal()).number, 1);
  EXPECT_EQ(d.steal().outcome(), steal_outcome::empty);
}

TEST(Deque, HoldsRawTasks) {
  static int sum = 0;
  const auto add = [](void* argument) { sum += *static_cast<int*>(argument); };
  int one = 1;
  int two = 2;
  deque<raw_task> d;
  d.push({add, &one, nullptr});
  d.push({add, &two, nullptr});
  const auto stolen = d.steal();
  stolen->run(stolen->argument);
  const auto popped = d.pop();
  popped->run(popped->argument);
  EXPECT_EQ(sum, 3);
}

// What the owner did before it pushed is visible to the thief: plain data, which ThreadSanitizer watches.
TEST(Deque, WhatWasDoneBeforeAPushIsSeenAfterTheSteal) {
  std::vector<int> prepared(1000, 0);
  deque<int*> d(2);
  std::thread thief([&, end = d.thief_end()] {
    for (std::size_t seen = 0; seen < prepared.size();) {
      const auto stolen = end.steal();
      if (!stolen) {
        std::this_thread::yield();
        continue;
      }
      EXPECT_EQ(**stolen, 42);
      ++seen;
    }
  });
  for (int& item : prepared) {
    item = 42;
    d.push(&item);
  }
  thief.join();
}

TEST(StealResult, SaysHowItEnded) {
  const auto item = steal_result<int>::of(7);
  EXPECT_TRUE(item);
  EXPECT_EQ(item.outcome(), steal_outcome::item);
  EXPECT_EQ(*item, 7);
  const auto none = steal_result<int>::none(steal_outcome::empty);
  EXPECT_FALSE(none);
  EXPECT_EQ(none.outcome(), steal_outcome::empty);
  const auto lost = steal_result<int>::none(steal_outcome::lost_race);
  EXPECT_FALSE(lost);
  EXPECT_EQ(lost.outcome(), steal_outcome::lost_race);
  EXPECT_EQ(*steal_result<steal_outcome>::of(steal_outcome::empty), steal_outcome::empty)
      << "an outcome may be an item too";
  static_assert(std::is_trivially_copyable_v<steal_result<void*>> && sizeof(steal_result<void*>) == 16,
                "it travels in registers");
}

TEST(StealResult, StopsWhoTakesAnItemThatIsNotThere) {
  const testing::child_outcome outcome = testing::run_in_child([] {
    const auto none = steal_result<int>::none(steal_outcome::empty);
    (void)*none;
  });
  EXPECT_TRUE(outcome.died_of(SIGABRT));
  EXPECT_TRUE(outcome.mentioned("a steal that brought none")) << outcome.said;
}

// [owner-and-thief]
long sum_with_a_thief(const std::vector<int>& numbers) {
  weft::deque<const int*> mine;
  for (const int& number : numbers) mine.push(&number);

  std::atomic<long> sum{0};
  std::atomic<bool> done{false};
  std::thread helper([&, theirs = mine.thief_end()] {
    while (!done) {
      if (const auto stolen = theirs.steal()) sum += **stolen;  // the oldest, and nobody else has it
    }
  });
  while (const std::optional<const int*> newest = mine.pop()) sum += **newest;
  done = true;
  helper.join();
  return sum;
}
// [owner-and-thief]

TEST(Deque, TheExampleOfTheGuideAddsUp) { EXPECT_EQ(sum_with_a_thief(std::vector<int>(10'000, 3)), 30'000); }

}  // namespace
}  // namespace weft
