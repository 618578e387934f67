// SPDX-License-Identifier: Apache-2.0
//
// P8: a ready fiber, among R that are ready on W workers, runs within 2 * ceil(R / W) + 64 slices. Time is counted in
// slices and not by a clock: whoever is given a worker ticks, and compares with when it last had one or became ready.
//
// Each worker is taken alone, for what stands in its own line: a thread that has lost its processor gives no slices, while the
// others give any number. With one worker that is the bound itself. With several, stealing is switched off before anything is
// measured, since nobody can tell how long a fiber was ready that has come from somewhere else.

#include "base/cache_line.hpp"
#include "sched/worker.hpp"
#include "support/on_workers.hpp"
#include "support/scale.hpp"

#include <weft/runtime.hpp>
#include <weft/suspend.hpp>
#include <weft/this_fiber.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <deque>
#include <gtest/gtest.h>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace weft::impl {
namespace {

constexpr std::uint32_t most_workers = 4;

/// A slice that a worker gave to somebody: the n-th.
struct slice {
  std::uint32_t worker = 0;
  std::uint32_t number = 0;
};

/// A count for each worker. relaxed: nothing is read on the strength of them before all have ended.
struct alignas(contended_bytes) worker_counts {
  std::atomic<std::uint32_t> slices{0};
  std::atomic<std::uint32_t> fibers{0};  // that stand in its line, or run
};

/// How long tasks of one kind were ready before they ran, at worst, for each worker.
class delays {
 public:
  void note(slice ready, slice ran) noexcept {
    if (ready.worker != ran.worker) return;  // it has moved: no count tells how long it took
    measured_.fetch_add(1, std::memory_order_relaxed);
    const std::uint32_t waited = ran.number - ready.number;
    auto& longest = longest_[ran.worker];
    std::uint32_t seen = longest.load(std::memory_order_relaxed);
    while (waited > seen && !longest.compare_exchange_weak(seen, waited, std::memory_order_relaxed)) {
    }
  }
  [[nodiscard]] std::uint32_t longest(std::uint32_t worker) const noexcept {
    return longest_[worker].load(std::memory_order_relaxed);
  }
  [[nodiscard]] std::uint32_t measured() const noexcept { return measured_.load(std::memory_order_relaxed); }

 private:
  std::array<std::atomic<std::uint32_t>, most_workers> longest_{};
  std::atomic<std::uint32_t> measured_{0};
};

/// Who is there.
struct crowd {
  std::uint32_t yielding = 0;
  std::uint32_t respawning = 0;  ///< 0 or 1: a task that spawns itself anew, for ever
  std::uint32_t pairs = 0;       ///< of fibers that resume each other
};

class FairnessTest : public ::testing::TestWithParam<std::uint32_t> {
 protected:
  /// Lets a crowd loose, and checks that each of them gets its turn.
  void mingle(const crowd& all);
  void check(const crowd& all) const;

  /// Called once in each slice, by who has got it.
  [[gnu::noinline]] slice begin_slice() noexcept {
    const std::uint32_t here = current_worker()->index();
    return {here, of[here].slices.fetch_add(1, std::memory_order_relaxed)};
  }

  template <class Stop>
  void yield_until(Stop&& done);
  void yield_until_stopped() {
    yield_until([this] { return stop.load(); });
  }
  void respawn(slice spawned);
  struct pair {
    std::array<resumer, 2> waiting;
    std::optional<slice> resumed;  // if all stood where they were by then
    std::atomic<bool> begun{false};
    std::atomic<bool> met{false};
  };
  void play(pair& both, std::size_t who);

  /// Whether who could go on for ever is to end: when it is told to, or when somebody else starves beside it.
  [[nodiscard]] bool is_over(slice now) const noexcept {
    constexpr std::uint32_t far_too_many = 5'000'000;
    return stop || now.number > far_too_many;
  }

  /// What was ready earlier may have been on its way from one worker to another.
  [[nodiscard]] std::optional<slice> if_settled(slice now) const noexcept {
    return settled ? std::optional(now) : std::nullopt;
  }

  /// What is promised to each of so many that are ready on a worker.
  [[nodiscard]] static std::uint32_t bound(std::uint32_t ready) { return 2 * ready + 64; }

