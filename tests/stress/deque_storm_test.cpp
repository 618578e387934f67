// SPDX-License-Identifier: Apache-2.0
//
// An owner and one to three thieves at one deque, at random: every item is taken exactly once, whole, and with all that
// was written before it was pushed.

#include "base/rng.hpp"
#include "support/deliveries.hpp"
#include "support/emulation.hpp"
#include "support/scale.hpp"
#include "support/seed.hpp"

#include <weft/detail/chase_lev.hpp>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <gtest/gtest.h>
#include <mutex>
#include <optional>
#include <ostream>
#include <thread>
#include <type_traits>
#include <vector>

namespace weft::detail {
namespace {

using impl::xoshiro256ss;

// As large as Loom's tasks, and three times the same in other words: a torn one shows.
struct item {
  std::uint64_t id;
  std::uint64_t inverse;
  testing::deliveries::entry* at;
};

class ledger : public testing::deliveries {
 public:
  using deliveries::deliveries;

  [[nodiscard]] item issue(std::uint64_t id) { return {id, ~id, deliveries::issue(id)}; }

  void take(const item& taken) {
    if (taken.inverse != ~taken.id || taken.at != begin() + taken.id) {
      torn();
    } else {
      deliveries::take(taken.at);
    }
  }
};

// Items a storm, each pushed and taken; and storms for each number of thieves.
constexpr std::size_t item_count = testing::scaled<std::size_t>(800'000, 150'000);
std::uint64_t storm_count() {
  return testing::storm_length{.usual = 800'000, .slow = 150'000, .long_run = 6'000'000}.now() / item_count;
}

struct tally {
  std::uint64_t stolen = 0;
  std::uint64_t lost_races = 0;
  std::uint64_t found_empty = 0;
};

template <class Deque>
tally steal_until(Deque& from, ledger& book, std::atomic<bool>& begun, const std::atomic<bool>& done) {
  tally mine;
  while (!done.load(std::memory_order_acquire)) {
    const steal_result<item> stolen = from.steal();
    switch (stolen.outcome()) {
      case steal_outcome::item:
        book.take(*stolen);
        if (mine.stolen++ == 0) begun.store(true, std::memory_order_relaxed);
        break;
      case steal_outcome::empty:
        // Stays awake, to be there when the next item is; on a busy machine, giving way means to be gone for long.
        std_atomics::pause();
        if (++mine.found_empty % 4096 == 0) std::this_thread::yield();
        break;
      case steal_outcome::lost_race: ++mine.lost_races; break;
    }
  }
  return mine;
}

// Pushes all of the ledger's items from `next` on, a few at a time, and takes some back between: mostly it stays at the
// edge of being empty, where owner and thieves meet; now and then it grows.
template <class Deque>
void own(Deque& mine, ledger& book, std::uint64_t& next, std::uint64_t until, xoshiro256ss& random) {
  while (next < until) {
    const std::uint64_t burst = random.below(16) == 0 ? 1 + random.below(300) : 1 + random.below(4);
    item last{};
    for (std::uint64_t i = 0; i < burst && next < until; ++i) {
      last = book.issue(next++);
      ASSERT_TRUE(mine.try_push(last));
    }
    if (random.below(4) == 0 && mine.pop_if(last)) book.take(last);
    for (std::uint64_t pops = random.below(static_cast<std::uint32_t>(burst) * 2 + 2); pops > 0; --pops) {
      const std::optional<item> popped = mine.pop();
      if (!popped) break;
      book.take(*popped);
    }
  }
}

template <class Deque>
void drain(Deque& mine, ledger& book) {
  while (const std::optional<item> popped = mine.pop()) book.take(*popped);
}

// The owners begin, with the items that are left, when the first was stolen: on a busy machine they would be done before a thief has
// had its turn. (A deque from which nothing can be stolen ends this by the time limit of the test.)
template <class Deque, class Owners>
ledger::verdict run_storm(Deque& deque, ledger& book, int thieves, tally& total, Owners&& owners) {
  std::atomic<bool> begun{false};
  std::atomic<bool> done{false};
  std::vector<tally> tallies(static_cast<std::size_t>(thieves));
  std::vector<std::thread> threads;
  for (tally& t : tallies) {
    threads.emplace_back([&] { t = steal_until(deque, book, begun, done); });
  }
  std::uint64_t next = 0;
  const bool is_pushed = deque.try_push(book.issue(next++));
  EXPECT_TRUE(is_pushed);
  while (is_pushed && !begun.load(std::memory_order_relaxed)) std::this_thread::yield();
  owners(next);
  done.store(true, std::memory_order_release);
  for (std::thread& t : threads) t.join();
  for (const tally& t : tallies) {
    total.stolen += t.stolen;
    total.lost_races += t.lost_races;
  }
  return book.judge();
}

// One owner, any number of thieves.
template <class Deque>
ledger::verdict storm(Deque& deque, int thieves, tally& total, xoshiro256ss& random) {
  ledger book(item_count);
  return run_storm(deque, book, thieves, total, [&](std::uint64_t next) {
    own(deque, book, next, book.size(), random);
    drain(deque, book);
  });
}

void report(const tally& total, int thieves) {
  std::printf("%d thieves: %llu items stolen, %llu races lost\n", thieves,
              static_cast<unsigned long long>(total.stolen),
              static_cast<unsigned long long>(total.lost_races));
}

// The three ways a deque can be: heavy barriers, the same on a kernel that has none, symmetric by choice.
struct with_heavy_barriers {
  using deque = chase_lev<item, std_atomics, asymmetric_orders>;
  static barrier_kind kind() { return available_barriers(); }
};
struct without_heavy_barriers {
  using deque = chase_lev<item, std_atomics, asymmetric_orders>;
  static barrier_kind kind() { return barrier_kind::symmetric; }
};
struct symmetric_by_choice {
  using deque = chase_lev<item, std_atomics, symmetric_orders>;
  static barrier_kind kind() { return barrier_kind::symmetric; }
};

template <class Way>
struct DequeStormTest : ::testing::Test {
  void SetUp() override {
    if (std::is_same_v<Way, symmetric_by_choice> && !testing::keeps_seq_cst) {
      GTEST_SKIP() << "the emulator does not keep sequential consistency";
    }
  }
};
using all_ways = ::testing::Types<with_heavy_barriers, without_heavy_barriers, symmetric_by_choice>;
TYPED_TEST_SUITE(DequeStormTest, all_ways);

TYPED_TEST(DequeStormTest, EveryItemIsTakenExactlyOnce) {
  xoshiro256ss random(testing::test_seed());
  for (int thieves = 1; thieves <= 3; ++thieves) {
    tally total;
    for (std::uint64_t left = storm_count(); left > 0; --left) {
      typename TypeParam::deque deque(2, TypeParam::kind());
      ASSERT_EQ(storm(deque, thieves, total, random), ledger::verdict());
    }
    report(total, thieves);
  }
}

// Two threads take turns in owning the deque, with a lock between them.
TYPED_TEST(DequeStormTest, MayChangeOwners) {
  xoshiro256ss random(testing::test_seed());
  typename TypeParam::deque deque(2, TypeParam::kind());
  ledger book(item_count);
  tally total;
  const ledger::verdict found = run_storm(deque, book, 1, total, [&](std::uint64_t next) {
    std::mutex ownership;
    const auto take_turns = [&](xoshiro256ss mine) {
      for (bool more = true; more;) {
        const std::lock_guard hold(ownership);
        const std::uint64_t until = std::min<std::uint64_t>(book.size(), next + 1 + mine.below(1000));
        own(deque, book, next, until, mine);
        more = next < book.size();
      }
    };
    std::thread other(take_turns, random.split());
    take_turns(random.split());
    other.join();
    drain(deque, book);
  });
  EXPECT_EQ(found, ledger::verdict());
  report(total, 1);
}

// Nobody pops: whatever the owner pushes goes to thieves, in order for each.
TYPED_TEST(DequeStormTest, AThiefGetsItemsInTheOrderTheyWerePushed) {
  typename TypeParam::deque deque(2, TypeParam::kind());
  ledger book(item_count / 16);
  std::thread thief([&] {
    std::uint64_t expected = 0;
    while (expected < book.size()) {
      const steal_result<item> stolen = deque.steal();
      if (!stolen) {
        ASSERT_EQ(stolen.outcome(), steal_outcome::empty) << "there is nobody to lose a race to";
        std::this_thread::yield();
        continue;
      }
      ASSERT_EQ(stolen->id, expected);
      book.take(*stolen);
      ++expected;
    }
  });
  for (std::uint64_t id = 0; id < book.size(); ++id) ASSERT_TRUE(deque.try_push(book.issue(id)));
  thief.join();
  EXPECT_EQ(book.judge(), ledger::verdict());
}

// That the storm can fail: without its barrier, on either side, a deque gives items to two. Where all threads share
// one processor that cannot happen; assertions and sanitizers would stop the program before the ledger sees it.
#if defined(NDEBUG) && defined(WEFT_TEST_SCALE_full)
struct owner_without_barrier : asymmetric_orders {
  static constexpr barrier_kind others_use = barrier_kind::symmetric;
  template <class Platform>
  static void owner_barrier(barrier_kind /*kind*/) noexcept {}
};
struct thief_without_barrier : asymmetric_orders {
  static constexpr barrier_kind others_use = barrier_kind::asymmetric;
  template <class Platform>
  static void thief_barrier(barrier_kind /*kind*/) noexcept {}
};
struct owner_with_cheap_store : symmetric_orders {
  static constexpr barrier_kind others_use = barrier_kind::symmetric;
  static constexpr std::memory_order reserve = std::memory_order_release;
};

template <class Orders>
struct DequeStormFaultTest : ::testing::Test {};
using faults = ::testing::Types<owner_without_barrier, thief_without_barrier, owner_with_cheap_store>;
TYPED_TEST_SUITE(DequeStormFaultTest, faults);

TYPED_TEST(DequeStormFaultTest, IsNoticed) {
  if (std::thread::hardware_concurrency() < 2) GTEST_SKIP() << "needs two processors";
  xoshiro256ss random(testing::test_seed());
  tally total;
  for (int i = 0; i < 10'000; ++i) {  // one is enough, unless the machine is very busy
    chase_lev<item, std_atomics, TypeParam> deque(2, TypeParam::others_use);
    if (storm(deque, 1, total, random).doubled != 0) return;
  }
  report(total, 1);
  FAIL() << "10,000 storms went over a broken deque, and none noticed";
}
#endif

}  // namespace
}  // namespace weft::detail
