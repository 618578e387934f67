// SPDX-License-Identifier: Apache-2.0
//
// What sysmon says of contexts that cannot keep up, and of tasks that give way to nobody.

#include "sched/runtime_core.hpp"
#include "support/scale.hpp"

#include <weft/cancelled.hpp>
#include <weft/detail/sanitizers.hpp>
#include <weft/execution_context.hpp>
#include <weft/no_suspend.hpp>
#include <weft/runtime.hpp>
#include <weft/this_fiber.hpp>

#include <atomic>
#include <chrono>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace weft {

// Exported, so that a backtrace has its name.
[[gnu::noinline]] void overload_test_hogs_here(const std::atomic<bool>& stop) {
  while (!stop.load()) {
  }
  asm volatile("");
}

namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

constexpr autoscale never_more{.is_on = false};

TEST(QueueAge, IsNothingWhereNothingWaits) {
  runtime one({.workers = 1});
  one.spawn([] {}).join();
  while (one.statistics().contexts[0].queue_age != 0ns)
    std::this_thread::sleep_for(1ms);  // soon; else this hangs
}

// While the only worker computes, what waits grows older, though nothing moves.
TEST(QueueAge, GrowsWhileNothingMoves) {
  runtime one({.workers = 1});
  std::atomic<bool> stop{false};
  handle<void> busy = one.spawn([&] { overload_test_hogs_here(stop); });
  handle<void> waiting = one.spawn([] {});
  while (one.statistics().contexts[0].queue_age < 30ms) std::this_thread::sleep_for(1ms);  // else this hangs
  stop.store(true);
  busy.join();
  waiting.join();
  // It has come out with the rest: once nothing waits any more, that is seen.
  while (one.statistics().contexts[0].queue_age != 0ns) {
    one.spawn([] { this_fiber::sleep_for(1ms); }).join();
  }
}

TEST(Overload, IsToldOnceUntilItIsOver) {
  std::mutex lock;
  std::vector<overload> told;
  const auto times = [&] {
    const std::lock_guard hold(lock);
    return told.size();
  };
  runtime one({.workers = 1});
  parallel_context slow(one, "slow",
                        {.workers = 1, .on_overload = {.after = 20ms, .call = [&](const overload& what) {
                                                         const std::lock_guard hold(lock);
                                                         told.push_back(what);
                                                         (void)one.statistics();  // may look around
                                                       }}});
  for (std::size_t round = 1; round <= 2; ++round) {
    std::atomic<bool> stop{false};
    handle<void> busy = slow.spawn([&] { overload_test_hogs_here(stop); });
    handle<void> waiting = slow.spawn([] {});
    while (times() < round) std::this_thread::sleep_for(1ms);  // else this hangs
    std::this_thread::sleep_for(20ms);
    EXPECT_EQ(times(), round);
    stop.store(true);
    busy.join();
    waiting.join();
    while (slow.statistics().queue_age != 0ns) slow.spawn([] { this_fiber::sleep_for(1ms); }).join();
  }
  EXPECT_EQ(told[0].context, "slow");
  EXPECT_GT(told[0].age, 20ms);
}

// The only worker was blocked before anything came, and for so long that nobody looked any more.
TEST(Overload, IsToldWhereTheOnlyWorkerIsBlocked) {
  std::atomic<int> told{0};
  std::atomic<bool> go{false};
  runtime one({.workers = 1});
  concurrent_context slow(
      one, "slow", {.on_overload = {.after = 20ms, .call = [&](const overload&) { told.fetch_add(1); }}});
  handle<void> blocked = slow.spawn([&] { go.wait(false); });
  std::this_thread::sleep_for(100ms);
  handle<void> waiting = slow.spawn([] {});
  while (told.load() == 0) std::this_thread::sleep_for(1ms);  // else this hangs
  go.store(true);
  go.notify_all();
  blocked.join();
  waiting.join();
}