  std::array<worker_counts, most_workers> of;
  std::atomic<std::uint32_t> yielding{0};
  std::atomic<bool> settled{false};
  std::atomic<bool> stop{false};
  std::atomic<bool> has_stopped{false};  // the one that respawns itself
  std::atomic<std::uint32_t> pairs_met{0};
  delays yielders;
  delays fresh;
  delays players;
};
INSTANTIATE_TEST_SUITE_P(, FairnessTest, ::testing::Values(1U, 2U, 4U), testing::name_by_workers);

template <class Stop>
void FairnessTest::yield_until(Stop&& done) {
  ++yielding;
  while (!settled) this_fiber::yield();
  slice last = begin_slice();
  ++of[last.worker].fibers;
  while (!done()) {
    this_fiber::yield();
    const slice now = begin_slice();
    if (now.worker != last.worker) ++of[now.worker].fibers;
    yielders.note(last, now);
    last = now;
  }
}

void FairnessTest::respawn(slice spawned) {
  const slice now = begin_slice();
  fresh.note(spawned, now);
  if (is_over(now)) {
    has_stopped = true;
  } else {
    spawn([this, now] { respawn(now); }).detach();
  }
}

// Each lets the other go on when it has begun to wait itself.
void FairnessTest::play(pair& both, std::size_t who) {
  const std::size_t other = 1 - who;
  while (who == 1 && !both.begun) this_fiber::yield();  // somebody waits
  slice now = begin_slice();
  while (!is_over(now)) {
    suspend("the other", [&](const resumer& mine) {
      both.waiting[who] = mine;
      both.resumed = if_settled(now);
      if (both.begun.exchange(true)) both.waiting[other].resume();
    });
    now = begin_slice();
    if (both.resumed) players.note(*both.resumed, now);
    if (!both.met.exchange(true)) ++pairs_met;
  }
  both.resumed = if_settled(now);
  both.waiting[other].resume();
}

void FairnessTest::mingle(const crowd& all) {
  const std::uint32_t rounds = testing::scaled(50U, 5U);
  const std::uint32_t slices = rounds * (1 + all.yielding);
  std::deque<pair> pairs(all.pairs);
  runtime one({.workers = GetParam(), .seed = 1, .autoscale = testing::never_more});
  one.spawn([&] {
       std::vector<handle<void>> fibers;
       for (std::uint32_t i = 0; i < all.yielding; ++i)
         fibers.push_back(spawn([this] { yield_until_stopped(); }));
       for (pair& each : pairs) {
         fibers.push_back(spawn([this, &each] { play(each, 0); }));
         fibers.push_back(spawn([this, &each] { play(each, 1); }));
       }
       while (yielding < all.yielding || pairs_met < all.pairs) this_fiber::yield();
       // From now on all stay where they are; but somebody may be about to take some.
       one.set_stealing(false);
       for (int i = 0; i < 100; ++i) this_fiber::yield();
       const slice now = begin_slice();
       if (all.respawning != 0) spawn([this, now] { respawn(now); }).detach();
       settled = true;
       yield_until([&] {
         return yielders.measured() >= slices && (all.respawning == 0 || fresh.measured() >= rounds);
       });
       stop = true;
       for (auto& each : fibers) each.join();
     })
      .join();
  check(all);
}

void FairnessTest::check(const crowd& all) const {
  for (std::uint32_t worker = 0; worker < GetParam(); ++worker) {
    const worker_counts& mine = of[worker];
    const std::uint32_t ready = mine.fibers + all.respawning + all.pairs;  // of a pair, one waits
    EXPECT_LE(yielders.longest(worker), bound(ready)) << "of " << ready << ": one that yields";
    EXPECT_LE(fresh.longest(worker), bound(ready)) << "of " << ready << ": one that was spawned";
    EXPECT_LE(players.longest(worker), bound(ready)) << "of " << ready << ": one that was resumed";
    std::printf("worker %u, %u ready, at most %u slices: yielding %u, spawned %u, resumed %u\n", worker,
                ready, bound(ready), yielders.longest(worker), fresh.longest(worker),
                players.longest(worker));
  }
}

constexpr std::uint32_t many = testing::scaled(1000U, 100U);

TEST_P(FairnessTest, AFewThatYield) { mingle({.yielding = 3}); }
TEST_P(FairnessTest, ManyThatYield) { mingle({.yielding = many}); }
TEST_P(FairnessTest, FewAgainstATaskThatSpawnsItself) { mingle({.yielding = 3, .respawning = 1}); }
TEST_P(FairnessTest, ManyAgainstATaskThatSpawnsItself) { mingle({.yielding = many, .respawning = 1}); }
TEST_P(FairnessTest, FewAgainstAPairThatPlays) { mingle({.yielding = 3, .pairs = 1}); }
TEST_P(FairnessTest, SomeAgainstAPairThatPlays) { mingle({.yielding = 50, .pairs = 1}); }
TEST_P(FairnessTest, ManyAgainstAPairThatPlays) { mingle({.yielding = many, .pairs = 1}); }
TEST_P(FairnessTest, ManyAgainstManyPairs) { mingle({.yielding = many / 2, .pairs = many / 2}); }
TEST_P(FairnessTest, FewOfAllKinds) { mingle({.yielding = 3, .respawning = 1, .pairs = 1}); }
TEST_P(FairnessTest, SomeOfAllKinds) { mingle({.yielding = 50, .respawning = 1, .pairs = 5}); }
TEST_P(FairnessTest, ManyOfAllKinds) { mingle({.yielding = many, .respawning = 1, .pairs = many / 2}); }

// Fibers that go from worker to worker: nobody can say how many slices each of them waits for, but all get theirs.
TEST_P(FairnessTest, NobodyStarvesWhereOthersTakeWhatTheyFind) {
  constexpr std::uint32_t each_runs = testing::scaled(1000U, 50U);
  std::atomic<std::uint32_t> done{0};
  std::deque<pair> pairs(3);
  weft::run(
      [&] {
        std::vector<handle<void>> fibers;
        for (pair& each : pairs) {
          fibers.push_back(spawn([this, &each] { play(each, 0); }));
          fibers.push_back(spawn([this, &each] { play(each, 1); }));
        }
        while (pairs_met < pairs.size()) this_fiber::yield();
        const slice now = begin_slice();
        spawn([this, now] { respawn(now); }).detach();
        for (std::uint32_t i = 0; i < 3 * GetParam(); ++i) {
          fibers.push_back(spawn([&done] {
            for (std::uint32_t n = 0; n < each_runs; ++n) this_fiber::yield();
            ++done;
          }));
        }
        while (done < 3 * GetParam()) this_fiber::yield();  // for ever, if one of them starves
        stop = true;
        for (auto& each : fibers) each.join();
      },
      {.workers = GetParam(), .seed = 1, .autoscale = testing::never_more});
}

// All stand in the line of one worker, and the others have so little that they never look for more. Before long no line is longer
// than what is promised to all of them together.
TEST(LinesOfWorkers, BecomeOfAboutTheSameLength) {
  constexpr std::uint32_t workers = 4;
  constexpr std::uint32_t count = testing::scaled(2'000U, 1'000U);
  constexpr std::uint32_t bound = 2 * ((count + workers - 1) / workers) + 64;
  static_assert(bound < count - 3 * 64, "what idle workers take at first is not enough");
  std::vector<std::atomic<std::uint32_t>> stands_at(count);
  std::atomic<std::uint32_t> begun{0};
  std::atomic<bool> stop{false};
  runtime there({.workers = workers, .seed = 1, .steal = false, .autoscale = testing::never_more});
  auto main = there.spawn([&] {
    const auto index_here = []() __attribute__((noinline)) { return current_worker()->index(); };
    std::vector<handle<void>> fibers;
    for (std::uint32_t i = 0; i < count; ++i) {
      fibers.push_back(spawn([&, i] {
        ++begun;
        while (!stop) {
          stands_at[i].store(index_here(), std::memory_order_relaxed);
          this_fiber::yield();
        }
      }));
    }
    while (begun < count) this_fiber::yield();
    there.set_stealing(true);
    constexpr std::uint32_t most_rounds = 20'000;
    std::uint32_t longest = count;
    for (std::uint32_t round = 0; round < most_rounds && longest > bound; ++round) {
      std::array<std::uint32_t, workers> lengths{};
      for (const auto& at : stands_at) ++lengths[at.load(std::memory_order_relaxed)];
      longest = *std::max_element(lengths.begin(), lengths.end());
      this_fiber::yield();
    }
    stop = true;
    for (auto& each : fibers) each.join();
    return longest;
  });
  EXPECT_LE(main.join(), bound);
}

// -- What came first ------------------------------------------------------------------------------------------------------

/// With one worker, whose order is the only one there is.
class FairnessOfOneWorkerTest : public FairnessTest {};
INSTANTIATE_TEST_SUITE_P(, FairnessOfOneWorkerTest, ::testing::Values(1U),
                         [](const auto& workers) { return std::to_string(workers.param) + "Worker"; });

// Fresh tasks are run newest first: the oldest has its turn all the same, while each newer one spawns the next.
TEST_P(FairnessOfOneWorkerTest, TheOldestIsNotForgotten) {
  weft::run(
      [this] {
        for (int i = 0; i < testing::scaled(100, 10); ++i) {
          delays oldest;
          const slice now = begin_slice();
          auto old = spawn([&, now] { oldest.note(now, begin_slice()); });
          stop = has_stopped = false;
          spawn([this, now] { respawn(now); }).detach();
          while (oldest.measured() == 0) this_fiber::yield();
          stop = true;
          while (!has_stopped) this_fiber::yield();
          old.join();
          EXPECT_LE(oldest.longest(0), bound(3));
        }
      },
      {.workers = GetParam(), .seed = 1, .autoscale = testing::never_more});
}

// The same when nothing else is ready: those that are spawned never let the worker run dry.
TEST_P(FairnessOfOneWorkerTest, TheOldestIsNotForgottenAmongFreshOnesAlone) {
  weft::run(
      [this] {
        delays oldest;
        const slice now = begin_slice();
        auto old = spawn([&, now] {
          oldest.note(now, begin_slice());
          stop = true;
        });
        spawn([this, now] { respawn(now); }).detach();
        old.join();
        EXPECT_LE(oldest.longest(0), bound(2));
      },
      {.workers = GetParam(), .seed = 1, .autoscale = testing::never_more});
}

// A thread spawns tasks and resumes fibers, in the midst of others that never stop. It does so while a task keeps the worker: so
// they are ready from a slice on that is known.
TEST_P(FairnessOfOneWorkerTest, WhatComesFromOutside) {
  constexpr std::uint32_t others = 10;
  constexpr std::uint32_t resumed = 50;
  constexpr std::uint32_t spawned = 20;
  constexpr std::uint32_t ready = 1 + others + resumed + spawned + 1;
  delays woken;
  delays begun;
  slice began;  // when they are made ready
  std::array<resumer, resumed> waiting;
  std::atomic<std::uint32_t> published{0};
  std::atomic<int> step{0};
  runtime one({.workers = GetParam(), .seed = 1, .autoscale = testing::never_more});
  settled = true;
  auto main = one.spawn([&] {
    std::vector<handle<void>> fibers;
    for (std::uint32_t i = 0; i < others; ++i) fibers.push_back(spawn([this] { yield_until_stopped(); }));
    for (resumer& each : waiting) {
      fibers.push_back(spawn([&] {
        suspend("the thread", [&](const resumer& mine) {
          each = mine;
          ++published;
        });
        woken.note(began, begin_slice());
      }));
    }
    spawn([this] { respawn(begin_slice()); }).detach();
    while (published != resumed) this_fiber::yield();
    for (std::uint32_t i = 0; i < 2 * ready; ++i) this_fiber::yield();  // so that all of them have left
    began = begin_slice();
    step = 1;
    while (step != 2) std::this_thread::yield();
    while (woken.measured() + begun.measured() != resumed + spawned) {
      this_fiber::yield();
      (void)begin_slice();
    }
    stop = true;
    for (auto& each : fibers) each.join();
  });
  while (step != 1) std::this_thread::yield();
  for (const resumer& each : waiting) EXPECT_TRUE(each.resume());
  for (std::uint32_t i = 0; i < spawned; ++i) {
    one.spawn([&] { begun.note(began, begin_slice()); }).detach();
  }
  step = 2;
  main.join();
  EXPECT_LE(woken.longest(0), bound(ready)) << "one that was resumed";
  EXPECT_LE(begun.longest(0), bound(ready)) << "one that was spawned";
  EXPECT_LE(yielders.longest(0), bound(ready)) << "one that yields";
}

}  // namespace
}  // namespace weft::impl
