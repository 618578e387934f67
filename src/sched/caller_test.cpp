// SPDX-License-Identifier: Apache-2.0
//
// Tasks on the thread that waits for them. These run also in a library that is built for one thread.

#include "support/scale.hpp"

#include <weft/weft.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <gtest/gtest.h>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <string>
#include <sys/time.h>
#include <system_error>
#include <thread>
#include <vector>

namespace weft {
namespace {

using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""us;

const runtime_options on_caller{.seed = 1, .runs_on = runs_on::caller};

TEST(Caller, RunsOnTheThreadThatWaits) {
  const std::thread::id mine = std::this_thread::get_id();
  const auto there = weft::run([] { return std::this_thread::get_id(); }, on_caller);
  EXPECT_EQ(there, mine);
}

TEST(Caller, HasOneWorker) {
  EXPECT_EQ(runtime(on_caller).workers(), 1U);
  EXPECT_THROW(runtime({.workers = 2, .runs_on = runs_on::caller}), std::invalid_argument);
}

TEST(Caller, GivesTheValueOrTheError) {
  EXPECT_EQ(weft::run([] { return spawn([] { return 7; }).join(); }, on_caller), 7);
  EXPECT_THROW(weft::run([] { throw std::runtime_error("main"); }, on_caller), std::runtime_error);
}

// [caller]
int sum_on_this_thread() {
  weft::runtime here({.runs_on = weft::runs_on::caller});  // starts no thread
  weft::handle<int> one = here.spawn([] { return 1; });
  weft::handle<int> two = here.spawn([] { return 2; });
  return one.join() + two.join();  // they run now, on this thread
}
// [caller]
TEST(Caller, TheExampleOfTheGuide) { EXPECT_EQ(sum_on_this_thread(), 3); }

// Nothing happens before somebody waits.
TEST(Caller, NothingRunsUntilSomebodyWaits) {
  std::atomic<int> ran{0};
  {
    runtime there(on_caller);
    auto first = there.spawn([&] { return ++ran; });
    auto second = there.spawn([&] { return ++ran; });
    EXPECT_EQ(ran.load(), 0);
    EXPECT_EQ(first.state(), task_state::ready);
    EXPECT_EQ(first.join(), 1);
    EXPECT_EQ(second.join(), 2);
    auto third = there.spawn([&] { return ++ran; });
    third.detach();
  }
  EXPECT_GE(ran.load(), 2);
}

// One that goes on for ever does not keep the thread from what it waited for.
TEST(Caller, ComesBackWhileOthersGoOn) {
  runtime there(on_caller);
  std::atomic<bool> stop{false};
  auto endless = there.spawn([&stop] {
    while (!stop) this_fiber::yield();
  });
  auto other = there.spawn([&stop] {
    while (!stop) this_fiber::yield();
  });
  EXPECT_EQ(there.spawn([] { return 3; }).join(), 3);
  EXPECT_FALSE(endless.is_done());
  stop = true;
  endless.join();
  other.join();
}

TEST(Caller, TakesTurns) {
  // An atomic, since ThreadSanitizer sees a thread in each task, also where they share one.
  std::array<std::atomic<char>, 6> letters{};
  std::atomic<std::size_t> count{0};
  weft::run(
      [&] {
        nursery([&](nursery& in) {
          for (const char letter : {'a', 'b'})
            in.spawn([&, letter] {
              for (int i = 0; i < 3; ++i) {
                letters.at(count++) = letter;
                this_fiber::yield();
              }
            });
        });
      },
      on_caller);
  const std::string said(letters.begin(), letters.end());
  EXPECT_EQ(count.load(), 6U);
  EXPECT_NE(said, "aaabbb");
  EXPECT_NE(said, "bbbaaa");
}

TEST(Caller, ANurseryOfAThread) {
  runtime there(on_caller);
  std::atomic<std::uint64_t> sum{0};
  nursery(there, [&](nursery& in) {
    for (std::uint64_t i = 1; i <= 100; ++i) in.spawn([&sum, i] { sum += i; });
  });
  EXPECT_EQ(sum.load(), 5'050U);
}

TEST(Caller, Sleeps) {
  const auto before = std::chrono::steady_clock::now();
  std::atomic<int> order{0};
  weft::run(
      [&order] {
        auto late = spawn([&order] {
          this_fiber::sleep_for(4ms);
          EXPECT_EQ(order++, 1);
        });
        auto early = spawn([&order] {
          this_fiber::sleep_for(1ms);
          EXPECT_EQ(order++, 0);
        });
        late.join();
        early.join();
      },
      on_caller);
  EXPECT_EQ(order.load(), 2);
  EXPECT_GE(std::chrono::steady_clock::now() - before, 4ms);
}

std::uint64_t fib(unsigned n) {
  if (n < 2) return n;
  const auto [a, b] = join([n] { return fib(n - 1); }, [n] { return fib(n - 2); });
  return a + b;
}
TEST(Caller, Joins) {
  EXPECT_EQ(weft::run([] { return fib(20); }, on_caller), 6'765U);
}

TEST(Caller, AJoinThatWaits) {
  EXPECT_EQ(weft::run(
                [] {
                  const auto [a, b] = join(
                      [] {
                        this_fiber::sleep_for(100us);
                        return 1;
                      },
                      [] { return 2; });
                  return a + b;
                },
                on_caller),
            3);
}

TEST(Caller, SuspendsAndResumes) {
  weft::run(
      [] {
        resumer by;
        std::atomic<int> step{0};
        std::atomic<bool> published{false};
        auto waits = spawn([&] {
          suspend("test", [&](const resumer& mine) {
            by = mine;
            published = true;
          });
          EXPECT_EQ(step.load(), 1);
        });
        while (!published) this_fiber::yield();
        step = 1;
        EXPECT_TRUE(by.resume());
        EXPECT_FALSE(by.resume());
        waits.join();
      },
      on_caller);
}

TEST(Caller, Cancels) {
  weft::run(
      [] {
        auto sleeps = spawn([] { this_fiber::sleep_for(std::chrono::hours(24)); });
        this_fiber::yield();
        sleeps.request_cancel();
        EXPECT_THROW(sleeps.join(), std::system_error);
      },
      on_caller);
}

TEST(Caller, WhatIsLeftIsCancelledAndAwaited) {
  std::atomic<bool> cleaned_up{false};
  {
    runtime there(on_caller);
    there
        .spawn([&cleaned_up] {
          const struct cleaner {
            std::atomic<bool>& done;
            ~cleaner() { done = true; }
          } guard{cleaned_up};
          this_fiber::sleep_for(std::chrono::hours(24));
        })
        .detach();
    there.spawn([] {}).join();
  }
  EXPECT_TRUE(cleaned_up.load());
}

TEST(Caller, ShutsDown) {
  runtime there(on_caller);
  std::atomic<bool> stopped{false};
  there
      .spawn([&stopped] {
        try {
          this_fiber::sleep_for(std::chrono::hours(24));
        } catch (const cancelled&) {
          stopped = true;
          throw;
        }
      })
      .detach();
  there.spawn([] { this_fiber::sleep_for(1ms); }).join();  // meanwhile it has begun
  EXPECT_TRUE(there.shutdown(std::chrono::hours(1)).still_alive.empty());
  EXPECT_TRUE(stopped.load());
  EXPECT_THROW((void)there.spawn([] {}), std::system_error);
}

TEST(Caller, HasWhatATaskMayHave) {
  weft::run(
      [] {
        static const fiber_local<int> local;
        *local = 1;
        auto child =
            spawn({.name = "child", .stack_bytes = std::size_t{64} << 10U, .priority = priority::high}, [] {
              const pin_guard pinned;
              this_fiber::yield();
              *local = 2;
              return std::string(this_fiber::name());
            });
        EXPECT_EQ(child.join(), "child");
        EXPECT_EQ(*local, 1);
      },
      on_caller);
}

TEST(Caller, ManyTasks) {
  constexpr std::uint64_t count = testing::scaled(100'000, 2'000);
  std::atomic<std::uint64_t> sum{0};
  weft::run(
      [&sum] {
        nursery([&sum](nursery& in) {
          for (std::uint64_t i = 0; i < count; ++i)
            in.spawn([&sum] {
              this_fiber::yield();
              ++sum;
            });
        });
      },
      on_caller);
  EXPECT_EQ(sum.load(), count);
}

TEST(Caller, SeveralRuntimesOneAfterTheOther) {
  for (int i = 0; i < testing::scaled(1'000, 50); ++i)
    EXPECT_EQ(weft::run([i] { return spawn([i] { return i; }).join(); }, on_caller), i);
}

// They end in the order in which they were made.
TEST(Caller, SeveralAtATime) {
  stack_t before{};  // a sanitizer has one
  ASSERT_EQ(::sigaltstack(nullptr, &before), 0);
  auto first = std::make_unique<runtime>(on_caller);
  auto second = std::make_unique<runtime>(on_caller);
  EXPECT_EQ(first->spawn([] { return 1; }).join(), 1);
  EXPECT_EQ(second->spawn([] { return 2; }).join(), 2);
  first.reset();
  second.reset();
  stack_t now{};
  ASSERT_EQ(::sigaltstack(nullptr, &now), 0);
  EXPECT_EQ(now.ss_sp, before.ss_sp) << "a stack for signals is left behind";
}

TEST(Caller, ATaskCannotMakeOne) {
  weft::run([] { EXPECT_THROW(runtime there(on_caller), std::invalid_argument); }, on_caller);
}

#ifdef WEFT_SINGLE_THREADED
TEST(CallerDeathTest, WhenNothingCanWakeAnybodyItSaysSo) {
  EXPECT_DEATH(weft::run([] { suspend("nobody", [](const resumer&) {}); }, on_caller),
               "all tasks wait, and nothing is left that could wake them");
  EXPECT_DEATH(weft::run([] { this_fiber::sleep_for(std::chrono::nanoseconds::max()); }, on_caller),
               "all tasks wait, and nothing is left that could wake them");
}
TEST(Caller, IsTheOnlyKind) {
  const std::thread::id mine = std::this_thread::get_id();
  EXPECT_EQ(weft::run([] { return std::this_thread::get_id(); }), mine);
  EXPECT_THROW(runtime({.workers = 4}), std::invalid_argument);
}
#else
// Somebody may wake it, also where it is the only one.
TEST(CallerDeathTest, WhoSleepsForeverSleeps) {
  const auto sleeps_on = [] {
    constexpr itimerval soon{.it_interval = {}, .it_value = {.tv_sec = 0, .tv_usec = 20'000}};
    ::setitimer(ITIMER_REAL, &soon, nullptr);
    weft::run([] { this_fiber::sleep_for(std::chrono::nanoseconds::max()); }, on_caller);
  };
  EXPECT_EXIT(sleeps_on(), ::testing::KilledBySignal(SIGALRM), "");
}
TEST(CallerDeathTest, ATaskOfAnotherRuntimeCannotWaitForIt) {
  EXPECT_DEATH(
      {
        runtime there(on_caller);
        weft::run([&there] { there.spawn([] {}).join(); }, {.workers = 1});
      },
      "only that thread can");
}

// Others may spawn and resume.
TEST(Caller, IsWokenByOtherThreads) {
  runtime there(on_caller);
  resumer by;
  std::atomic<bool> published{false};
  auto waits = there.spawn([&] {
    suspend("test", [&](const resumer& mine) {
      by = mine;
      published = true;
    });
  });
  while (!published) there.spawn([] { this_fiber::yield(); }).join();
  std::thread other([&there, &by] {
    std::this_thread::sleep_for(2ms);
    there.spawn([by] { by.resume(); }).detach();
  });
  waits.join();
  other.join();
}
#endif

}  // namespace
}  // namespace weft
