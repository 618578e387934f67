// SPDX-License-Identifier: Apache-2.0
//
// What it costs to wait: the processor's time of a runtime in which nobody has anything to do, the sleepers that are woken for
// one event, and the barriers that interrupt all threads while some are busy.

#include "sched/runtime_core.hpp"
#include "support/on_workers.hpp"
#include "support/scale.hpp"
#include "support/sleeping_workers.hpp"
#include "support/stack_user.hpp"

#include <weft/detail/atomics.hpp>
#include <weft/execution_context.hpp>
#include <weft/runtime.hpp>
#include <weft/suspend.hpp>
#include <weft/this_fiber.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <gtest/gtest.h>
#include <iostream>
#include <memory>
#include <string>
#include <sys/resource.h>
#include <thread>
#include <vector>

namespace weft::impl {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

/// Processor time that this process has used.
microseconds used_so_far() {
  rusage used{};
  (void)getrusage(RUSAGE_SELF, &used);
  const auto sum = [](const timeval& time) {
    return std::chrono::seconds(time.tv_sec) + microseconds(time.tv_usec);
  };
  return sum(used.ru_utime) + sum(used.ru_stime);
}
/// What it uses from now on, for so long.
microseconds used_within(milliseconds length) {
  const microseconds before = used_so_far();
  std::this_thread::sleep_for(length);
  return used_so_far() - before;
}

/// 10 ms in 5 s, or as much of that as the time that is looked at.
constexpr microseconds most_within(milliseconds length) { return microseconds(length) / 500; }
/// Looks at one window after the other until no more than that is used in one; not for ever.
void await_quiet(milliseconds window) {
  constexpr int most_windows = 30;
  for (int windows = 0; used_within(window) > most_within(window) && windows < most_windows; ++windows) {
  }
}

/// A fiber that waits for a thread again and again.
struct parked_fiber {
  resumer by;
  std::atomic<std::uint32_t> waits{0};  // how many it has begun

  void run(const std::atomic<bool>& stop) {
    while (!stop) {
      suspend("the test", [this](const resumer& mine) {
        by = mine;
        waits.fetch_add(1);
      });
    }
  }
  void await(std::uint32_t wait) const {
    while (waits < wait) std::this_thread::yield();
  }
};

class IdleCostTest : public ::testing::TestWithParam<std::uint32_t> {
 protected:
  void TearDown() override {
    stop = true;
    for (const parked_fiber& each : fibers) EXPECT_TRUE(each.by.resume());
  }

  void park(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      parked_fiber& each = fibers.emplace_back();
      one.spawn([this, &each] { each.run(stop); }).detach();
    }
    for (const parked_fiber& each : fibers) each.await(1);
  }

