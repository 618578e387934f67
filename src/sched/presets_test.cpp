// SPDX-License-Identifier: Apache-2.0

#include "support/scale.hpp"

#include <weft/detail/sanitizers.hpp>
#include <weft/execution_context.hpp>
#include <weft/nursery.hpp>
#include <weft/presets.hpp>
#include <weft/runtime.hpp>
#include <weft/this_fiber.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <gtest/gtest.h>
#include <ostream>
#include <string>
#include <sys/resource.h>
#include <thread>
#include <vector>

namespace weft {
namespace {

using namespace std::chrono_literals;

TEST(Presets, CarryTheNumbersOfTheirSeeds) {
  const std::uint32_t processors = usable_processors();
  ASSERT_GE(processors, 1U);
  const runtime_options lune = presets::lune();
  EXPECT_EQ(lune.workers.most, std::max(1U, processors - 1));
  EXPECT_EQ(lune.fresh, placement::shared);
  EXPECT_EQ(lune.idle_poll, 1ms);
  EXPECT_EQ(lune.timers, timer_mode::own_thread);
  EXPECT_EQ(lune.timer_idle_cap, 10ms);
  const runtime_options loom = presets::loom();
  EXPECT_EQ(loom.workers.most, std::max(1U, processors / 2));
  EXPECT_EQ(loom.backoff, backoff_mode::low_latency);
  const runtime_options janus = presets::janus();
  EXPECT_EQ(janus.workers.most, processors);
  EXPECT_EQ(janus.stack_bytes, 8192U);
  EXPECT_EQ(janus.victims, victim_order::random);
  EXPECT_EQ(janus.steal_attempts, 4U);
  const runtime_options cc = presets::cc();
  EXPECT_EQ(cc.workers.least, processors);
  EXPECT_EQ(cc.workers.most, 0U)
      << "left open: so many as there are processors, and a single one may get another";
  EXPECT_EQ(cc.autoscale.most, 2.0);
  EXPECT_EQ(cc.autoscale.growth, 0.5);
  EXPECT_EQ(cc.autoscale.stuck_after, 250us);
  EXPECT_EQ(cc.fresh, placement::round_robin);
  const runtime_options crystal = presets::crystal();
  EXPECT_EQ(crystal.workers.least, 1U);
  EXPECT_EQ(crystal.workers.most, processors);
}

struct preset {
  const char* name;
  runtime_options (*defaults)();

  /// A sanitizer needs more than the smallest stack.
  [[nodiscard]] runtime_options make() const {
    runtime_options made = defaults();
    if (WEFT_ADDRESS_SANITIZER || WEFT_THREAD_SANITIZER) made.stack_bytes = 0;
    return made;
  }
};
void PrintTo(const preset& one, std::ostream* to) { *to << one.name; }

class EachPreset : public ::testing::TestWithParam<preset> {};

TEST_P(EachPreset, Works) {
  const int tasks = testing::scaled(20000, 2000);
  std::atomic<int> done{0};
  const int result = run(
      [&] {
        EXPECT_EQ(execution_context::current()->name(), "DEFAULT");
        nursery([&](nursery& n) {
          for (int i = 0; i < tasks; ++i) {
            n.spawn([&, i] {
              if (i % 10 == 0) this_fiber::yield();
              if (i % 100 == 0) this_fiber::sleep_for(1ms);
              done.fetch_add(1);
            });
          }
        });
        return 7;
      },
      GetParam().make());
  EXPECT_EQ(result, 7);
  EXPECT_EQ(done.load(), tasks);
}

// With nothing but a timer to wake anybody.
TEST_P(EachPreset, WakesSleepers) {
  run([] { this_fiber::sleep_for(20ms); }, GetParam().make());
}

INSTANTIATE_TEST_SUITE_P(Presets, EachPreset,
                         ::testing::Values(preset{"lune", &presets::lune}, preset{"loom", &presets::loom},
                                           preset{"janus", &presets::janus}, preset{"cc", &presets::cc},
                                           preset{"crystal", &presets::crystal}),
                         [](const auto& one) { return std::string(one.param.name); });

// -- What they are made of ------------------------------------------------------------------------------------------------------

TEST(TimerThread, WakesTasksOfAllWorkers) {
  for (const std::uint32_t workers : {1U, 4U}) {
    std::atomic<int> woken{0};
    run(
        [&] {
          nursery([&](nursery& n) {
            for (int i = 0; i < 200; ++i) {
              n.spawn([&, i] {
                this_fiber::sleep_for(std::chrono::microseconds(i * 37 % 3000));
                woken.fetch_add(1);
              });
            }
          });
        },
        {.workers = workers, .timers = timer_mode::own_thread});
    EXPECT_EQ(woken.load(), 200);
  }
}

// It has the seat in the event loop from the beginning, and does not wait for it.
TEST(TimerThread, UsesNoProcessorWhileNothingIsDue) {
  const auto used = [] {
    rusage found{};
    ::getrusage(RUSAGE_SELF, &found);
    return std::chrono::seconds(found.ru_utime.tv_sec + found.ru_stime.tv_sec) +
           std::chrono::microseconds(found.ru_utime.tv_usec + found.ru_stime.tv_usec);
  };
  for (int i = 0; i < 5; ++i) {
    runtime one({.workers = 4, .timers = timer_mode::own_thread});
    one.spawn([] {}).join();
    const auto before = used();
    std::this_thread::sleep_for(100ms);
    EXPECT_LT(used() - before, 50ms);
  }
}

TEST(TimerThread, AnEarlierTimerIsNotLate) {
  run(
      [] {
        handle<void> later = spawn([] { this_fiber::sleep_for(1h); });
        this_fiber::sleep_for(1ms);  // else this hangs
        later.request_cancel();
        EXPECT_THROW(later.join(), std::system_error);
      },
      {.workers = 2, .timers = timer_mode::own_thread});
}

TEST(SharedPlacement, FirstInFirstOut) {
  constexpr int tasks = 50;
  std::atomic<int> turn{0};
  std::vector<int> turns(tasks);
  run(
      [&] {
        std::vector<handle<void>> all;
        for (int& mine : turns) all.push_back(spawn([&mine, &turn] { mine = turn.fetch_add(1); }));
        for (auto& each : all) each.join();
      },
      {.workers = 1, .fresh = placement::shared});
  EXPECT_EQ(turn.load(), tasks);
  EXPECT_TRUE(std::is_sorted(turns.begin(), turns.end()));
}

TEST(Backoff, EachModeFindsWork) {
  for (const backoff_mode mode :
       {backoff_mode::low_latency, backoff_mode::balanced, backoff_mode::power_saving}) {
    std::atomic<int> done{0};
    run(
        [&] {
          for (int round = 0; round < 20; ++round) {
            nursery([&](nursery& n) {
              for (int i = 0; i < 100; ++i) n.spawn([&] { done.fetch_add(1); });
            });
          }
        },
        {.workers = 4, .backoff = mode});
    EXPECT_EQ(done.load(), 2000);
  }
}

}  // namespace
}  // namespace weft
