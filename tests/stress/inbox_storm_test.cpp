// SPDX-License-Identifier: Apache-2.0
//
// Threads push into inboxes and drain each other's: whatever happens between whom, each runnable comes out once, and
// those of one producer in their order.

#include "queue/inbox.hpp"
#include "support/flow.hpp"
#include "support/ledger.hpp"
#include "support/scale.hpp"
#include "support/seed.hpp"

#include <atomic>
#include <cstdio>
#include <gtest/gtest.h>
#include <list>
#include <thread>
#include <vector>

namespace weft::impl {
namespace {

using testing::ledger;
using testing::producer;
using testing::taker;

struct storm_size {
  std::size_t producers = 0;
  std::size_t takers = 0;  // the owner and thieves: there is no difference
  std::size_t stock = 0;
  std::uint64_t pushes = 0;  // of each producer
  // For an inbox that is broken on purpose: only count, and give up after so many rounds.
  std::int64_t patience = 0;
};

// Returns how many were lost.
template <class Inbox>
std::int64_t storm(const storm_size& size, ledger& faults) {
  Inbox box;
  xoshiro256ss random(testing::test_seed());
  std::list<producer> producers;
  std::list<taker> takers;
  for (std::size_t i = 0; i < size.producers; ++i) producers.emplace_back(i, size.stock, random());
  for (std::size_t i = 0; i < size.takers; ++i) {
    takers.emplace_back(faults, size.producers, size.patience == 0);
  }
  std::atomic<std::int64_t> rounds{0};
  const auto stop = [&] {
    if (size.patience == 0) return false;
    return faults.faults() != 0 || rounds.fetch_add(1, std::memory_order_relaxed) > size.patience;
  };
  std::atomic<std::size_t> producing{size.producers};
  std::vector<std::thread> threads;
  for (producer& each : producers) {
    threads.emplace_back([&] {
      each.run(box, size.pushes, 4, stop);
      producing.fetch_sub(1);
    });
  }
  for (taker& each : takers) {
    threads.emplace_back([&] {
      while (producing.load() != 0 && !stop()) {
        run_batch drained = box.drain();
        if (drained.empty()) std::this_thread::yield();
        each.account(std::move(drained));
      }
    });
  }
  for (std::thread& each : threads) each.join();
  std::int64_t lost = 0;
  for (std::uint64_t before = ~std::uint64_t{0}; before != takers.front().taken() && !stop();) {
    before = takers.front().taken();
    takers.front().account(box.drain());
  }
  for (const producer& each : producers) lost += static_cast<std::int64_t>(each.sent());
  for (const taker& each : takers) lost -= static_cast<std::int64_t>(each.taken());
  return lost;
}

TEST(InboxStorm, EverythingArrivesOnceAndInOrder) {
  ledger faults;
  const std::uint64_t pushes =
      testing::storm_length{.usual = 8'000'000, .slow = 2'000'000, .long_run = 56'000'000}.now();
  EXPECT_EQ(storm<inbox>({.producers = 2, .takers = 2, .stock = 64, .pushes = pushes}, faults), 0);
  EXPECT_EQ(faults.faults(), 0) << faults.first();
}

TEST(InboxStorm, AFewRunnablesThatComeByAllTheTime) {
  ledger faults;
  const std::uint64_t pushes =
      testing::storm_length{.usual = 500'000, .slow = 300'000, .long_run = 3'000'000}.now();
  EXPECT_EQ(storm<inbox>({.producers = 3, .takers = 3, .stock = 2, .pushes = pushes}, faults), 0);
  EXPECT_EQ(faults.faults(), 0) << faults.first();
}

// Runnables that have no place of their own: each thread sends what it gets on to any inbox. A stamp on each says
// who has it.
TEST(InboxStorm, WhoHasARunnableHasItAlone) {
  struct traveller : run_link<default_platform> {
    std::atomic<int> holder{0};
    std::uint64_t hops = 0;  // guarded by the inboxes
  };
  constexpr std::size_t workers = 3;
  const std::uint64_t hops =
      testing::storm_length{.usual = 4'000'000, .slow = 1'500'000, .long_run = 36'000'000}.now();
  std::vector<traveller> travellers(64);
  std::vector<inbox> boxes(workers);
  xoshiro256ss random(testing::test_seed());
  ledger faults;
  std::uint64_t made[workers] = {};
  for (std::size_t i = 0; i < travellers.size(); ++i) {
    boxes[i % workers].push(runnable(runnable::kind::fiber, &travellers[i]));
  }
  std::vector<std::thread> threads;
  for (std::size_t me = 0; me < workers; ++me) {
    threads.emplace_back([&, me, mine = random.split()]() mutable {
      const auto any_box = [&]() -> inbox& { return boxes[mine.below(workers)]; };
      while (made[me] < hops) {
        run_batch drained = mine.below(4) == 0 ? any_box().drain() : boxes[me].drain();
        if (drained.empty()) std::this_thread::yield();
        run_batch together;
        while (const runnable next = drained.pop_front()) {
          auto& here = *static_cast<traveller*>(next.address());
          const int before = here.holder.exchange(static_cast<int>(me) + 1, std::memory_order_relaxed);
          faults.check(before == 0, "two threads had one runnable");
          faults.check(next.what() == runnable::kind::fiber, "a runnable has changed its kind");
          ++here.hops;
          ++made[me];
          here.holder.store(0, std::memory_order_relaxed);
          if (mine.below(2) == 0) {
            any_box().push(next);
          } else {
            together.push_back(next);
          }
        }
        any_box().push(std::move(together));
      }
    });
  }
  for (std::thread& each : threads) each.join();
  std::size_t there = 0;
  for (inbox& box : boxes) {
    run_batch rest = box.drain();
    there += rest.size();
    rest.forget();
  }
  EXPECT_EQ(there, travellers.size());
  std::uint64_t sum = 0;
  for (const traveller& each : travellers) sum += each.hops;
  EXPECT_EQ(sum, made[0] + made[1] + made[2]);
  EXPECT_EQ(faults.faults(), 0) << faults.first();
}

#if !WEFT_THREAD_SANITIZER  // which would call the planted fault by its name, a data race
// The stack of the textbook: takes the top one by swapping in what it links to, which may be another by then.
class popping_stack {
 public:
  bool push(runnable first, runnable last) noexcept {
    std::uintptr_t before = top_.load(std::memory_order_relaxed);
    do {
      run_link<default_platform>::of(last).next.write(runnable::from_word(before));
    } while (!top_.compare_exchange_weak(before, first.word(), std::memory_order_release,
                                         std::memory_order_relaxed));
    return before == 0;
  }
  bool push(run_batch&& pile) noexcept {
    const runnable first = pile.first();
    const runnable last = pile.last();
    pile.forget();
    return push(first, last);
  }
  runnable take_all() noexcept {
    std::uintptr_t top = top_.load(std::memory_order_acquire);
    while (top != 0) {
      auto& link = run_link<default_platform>::of(runnable::from_word(top));
      const runnable below = link.next.read();
      std::this_thread::yield();  // lets the fault show in milliseconds rather than hours
      if (!top_.compare_exchange_strong(top, below.word(), std::memory_order_acquire,
                                        std::memory_order_acquire)) {
        continue;
      }
      link.next.write({});
      return runnable::from_word(top);
    }
    return {};
  }
  [[nodiscard]] bool empty() const noexcept { return top_.load(std::memory_order_relaxed) == 0; }

 private:
  std::atomic<std::uintptr_t> top_{0};
};

TEST(InboxStorm, AStackThatTakesOneByOneIsCaught) {
  using planted = basic_inbox<default_platform, popping_stack>;
  ledger faults;
  const std::int64_t lost = storm<planted>(
      {.producers = 2, .takers = 3, .stock = 3, .pushes = 2'000'000, .patience = 1'000'000}, faults);
  EXPECT_TRUE(faults.faults() != 0 || lost != 0) << "the ledger does not see what it is for";
  std::printf("found: %s; lost: %lld\n", faults.first(), static_cast<long long>(lost));
}
#endif

}  // namespace
}  // namespace weft::impl