  [[nodiscard]] const idle& beds() { return detail::context_of(one)->beds(); }
  /// Resumes one fiber after the other from this thread, each when the one before waits again. `between` comes before each.
  /// Returns how many sleepers were woken for one of them.
  template <class Between>
  double wakings_an_event(Between&& between) {
    const std::uint32_t events = testing::scaled(5'000U, 500U);
    const std::uint64_t before = beds().wake_count();
    for (std::uint32_t i = 0; i < events; ++i) {
      parked_fiber& next = fibers[i % fibers.size()];
      const std::uint32_t wait = next.waits;
      between();
      EXPECT_TRUE(next.by.resume());
      next.await(wait + 1);
    }
    return static_cast<double>(beds().wake_count() - before) / events;
  }

  void report(const std::string& what, double figure) {
    RecordProperty(what, std::to_string(figure));
    std::cout << GetParam() << " workers, " << what << ": " << figure << std::endl;
  }

  std::deque<parked_fiber> fibers;
  std::atomic<bool> stop{false};
  runtime one{{.workers = GetParam(), .seed = 1}};
};
INSTANTIATE_TEST_SUITE_P(, IdleCostTest, ::testing::Values(2U, 8U, 64U), testing::name_by_workers);

class IdleProcessTest : public IdleCostTest {
 protected:
  /// Returns when the stacks of those that wait are trimmed, which is done once. They are many, and the machine may be busy: so when
  /// the one that came last is, and then nothing happens for a second.
  void await_trimming() {
    std::atomic<const char*> frame{nullptr};
    parked_fiber& last = fibers.emplace_back();
    one.spawn([&] {
         (void)testing::use_stack(64 * 1024);
         frame = testing::stack_here();
         last.run(stop);
       })
        .detach();
    last.await(1);
    EXPECT_EQ(testing::wait_until_trimmed(frame), nullptr);
    await_quiet(milliseconds(1'000));
    testing::await_sleep(one);
  }
};
INSTANTIATE_TEST_SUITE_P(, IdleProcessTest, ::testing::Values(64U), testing::name_by_workers);

// 10 ms in 5 s, or as much of that as the time that is looked at.
TEST_P(IdleProcessTest, WhoHasNothingToDoUsesNoProcessor) {
  park(testing::scaled(10'000U, 500U));
  await_trimming();
  const auto length = milliseconds(testing::is_long_run() ? 5'000 : 1'000);
  const microseconds used = used_within(length);
  report("microseconds of processor time used in " + std::to_string(length.count()) + " ms",
         static_cast<double>(used.count()));
  EXPECT_LE(used, most_within(length)) << "microseconds: " << used.count();
}

// The same with eight contexts of several kinds, each of which has run something, and sysmon with them.
TEST(IdleContexts, UseNoProcessor) {
  runtime one({.workers = 2});
  std::vector<std::unique_ptr<execution_context>> others;
  for (int i = 0; i < 5; ++i)
    others.push_back(std::make_unique<parallel_context>(one, "parallel", context_options{.workers = {1, 8}}));
  for (int i = 0; i < 2; ++i) others.push_back(std::make_unique<concurrent_context>(one, "concurrent"));
  for (const auto& each : others) {
    for (int i = 0; i < 10; ++i) each->spawn([] { this_fiber::sleep_for(milliseconds(1)); }).join();
  }
  await_quiet(milliseconds(500));
  const auto length = milliseconds(testing::is_long_run() ? 5'000 : 1'000);
  const microseconds used = used_within(length);
  std::cout << "8 contexts, microseconds of processor time used in " << length.count()
            << " ms: " << used.count() << std::endl;
  EXPECT_LE(used, most_within(length)) << "microseconds: " << used.count();
}

// One task waits in the system, and there is nothing else to do: nobody looks at it all the time.
TEST(BlockedWorkers, UseNoProcessor) {
  runtime one({.workers = {1, 4}});
  std::atomic<bool> go{false};
  handle<void> blocked = one.spawn([&] { go.wait(false); });
  await_quiet(milliseconds(500));
  constexpr milliseconds length(1'000);
  const microseconds used = used_within(length);
  std::cout << "one of four workers blocked, microseconds of processor time used in " << length.count()
            << " ms: " << used.count() << std::endl;
  EXPECT_LE(used, most_within(length)) << "microseconds: " << used.count();
  go.store(true);
  go.notify_all();
  blocked.join();
}

TEST_P(IdleCostTest, OneIsWokenForAnEvent) {
  park(100);
  const double woken = wakings_an_event([this] { testing::await_sleep(one); });
  report("woken for an event, while all sleep", woken);
  // With forced migration a fiber is left for a certain worker, which is called by name: that is not counted.
  if (!forces_migration) {
    EXPECT_GE(woken, 0.99) << "somebody must have been";
  }
  EXPECT_LE(woken, 1.3)
      << "a second one now and then: sysmon calls it where the first has lost its processor";
}

// Who loses its processor on the way to bed may have another woken for nothing: so it is the best of a few attempts that counts.
TEST_P(IdleCostTest, NoMoreAreWokenWhenEventsComeInARow) {
  constexpr int attempts = 5;
  constexpr double most = 1.1;
  park(100);
  double woken = wakings_an_event([] {});
  for (int i = 1; i < attempts && woken > most; ++i) woken = std::min(woken, wakings_an_event([] {}));
  report("woken for an event, one after the other", woken);
  EXPECT_LE(woken, most);
}

// -- Heavy barriers ---------------------------------------------------------------------------------------------------------

/// Two fibers that resume each other.
struct players {
  std::array<resumer, 2> waiting;
  std::atomic<bool> begun{false};
  std::atomic<std::uint64_t> rounds{0};

  void play(std::size_t who, const std::atomic<bool>& stop) {
    while (who == 1 && !begun) this_fiber::yield();
    while (!stop) {
      suspend("the other", [&](const resumer& mine) {
        waiting[who] = mine;
        if (begun.exchange(true)) waiting[1 - who].resume();
      });
      rounds.fetch_add(1, std::memory_order_relaxed);
    }
    waiting[1 - who].resume();
  }
};

// Figures to look at, with no bound: with half as many pairs as workers many of these search all the time.
TEST_P(IdleCostTest, HeavyBarriersWhileSomeAreBusy) {
  const auto length = milliseconds(testing::is_long_run() ? 5'000 : 300);
  for (const std::uint32_t count : {1U, GetParam() / 2, testing::scaled(4U, 1U) * GetParam()}) {
    std::deque<players> pairs(count);
    std::vector<handle<void>> fibers_of_pairs;
    for (players& each : pairs) {
      for (const std::size_t who : {0U, 1U})
        fibers_of_pairs.push_back(one.spawn([&each, who, this] { each.play(who, stop); }));
    }
    for (const players& each : pairs) {
      while (each.rounds == 0) std::this_thread::yield();
    }
    const auto total = [&pairs] {
      std::uint64_t sum = 0;
      for (const players& each : pairs) sum += each.rounds;
      return sum;
    };
    const auto begin = steady_clock::now();
    const std::uint64_t barriers = detail::heavy_barrier_count();
    const std::uint64_t rounds = total();
    std::this_thread::sleep_for(length);
    const std::chrono::duration<double> took = steady_clock::now() - begin;
    const double issued = static_cast<double>(detail::heavy_barrier_count() - barriers);
    const double played = static_cast<double>(total() - rounds);
    stop = true;
    for (auto& each : fibers_of_pairs) each.join();
    stop = false;
    report("heavy barriers a second with " + std::to_string(count) + " pairs", issued / took.count());
    report("resumptions a second with " + std::to_string(count) + " pairs", played / took.count());
    EXPECT_GT(played, 0) << "nobody was busy";
  }
}

}  // namespace
}  // namespace weft::impl
