// SPDX-License-Identifier: Apache-2.0
//
// The deque's protocol, one interleaving at a time: the barriers of a deque are a parameter, and a test can put into
// them what another thread does at that very moment. Also what memory that fails, and barriers that are refused, do.

#include "sys/platform_interposed.hpp"

#include <weft/detail/chase_lev.hpp>

#include <array>
#include <atomic>
#include <functional>
#include <gtest/gtest.h>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace weft::detail {
namespace {

using impl::door;
using impl::doors;

// What happens to whom, the next time that he gets there.
struct moments {
  std::function<void()> owner_has_reserved;  // bottom is lowered, top not yet looked at
  std::function<void()> thief_has_looked;    // top is read, bottom not yet
  std::function<void()> thief_is_about_to_claim;
};
moments now;

void happen(std::function<void()>& what) {
  if (what) std::exchange(what, nullptr)();
}

template <class Orders>
struct interrupted : Orders {
  template <class Platform>
  static void owner_barrier(barrier_kind kind) noexcept {
    Orders::template owner_barrier<Platform>(kind);
    happen(now.owner_has_reserved);
  }
  template <class Platform>
  static void thief_barrier(barrier_kind kind) noexcept {
    happen(now.thief_has_looked);
    Orders::template thief_barrier<Platform>(kind);
  }
  template <class Bottom, class Buffer>
  static auto look(const Bottom& bottom, const Buffer& buffer) noexcept {
    const auto seen = Orders::look(bottom, buffer);
    happen(now.thief_is_about_to_claim);
    return seen;
  }
};

template <class Orders>
struct ChaseLevTest : ::testing::Test {
  using deque = chase_lev<int, std_atomics, interrupted<Orders>>;
  void SetUp() override { now = moments(); }
  void TearDown() override { now = moments(); }
};
using both_orders = ::testing::Types<asymmetric_orders, symmetric_orders>;
TYPED_TEST_SUITE(ChaseLevTest, both_orders);

TYPED_TEST(ChaseLevTest, AThiefLeavesTheOwnerTheLastItemThatItHasReserved) {
  typename TestFixture::deque d(4);
  ASSERT_TRUE(d.try_push(1));
  now.owner_has_reserved = [&] { EXPECT_EQ(d.steal().outcome(), steal_outcome::empty); };
  EXPECT_EQ(d.pop(), 1);
  EXPECT_FALSE(now.owner_has_reserved);
}

TYPED_TEST(ChaseLevTest, AThiefMayStealBelowWhatTheOwnerHasReserved) {
  typename TestFixture::deque d(4);
  ASSERT_TRUE(d.try_push(1) && d.try_push(2));
  now.owner_has_reserved = [&] { EXPECT_EQ(*d.steal(), 1); };
  EXPECT_EQ(d.pop(), 2) << "which is the last item now, and was not a moment ago";
  EXPECT_EQ(d.pop(), std::nullopt);
  EXPECT_TRUE(d.empty_approx());
}

TYPED_TEST(ChaseLevTest, TheOwnerThatTakesTheLastItemBeatsAThiefThatHasSeenIt) {
  typename TestFixture::deque d(4);
  ASSERT_TRUE(d.try_push(1));
  now.thief_has_looked = [&] { EXPECT_EQ(d.pop(), 1); };
  EXPECT_EQ(d.steal().outcome(), steal_outcome::lost_race);
  now.thief_is_about_to_claim = [&] { EXPECT_EQ(d.pop(), 2); };
  ASSERT_TRUE(d.try_push(2));
  EXPECT_EQ(d.steal().outcome(), steal_outcome::lost_race);
  EXPECT_TRUE(d.empty_approx());
}

TYPED_TEST(ChaseLevTest, OfTwoThievesOneLoses) {
  typename TestFixture::deque d(4);
  ASSERT_TRUE(d.try_push(1) && d.try_push(2));
  now.thief_is_about_to_claim = [&] { EXPECT_EQ(*d.steal(), 1); };
  EXPECT_EQ(d.steal().outcome(), steal_outcome::lost_race);
  EXPECT_EQ(*d.steal(), 2) << "there was more";
}

TYPED_TEST(ChaseLevTest, AThiefFindsAllGoneWhereItSawItems) {
  typename TestFixture::deque d(4);
  ASSERT_TRUE(d.try_push(1) && d.try_push(2));
  ASSERT_EQ(*d.steal(), 1);
  now.owner_has_reserved = [&] {
    // The owner has reserved the last item; a thief that still believes in two is told better by its second look.
    EXPECT_EQ(d.steal().outcome(), steal_outcome::empty);
  };
  EXPECT_EQ(d.pop(), 2);
}

TYPED_TEST(ChaseLevTest, AThiefWithAnOldBufferStealsTheRightItem) {
  typename TestFixture::deque d(2);
  ASSERT_TRUE(d.try_push(1) && d.try_push(2));
  now.thief_is_about_to_claim = [&] {
    for (int i = 3; i < 20; ++i) ASSERT_TRUE(d.try_push(i));
  };
  EXPECT_EQ(*d.steal(), 1);
  for (int i = 19; i > 1; --i) EXPECT_EQ(d.pop(), i);
}

TYPED_TEST(ChaseLevTest, AThiefWhoseSlotWasWrittenOverThrowsItAway) {
  typename TestFixture::deque d(2);
  ASSERT_TRUE(d.try_push(1) && d.try_push(2));
  now.thief_is_about_to_claim = [&] {
    ASSERT_EQ(*d.steal(), 1);
    ASSERT_TRUE(d.try_push(3));  // into the slot of 1: the ring has two
    ASSERT_EQ(d.capacity(), 2U);
  };
  EXPECT_EQ(d.steal().outcome(), steal_outcome::lost_race);
  EXPECT_EQ(*d.steal(), 2);
  EXPECT_EQ(*d.steal(), 3);
}

TYPED_TEST(ChaseLevTest, TakesNothingBackThatIsStolenInTheMiddle) {
  typename TestFixture::deque d(2);
  ASSERT_TRUE(d.try_push(1) && d.try_push(2));
  now.thief_has_looked = [&] { EXPECT_TRUE(d.pop_if(2)); };
  EXPECT_EQ(*d.steal(), 1);
  ASSERT_TRUE(d.try_push(3));
  now.thief_is_about_to_claim = [&] { EXPECT_TRUE(d.pop_if(3)); };
  EXPECT_EQ(d.steal().outcome(), steal_outcome::lost_race);
}

TYPED_TEST(ChaseLevTest, ABoundedPushNeverGrows) {
  typename TestFixture::deque d(2);
  EXPECT_TRUE(d.try_push_bounded(1));
  EXPECT_TRUE(d.try_push_bounded(2));
  EXPECT_FALSE(d.try_push_bounded(3));
  EXPECT_EQ(d.capacity(), 2U);
  EXPECT_EQ(*d.steal(), 1);
  EXPECT_TRUE(d.try_push_bounded(3)) << "a thief has made room";
  EXPECT_EQ(d.pop(), 3);
  EXPECT_EQ(d.pop(), 2);
}

// Orders

/// Notes what is asked of the words of a deque, and in which order.
struct recorder {
  static inline std::vector<std::string> notes;  // NOLINT(cert-err58-cpp): cannot throw
  static void note(const char* what, std::memory_order order) {
    static constexpr std::array<const char*, 6> names{"relaxed", "consume", "acquire",
                                                      "release", "acq_rel", "seq_cst"};
    notes.push_back(std::string(what) + ' ' + names.at(static_cast<std::size_t>(order)));
  }
  static std::vector<std::string> taken() { return std::exchange(notes, {}); }
};
template <class T>
struct recorded_atomic : std::atomic<T> {
  using std::atomic<T>::atomic;
  [[nodiscard]] T load(std::memory_order order) const noexcept {
    if (order != std::memory_order_relaxed) recorder::note("load", order);
    return std::atomic<T>::load(order);
  }
  void store(T value, std::memory_order order) noexcept {
    if (order != std::memory_order_relaxed) recorder::note("store", order);
    std::atomic<T>::store(value, order);
  }
  bool compare_exchange_strong(T& seen, T next, std::memory_order order, std::memory_order failure) noexcept {
    recorder::note("cas", order);
    return std::atomic<T>::compare_exchange_strong(seen, next, order, failure);
  }
};
struct recording_platform : std_atomics {
  template <class T>
  using atomic = recorded_atomic<T>;
  static void full_fence() noexcept {
    recorder::note("fence", std::memory_order_seq_cst);
    std_atomics::full_fence();
  }
};
using notes = std::vector<std::string>;

// S2-77 to S2-79, literally; relaxed accesses are left out.
TEST(SymmetricDequeOrders, AreTheOnesOfTheSpecification) {
  chase_lev<std::uint64_t, recording_platform, symmetric_orders> d(4);
  for (std::uint64_t i = 0; i < 2; ++i) ASSERT_TRUE(d.try_push(i));
  (void)recorder::taken();
  ASSERT_TRUE(d.try_push(2));
  EXPECT_EQ(recorder::taken(), (notes{"store release"})) << "push: release before bottom is raised";
  ASSERT_TRUE(d.pop());
  EXPECT_EQ(recorder::taken(), (notes{"store seq_cst", "load seq_cst"}))
      << "pop: seq_cst decrement of bottom";
  ASSERT_TRUE(d.steal());
  EXPECT_EQ(recorder::taken(),
            (notes{"load acquire", "fence seq_cst", "load acquire", "load acquire", "cas seq_cst"}))
      << "steal: acquire load of top, seq_cst compare-and-swap";
  ASSERT_TRUE(d.pop());
  EXPECT_EQ(recorder::taken(), (notes{"store seq_cst", "load seq_cst", "cas seq_cst", "store release"}))
      << "pop: compare-and-swap for the last one";
}

// Barriers

TEST(ChaseLevBarriers, AreTheProcessesOwnUnlessSaidOtherwise) {
  EXPECT_EQ((chase_lev<int, std_atomics, asymmetric_orders>(2).kind()), available_barriers());
  EXPECT_EQ((chase_lev<int, std_atomics, asymmetric_orders>(2, barrier_kind::symmetric).kind()),
            barrier_kind::symmetric);
  EXPECT_EQ((chase_lev<int, std_atomics, symmetric_orders>(2).kind()), barrier_kind::symmetric);
}

struct ChaseLevPlatformTest : ::testing::Test {
  using platform = impl::interposed_platform;
  void SetUp() override { doors.reset(); }
  void TearDown() override { doors.reset(); }
};

TEST_F(ChaseLevPlatformTest, OnlyAThiefThatSeesAnItemPaysForAHeavyBarrier) {
  chase_lev<int, platform, asymmetric_orders> d(2);
  EXPECT_EQ(d.steal().outcome(), steal_outcome::empty);
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(d.try_push(i));
  for (int i = 0; i < 50; ++i) (void)d.pop();
  EXPECT_EQ(doors.calls(door::heavy_barrier), 0U);
  EXPECT_TRUE(d.steal());
  EXPECT_EQ(doors.calls(door::heavy_barrier), 1U);
}

TEST_F(ChaseLevPlatformTest, SymmetricOrdersNeedNoHeavyBarrier) {
  chase_lev<int, platform, symmetric_orders> d(2);
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(d.try_push(i));
  EXPECT_TRUE(d.steal());
  EXPECT_EQ(doors.calls(door::heavy_barrier), 0U);
}

// The cost of the owner's path, in accesses to memory that others share: one more, and somebody should know why.
TEST_F(ChaseLevPlatformTest, PushAndPopTouchLittle) {
  chase_lev<std::uint64_t, platform, asymmetric_orders> d(8);
  ASSERT_TRUE(d.try_push(1));
  doors.reset();
  ASSERT_TRUE(d.try_push(2));
  EXPECT_EQ(doors.calls(door::atomic_operation), 3U) << "load bottom, store slot, store bottom";
  doors.reset();
  ASSERT_EQ(d.pop(), 2U);
  EXPECT_EQ(doors.calls(door::atomic_operation), 4U) << "load bottom, store bottom, load top, load slot";
}

TEST_F(ChaseLevPlatformTest, AStealCostsTheSameHoweverMuchThereIs) {
  std::vector<std::uint64_t> costs;
  for (const std::uint64_t items : {1U, 10U, 1000U}) {
    chase_lev<std::uint64_t, platform, asymmetric_orders> d(2);
    for (std::uint64_t i = 0; i < items; ++i) ASSERT_TRUE(d.try_push(i));
    doors.reset();
    ASSERT_TRUE(d.steal());
    costs.push_back(doors.calls(door::atomic_operation));
  }
  EXPECT_EQ(costs, (std::vector<std::uint64_t>(3, 6))) << "top, bottom, again bottom, buffer, slot, claim";
}

// Memory

TEST_F(ChaseLevPlatformTest, CannotBeMadeWithoutMemory) {
  doors.fail_nth(door::allocate, 1);
  EXPECT_THROW((chase_lev<int, platform, asymmetric_orders>(2)), std::bad_alloc);
}

// Fails each growth in turn: the push says so, nothing is lost, and the next one succeeds.
TEST_F(ChaseLevPlatformTest, LosesNothingWhenItCannotGrow) {
  constexpr int items = 40;
  for (std::uint64_t failing = 2;; ++failing) {
    doors.reset();
    doors.fail_nth(door::allocate, failing);
    chase_lev<int, platform, asymmetric_orders> d(2);
    int refused = 0;
    for (int i = 0; i < items; ++i) {
      const std::size_t before = d.size_approx();
      if (!d.try_push(i)) {
        ++refused;
        EXPECT_EQ(d.size_approx(), before);
        EXPECT_TRUE(d.try_push(i)) << "memory is back";
      }
    }
    for (int i = 0; i < items / 2; ++i) EXPECT_EQ(*d.steal(), i);
    for (int i = items - 1; i >= items / 2; --i) EXPECT_EQ(d.pop(), i);
    if (refused == 0) break;
    EXPECT_EQ(refused, 1);
    EXPECT_LT(failing, 10U) << "2 to 64 takes five growths";
  }
}

}  // namespace
}  // namespace weft::detail