TEST(Overload, TheContextIsThereUntilTheHookHasReturned) {
  std::atomic<bool> is_told{false};
  std::atomic<bool> may_return{false};
  std::atomic<bool> stop{false};
  std::atomic<bool> is_gone{false};
  runtime one({.workers = 1});
  const overload_hook hook{.after = 20ms, .call = [&](const overload&) {
                             is_told.store(true);
                             while (!may_return.load()) std::this_thread::sleep_for(1ms);
                           }};
  auto slow =
      std::make_unique<parallel_context>(one, "slow", context_options{.workers = 1, .on_overload = hook});
  handle<void> busy = slow->spawn([&] { overload_test_hogs_here(stop); });
  handle<void> waiting = slow->spawn([] {});
  while (!is_told.load()) std::this_thread::sleep_for(1ms);
  stop.store(true);
  busy.join();
  waiting.join();
  std::thread ends([&] {
    slow.reset();
    is_gone.store(true);
  });
  std::this_thread::sleep_for(50ms);
  EXPECT_FALSE(is_gone.load());
  may_return.store(true);
  ends.join();
}

TEST(Overload, OptionsThatCannotBeAreNamed) {
  const auto message = [](const runtime_options& how) -> std::string {
    try {
      runtime{how};
    } catch (const std::invalid_argument& error) {
      return error.what();
    }
    return "none";
  };
  EXPECT_EQ(message({.on_overload = {.after = 1ms}}),
            "runtime_options::on_overload.call is empty; it is what on_overload.after calls");
  EXPECT_EQ(message({.on_overload = {.after = -1ns, .call = [](const overload&) {}}}),
            "runtime_options::on_overload.after is -1 ns; it is 0 or more");
  EXPECT_EQ(message({.name_hogs_after = -5ns}), "runtime_options::name_hogs_after is -5 ns; it is 0 or more");
}

// -- Tasks that give way to nobody ------------------------------------------------------------------------------------------------

TEST(Checkpoint, GivesWayOnceOthersHaveWaited) {
  runtime one({.workers = 1});
  std::atomic<bool> other_ran{false};
  handle<void> busy = one.spawn([&] {
    while (!other_ran.load()) this_fiber::checkpoint();  // else this hangs
  });
  one.spawn([&] { other_ran.store(true); }).join();
  busy.join();
}

// Whoever must not wait is not made to, and others have to.
TEST(Checkpoint, GivesNoWayWhereATaskMustNotWait) {
  run(
      [] {
        std::atomic<bool> other_ran{false};
        handle<void> other = spawn([&] { other_ran.store(true); });
        {
          const no_suspend here;
          for (int i = 0; i < 100; ++i) {
            impl::current_worker()->ask_to_yield();
            this_fiber::checkpoint();
          }
          EXPECT_FALSE(other_ran.load());
        }
        other.join();
      },
      {.workers = 1});
}

TEST(Checkpoint, IsACancellationPoint) {
  runtime one({.workers = 1});
  std::atomic<bool> begun{false};
  handle<void> busy = one.spawn([&] {
    begun.store(true);
    for (;;) this_fiber::checkpoint();
  });
  while (!begun.load()) std::this_thread::yield();
  busy.request_cancel();
  EXPECT_THROW(busy.join(), std::system_error);
}

// There nobody looks after the worker who would ask.
TEST(Checkpoint, GivesWayOnTheCallersThread) {
  runtime one({.runs_on = runs_on::caller});
  std::atomic<bool> other_ran{false};
  handle<void> busy = one.spawn([&] {
    while (!other_ran.load()) this_fiber::checkpoint();  // else this hangs
  });
  handle<void> other = one.spawn([&] { other_ran.store(true); });
  busy.join();
  other.join();
}

TEST(Checkpoint, OnAPlainThreadDoesNothing) { this_fiber::checkpoint(); }

