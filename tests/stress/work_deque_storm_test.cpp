// SPDX-License-Identifier: Apache-2.0
//
// Two to four workers with a deque each. One issues items; all of them pop, take back, answer, ask, claim, give up,
// put each other aside and steal what was stolen, at random: every item is taken exactly once, with all that was
// written before it was pushed, and a join never comes in company.

#include "base/rng.hpp"
#include "queue/thief.hpp"
#include "queue/work_deque.hpp"
#include "support/broken_deques.hpp"
#include "support/deliveries.hpp"
#include "support/scale.hpp"
#include "support/seed.hpp"

#include <array>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <gtest/gtest.h>
#include <memory>
#include <ostream>
#include <thread>
#include <vector>

namespace weft::impl {
namespace {

class ledger : public testing::deliveries {
 public:
  using deliveries::deliveries;

  [[nodiscard]] runnable issue(std::uint64_t id, runnable::kind what) {
    return {what, deliveries::issue(id)};
  }
  void take(runnable r) { deliveries::take(static_cast<entry*>(r.address())); }
};

/// Items a storm; and storms a test.
constexpr std::size_t item_count = testing::scaled<std::size_t>(600'000, 150'000);
std::uint64_t storm_count() {
  return testing::storm_length{.usual = 3'600'000, .slow = 450'000, .long_run = 25'200'000}.now() /
         item_count;
}

constexpr std::size_t most_workers = 4;

struct tally {
  std::uint64_t popped = 0;
  std::uint64_t granted = 0;
  std::uint64_t claimed = 0;
  std::uint64_t disappointed = 0;  // was granted or claimed something, and got nothing
  std::uint64_t joins_in_company = 0;

  tally& operator+=(const tally& other) {
    popped += other.popped;
    granted += other.granted;
    claimed += other.claimed;
    disappointed += other.disappointed;
    joins_in_company += other.joins_in_company;
    return *this;
  }
};

template <class Rules>
class worker {
  using work_deque = basic_work_deque<default_platform, Rules>;

 public:
  worker(std::uint16_t number, barrier_kind barriers, const work_deque_options& options, std::uint64_t seed)
      : deque(barriers, options), id_{number}, barriers_(barriers), thief_(id_, clock_), random_(seed) {}

  /// Pushes the whole ledger, a few at a time, and takes some back between: mostly it stays at the edge of being empty,
  /// where owner and thieves meet; now and then it grows.
  void issue_all(ledger& book) {
    std::uint64_t next = 0;
    // It waits until a thief has found the way, or it would be done before there is any.
    while (next < 64) ASSERT_TRUE(deque.push(book.issue(next++, runnable::kind::task)));
    while (deque.size() == 64) answer_and_give_way();
    while (next < book.size()) {
      const std::uint64_t burst = random_.below(16) == 0 ? 1 + random_.below(300) : 1 + random_.below(4);
      runnable last;
      for (std::uint64_t i = 0; i < burst && next < book.size(); ++i) {
        last = book.issue(next++, random_.below(5) == 0 ? runnable::kind::join : runnable::kind::task);
        ASSERT_TRUE(deque.push(last));
        if (deque.asked()) deque.answer_after_push();
      }
      if (random_.below(4) == 0 && deque.pop_if(last)) take(book, last);
      if (random_.below(32) == 0) take(book, deque.pop_oldest());
      pop_some(book, random_.below(static_cast<std::uint32_t>(burst) * 2 + 2));
      if (random_.below(8) == 0) linger(100);
      if (random_.below(16) == 0)
        std::this_thread::yield();  // so that on a busy machine thieves come in between
    }
    pop_some(book, book.size());
  }

  /// Lives on what it can get from others.
  void live_by_theft(ledger& book, const std::vector<std::unique_ptr<worker>>& all,
                     const std::atomic<bool>& done) {
    while (!done.load(std::memory_order_acquire)) {
      worker& victim = *all[random_.below(static_cast<std::uint32_t>(all.size()))];
      if (&victim == this) continue;
      const std::uint32_t count = rob(victim, done);
      const bool alone = count <= 1;
      // Others may have taken some of it by now; what is left of it must still keep the rule.
      while (const runnable r = deque.pop()) {
        if (!alone && r.what() == runnable::kind::join) ++seen_.joins_in_company;
        take(book, r);
        if (deque.asked()) deque.answer_between();
      }
    }
  }

  [[nodiscard]] const tally& seen() const { return seen_; }

  work_deque deque;

 private:
  void take(ledger& book, runnable r) {
    if (!r) return;
    ++seen_.popped;
    book.take(r);
  }

  void answer_and_give_way() {
    if (deque.asked()) deque.answer_between();
    std::this_thread::yield();
  }

  void pop_some(ledger& book, std::uint64_t most) {
    for (; most > 0; --most) {
      const runnable r = deque.pop();
      if (!r) return;
      take(book, r);
      if (deque.asked()) deque.answer_between();
    }
  }

  std::uint32_t rob(worker& victim, const std::atomic<bool>& done) {
    work_deque& from = victim.deque;
    switch (random_.below(6)) {
      case 0: return ask(from, {}, false);
      case 1: return ask(from, {}, true);
      case 2: return count_claim(from.steal(id_, deque, 1 + random_.below(8)));
      case 3: return claim_slowly(from);
      case 4: return put_aside(from);
      default: {
        const auto stop = [&done] { return done.load(std::memory_order_relaxed); };
        return thief_.rob(from, notes_[victim.index()], deque, stop).count;
      }
    }
  }

  std::uint32_t ask(work_deque& from, top_word broken, bool impatient) {
    if (!from.ask(id_, broken)) {
      linger(8);
      return 0;
    }
    for (std::uint32_t looks = random_.below(200); looks > 0; --looks) {
      const top_word word = from.at_door();
      if (word.by() != id_) return 0;
      if (word.is_claimed()) return count_grant(from.take(word, deque));
      default_platform::pause();
      if (random_.below(64) == 0) std::this_thread::yield();  // else nobody answers on a busy machine
    }
    if (impatient) return count_claim(from.steal(id_, deque));
    from.withdraw(id_);
    return 0;
  }

  std::uint32_t claim_slowly(work_deque& from) {
    const auto claim = from.begin_claim(id_, 1 + random_.below(64));
    if (!claim) return 0;
    if constexpr (Rules::thief_has_barrier) default_platform::heavy_barrier(barriers_);
    linger(100);
    return count_claim(from.finish_claim(*claim, deque));
  }

  std::uint32_t put_aside(work_deque& from) {
    const top_word before = from.at_door();
    if (before.is_settled()) return 0;
    linger(50);
    return ask(from, before, true);
  }

  std::uint32_t count_grant(std::uint32_t count) {
    ++(count > 0 ? seen_.granted : seen_.disappointed);
    return count;
  }
  std::uint32_t count_claim(std::uint32_t count) {
    if (count > 0) ++seen_.claimed;
    return count;
  }

  // Mostly stays awake, to be there when something is; on a busy machine, giving way means to be gone for long.
  void linger(std::uint32_t most) {
    for (std::uint32_t i = random_.below(most); i > 0; --i) default_platform::pause();
    if (random_.below(256) == 0) std::this_thread::yield();
  }

  [[nodiscard]] std::size_t index() const { return static_cast<std::size_t>(id_) - 1; }

  thief_id id_;
  barrier_kind barriers_;
  system_clock clock_;
  basic_thief<default_platform, work_deque, system_clock> thief_;
  std::array<victim_notes, most_workers> notes_;
  xoshiro256ss random_;
  tally seen_;
};

struct storm_result {
  ledger::verdict verdict;
  tally total;
  std::uint64_t by_owner = 0;
};

template <class Rules>
storm_result one_storm(std::size_t thieves, barrier_kind barriers, xoshiro256ss& random) {
  ledger book(item_count);
  work_deque_options options;
  options.capacity = 1U << random.below(6);
  options.most = 1 + random.below(40);
  options.least_after_push = 1 + random.below(4);
  options.first_index = 0U - random.below(1000);  // wraps soon
  std::vector<std::unique_ptr<worker<Rules>>> all;
  for (std::size_t i = 0; i <= thieves; ++i)
    all.push_back(
        std::make_unique<worker<Rules>>(static_cast<std::uint16_t>(i + 1), barriers, options, random()));
  std::atomic<bool> done{false};
  std::vector<std::thread> threads;
  for (std::size_t i = 1; i <= thieves; ++i)
    threads.emplace_back([&, i] { all[i]->live_by_theft(book, all, done); });
  all[0]->issue_all(book);
  done.store(true, std::memory_order_release);
  for (std::thread& t : threads) t.join();
  storm_result result{book.judge(), {}, all[0]->seen().popped};
  for (const auto& each : all) result.total += each->seen();
  return result;
}

void storm(std::size_t thieves, barrier_kind barriers) {
  xoshiro256ss random(testing::test_seed());
  for (std::uint64_t left = storm_count(); left > 0; --left) {
    const auto [verdict, total, by_owner] = one_storm<work_deque_rules>(thieves, barriers, random);
    std::printf("%zu thieves: %llu by the owner, %llu grants, %llu claims, %llu disappointments\n", thieves,
                static_cast<unsigned long long>(by_owner), static_cast<unsigned long long>(total.granted),
                static_cast<unsigned long long>(total.claimed),
                static_cast<unsigned long long>(total.disappointed));
    EXPECT_EQ(verdict, ledger::verdict{});
    EXPECT_EQ(total.joins_in_company, 0U);
    EXPECT_EQ(total.popped, item_count);
    EXPECT_GT(total.granted + total.claimed, 0U) << "nobody has stolen anything: this has tested nothing";
  }
}

TEST(WorkDequeStorm, OneThief) { storm(1, default_platform::barriers()); }
TEST(WorkDequeStorm, TwoThieves) { storm(2, default_platform::barriers()); }
TEST(WorkDequeStorm, ThreeThieves) { storm(3, default_platform::barriers()); }
TEST(WorkDequeStorm, OneThiefWithFences) { storm(1, barrier_kind::symmetric); }
TEST(WorkDequeStorm, ThreeThievesWithFences) { storm(3, barrier_kind::symmetric); }

/// Owner and thief go for the same single item, again and again: nothing else meets so often.
struct duel_result {
  ledger::verdict verdict;
  std::uint64_t stolen = 0;
};

template <class Rules>
duel_result duel(barrier_kind barriers, std::size_t items) {
  using work_deque = basic_work_deque<default_platform, Rules>;
  ledger book(items);
  work_deque victim(barriers);
  work_deque loot(barriers);
  duel_result result;
  std::atomic<bool> ready{false};
  std::atomic<bool> done{false};
  std::thread thief([&] {
    while (!done.load(std::memory_order_acquire)) {
      if (victim.steal(thief_id{1}, loot, 1) == 0) continue;
      book.take(loot.pop());
      ++result.stolen;
      ready.store(true, std::memory_order_relaxed);
    }
  });
  std::uint64_t next = 0;
  EXPECT_TRUE(victim.push(book.issue(next++, runnable::kind::task)));
  while (!ready.load(std::memory_order_relaxed)) std::this_thread::yield();
  while (next < items) {
    EXPECT_TRUE(victim.push(book.issue(next++, runnable::kind::task)));
    for (std::uint64_t i = next % 8; i > 0; --i)
      default_platform::pause();  // so that the thief wins now and then
    if (const runnable r = victim.pop()) book.take(r);
  }
  while (const runnable r = victim.pop()) book.take(r);
  done.store(true, std::memory_order_release);
  thief.join();
  result.verdict = book.judge();
  return result;
}

void duels(barrier_kind barriers) {
  for (std::uint64_t left = storm_count(); left > 0; --left) {
    const duel_result result = duel<work_deque_rules>(barriers, item_count);
    std::printf("%llu of %zu stolen\n", static_cast<unsigned long long>(result.stolen), item_count);
    EXPECT_EQ(result.verdict, ledger::verdict{});
    EXPECT_GT(result.stolen, 0U);
  }
}
TEST(WorkDequeStorm, Duel) { duels(default_platform::barriers()); }
TEST(WorkDequeStorm, DuelWithFences) { duels(barrier_kind::symmetric); }

// That the storms can fail. Where all threads share one processor the barriers do not matter; assertions and sanitizers
// would stop the program before the ledger sees it.
#if defined(NDEBUG) && defined(WEFT_TEST_SCALE_full)

template <class Faulty>
void expect_a_duel_to_notice(barrier_kind barriers) {
  if (std::thread::hardware_concurrency() < 2) GTEST_SKIP() << "needs two processors";
  for (int i = 0; i < 10'000; ++i) {  // a few are enough, unless the machine is very busy
    if (duel<Faulty>(barriers, item_count).verdict.doubled != 0) return;
  }
  FAIL() << "10,000 duels over a broken deque, and none noticed";
}
TEST(WorkDequeStormFault, AThiefWithoutItsBarrierIsNoticed) {
  expect_a_duel_to_notice<testing::thief_without_barrier>(barrier_kind::asymmetric);
}
TEST(WorkDequeStormFault, AnOwnerWithoutItsBarrierIsNoticed) {
  expect_a_duel_to_notice<testing::owner_without_barrier>(barrier_kind::symmetric);
}
TEST(WorkDequeStormFault, SlotsThatAreReusedTooEarlyAreNoticed) {
  xoshiro256ss random(testing::test_seed());
  for (int i = 0; i < 1000; ++i) {
    const storm_result result =
        one_storm<testing::reuses_claimed_slots>(2, default_platform::barriers(), random);
    if (result.verdict != ledger::verdict{}) return;
  }
  FAIL() << "1,000 storms over a broken deque, and none noticed";
}
#endif

}  // namespace
}  // namespace weft::impl