TEST(Hogs, AreNamedWithTheirPlace) {
  ::testing::internal::CaptureStderr();
  {
    runtime one({.workers = 1, .name_hogs_after = 20ms});
    std::atomic<bool> stop{false};
    handle<void> busy = one.spawn({.name = "cruncher"}, [&] { overload_test_hogs_here(stop); });
    std::this_thread::sleep_for(300ms);
    stop.store(true);
    busy.join();
  }
  const std::string told = ::testing::internal::GetCapturedStderr();
#if !WEFT_THREAD_SANITIZER  // which calls signal handlers when it likes
  EXPECT_THAT(told, ::testing::ContainsRegex(
                        "task [0-9]+ 'cruncher' \\(spawned at .*overload_test.cpp:[0-9]+\\) has kept "
                        "worker 0 of context 'DEFAULT' busy for [0-9]+ ms; it is here:"));
  EXPECT_THAT(told, HasSubstr("overload_test_hogs_here"));
#endif
}

TEST(Hogs, AreNotNamedUnlessSomebodyWantsToKnow) {
  ::testing::internal::CaptureStderr();
  {
    runtime one({.workers = 2});
    std::atomic<bool> stop{false};
    handle<void> busy = one.spawn([&] { overload_test_hogs_here(stop); });
    std::this_thread::sleep_for(150ms);
    stop.store(true);
    busy.join();
  }
  EXPECT_EQ(::testing::internal::GetCapturedStderr().find("busy for"), std::string::npos);
}

// -- What is printed at the end ---------------------------------------------------------------------------------------------------

TEST(Statistics, CountsTasksAndSaysHowTheyWent) {
  runtime one({.workers = 2});
  concurrent_context other(one, "other");
  std::vector<handle<void>> all;
  for (int i = 0; i < 10; ++i) all.push_back(one.spawn([] {}));
  for (int i = 0; i < 5; ++i) all.push_back(other.spawn([] {}));
  for (auto& each : all) each.join();
  runtime_statistics found = one.statistics();
  while (found.contexts[0].ended != 10) found = one.statistics();  // the handle knows a little earlier
  ASSERT_EQ(found.contexts.size(), 2U);
  EXPECT_EQ(found.contexts[0].name, "DEFAULT");
  EXPECT_EQ(found.contexts[0].begun, 10U);
  EXPECT_EQ(found.contexts[0].limit, 2U);
  EXPECT_EQ(found.contexts[1].name, "other");
  EXPECT_EQ(found.contexts[1].begun, 5U);
  EXPECT_EQ(other.statistics().name, "other");
  std::uint64_t tasks = 0;
  for (const worker_statistics& each : found.contexts[0].workers) tasks += each.tasks;
  EXPECT_EQ(tasks, 10U);
}

TEST(Statistics, AreSaidAtTheEndIfTheEnvironmentWantsThem) {
  ASSERT_EQ(::setenv("WEFT_STATS", "1", 1), 0);
  ::testing::internal::CaptureStderr();
  run([] { spawn([] {}).join(); }, {.workers = 1});
  const std::string told = ::testing::internal::GetCapturedStderr();
  ::unsetenv("WEFT_STATS");
  EXPECT_THAT(told, HasSubstr("context 'DEFAULT': 2 tasks begun, 2 ended; 1 workers, 1 threads"));
  EXPECT_THAT(told, HasSubstr("worker 0: 2 tasks ended"));
}

TEST(Statistics, OfAContextAreSaidAtItsEnd) {
  ASSERT_EQ(::setenv("WEFT_STATS", "1", 1), 0);
  ::testing::internal::CaptureStderr();
  run(
      [] {
        concurrent_context other("other");
        for (int i = 0; i < 3; ++i) other.spawn([] {}).join();
      },
      {.workers = 1});
  const std::string told = ::testing::internal::GetCapturedStderr();
  ::unsetenv("WEFT_STATS");
  EXPECT_THAT(told, HasSubstr("context 'other': 3 tasks begun, 3 ended; 1 workers, 1 threads"));
}

}  // namespace
}  // namespace weft
