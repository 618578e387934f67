// SPDX-License-Identifier: Apache-2.0

#include "support/emulation.hpp"
#include "support/own_process.hpp"
#include "support/scale.hpp"

#include <weft/blocking.hpp>
#include <weft/detail/sanitizers.hpp>
#include <weft/dump.hpp>
#include <weft/execution_context.hpp>
#include <weft/nursery.hpp>
#include <weft/runtime.hpp>
#include <weft/suspend.hpp>
#include <weft/this_fiber.hpp>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace weft {

// Not in a nameless namespace: only exported functions have names in a backtrace.
[[gnu::noinline]] void dump_test_waits_here(std::vector<resumer>& waiting, std::atomic<int>& count) {
  suspend("the end of a test", [&](const resumer& mine) {
    waiting.push_back(mine);
    count.fetch_add(1);
  });
  asm volatile("");
}
[[gnu::noinline]] void dump_test_computes_here(std::atomic<int>& begun, const std::atomic<bool>& stop) {
  begun.fetch_add(1);
  while (!stop.load()) {
  }
  asm volatile("");
}

namespace {

using namespace std::chrono_literals;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

#if defined(WEFT_SWITCH_BOOST)
constexpr bool sees_parked = false;
#else
constexpr bool sees_parked = true;
#endif

void await(const std::atomic<int>& count, int wished) {
  while (count.load() < wished) std::this_thread::yield();
}

TEST(Dump, WithoutARuntimeSaysSo) {
  WEFT_NEEDS_OWN_PROCESS();  // another test may have started the default runtime
  EXPECT_EXIT(std::_Exit(dump() == "no weft runtime\n" ? 0 : 1), ::testing::ExitedWithCode(0), "");
}

TEST(Dump, SaysWhatATaskWaitsForAndWhereItIs) {
  runtime one({.workers = 1});
  concurrent_context turns(one, "turns");
  std::vector<resumer> waiting;
  std::atomic<int> count{0};
  handle<void> task = turns.spawn({.name = "reader"}, [&] { dump_test_waits_here(waiting, count); });
  await(count, 1);
  std::string text;
  do text = dump();
  while (text.find("blocked") == std::string::npos);  // it may be about to
  EXPECT_THAT(text, HasSubstr("context 'DEFAULT': 1 workers, 1 threads"));
  EXPECT_THAT(text, HasSubstr("context 'turns': 1 workers, 1 threads"));
  EXPECT_THAT(text, ContainsRegex("task [0-9]+ 'reader' in 'turns', blocked on the end of a test, spawned at "
                                  ".*dump_test.cpp:[0-9]+"));
  EXPECT_EQ(text.find("weft::dump_test_waits_here(") != std::string::npos, sees_parked) << text;
  ASSERT_TRUE(waiting[0].resume());
  task.join();
}

TEST(Dump, SaysWhereARunningTaskIs) {
  runtime one({.workers = 2});
  std::atomic<int> begun{0};
  std::atomic<bool> stop{false};
  handle<void> task = one.spawn([&] { dump_test_computes_here(begun, stop); });
  await(begun, 1);
  const std::string text = dump();
  EXPECT_THAT(text, HasSubstr("running, spawned at"));
#if !WEFT_THREAD_SANITIZER  // which calls signal handlers when it likes
  EXPECT_THAT(text, HasSubstr("weft::dump_test_computes_here("));
#endif
  stop.store(true);
  task.join();
}

TEST(Dump, NamesThoseTogetherThatAreAlike) {
  const int tasks = testing::scaled(20000, 500);
  runtime one({.workers = 2, .measure_stack_every = 0});  // one that is measured has another caller
  std::vector<handle<void>> all;
  all.reserve(static_cast<std::size_t>(tasks));
  std::atomic<int> begun{0};
  for (int i = 0; i < tasks; ++i) {
    all.push_back(one.spawn([&] {
      begun.fetch_add(1);
      this_fiber::sleep_for(1h);
    }));
  }
  await(begun, tasks);
  const std::string wished = std::to_string(tasks) + " tasks: ";
  std::string text;
  do text = dump();
  while (text.find(wished) == std::string::npos);  // else this hangs
  EXPECT_THAT(text, HasSubstr(", ... in 'DEFAULT', blocked on sleep, spawned at "));
  EXPECT_LT(text.size(), 20000U);
  for (auto& each : all) each.request_cancel();
  for (auto& each : all) EXPECT_THROW(each.join(), std::system_error);
}

TEST(Dump, ByATaskShowsItself) {
  run([] { EXPECT_THAT(dump(), ContainsRegex("task 0 in 'DEFAULT', running")); }, {.workers = 1});
}

TEST(Dump, ShowsWhoWaitsForAThreadThatBlocks) {
  runtime one({.workers = 1});
  std::atomic<int> begun{0};
  std::atomic<bool> stop{false};
  handle<void> task = one.spawn([&] {
    blocking([&] {
      begun.fetch_add(1);
      while (!stop.load()) std::this_thread::sleep_for(1ms);
    });
  });
  await(begun, 1);
  std::string text;
  do text = dump();
  while (text.find("blocked on blocking()") == std::string::npos);  // else this hangs
  stop.store(true);
  task.join();
}

// A task that has gone on upon another stack stands on both.
TEST(Dump, WhileEverythingRuns) {
  const int dumps = testing::scaled(100, 10);
  runtime one({.workers = 3});
  std::atomic<bool> stop{false};
  handle<void> all = one.spawn([&] {
    while (!stop.load()) {
      nursery([&](nursery& n) {
        for (int i = 0; i < 50; ++i) {
          n.spawn([i] {
            if (i % 2 == 0) this_fiber::sleep_for(std::chrono::microseconds(i));
            this_fiber::yield();
          });
        }
      });
    }
  });
  for (int i = 0; i < dumps; ++i) EXPECT_THAT(dump(), HasSubstr("weft runtime"));
  stop.store(true);
  all.join();
}

TEST(Dump, WhileRuntimesComeAndGo) {
  std::atomic<bool> stop{false};
  std::thread looking([&] {
    while (!stop.load()) (void)dump();
  });
  for (int i = 0; i < testing::scaled(200, 20); ++i) {
    run([] {
      concurrent_context other("other");
      other.spawn([] { this_fiber::yield(); }).join();
    });
  }
  stop.store(true);
  looking.join();
}

// ThreadSanitizer holds a signal back until the thread that the kernel has chosen calls something; and the main thread sleeps.
void send_quit() {
#if WEFT_THREAD_SANITIZER
  ::raise(SIGQUIT);
#else
  ::kill(::getpid(), SIGQUIT);
#endif
}

TEST(DumpOnQuit, TheSignalWritesADump) {
  WEFT_NEEDS_OWN_PROCESS();
  EXPECT_EXIT(
      {
        run(
            [] {
              send_quit();
              for (int i = 0; i < 50; ++i) this_fiber::sleep_for(10ms);
            },
            {.workers = 1, .dumps_on_quit = true});
        std::_Exit(7);
      },
      ::testing::ExitedWithCode(7), "weft runtime\ncontext 'DEFAULT'(.|\n)*task 0 in 'DEFAULT'");
}

TEST(DumpOnQuit, AForkedChildHasItsOwn) {
  if (!testing::threads_after_fork) GTEST_SKIP() << "no threads in a forked child here";
  WEFT_NEEDS_OWN_PROCESS();
  EXPECT_EXIT(
      {
        runtime one({.workers = 1, .dumps_on_quit = true});
        const pid_t child = ::fork();
        if (child == 0) {
          run(
              [] {
                ::kill(::getpid(), SIGQUIT);
                for (int i = 0; i < 50; ++i) this_fiber::sleep_for(10ms);
              },
              {.workers = 1, .dumps_on_quit = true});
          std::_Exit(7);
        }
        int status = 0;
        ::waitpid(child, &status, 0);
        std::_Exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
      },
      ::testing::ExitedWithCode(7), "weft runtime\ncontext 'DEFAULT'(.|\n)*task 0 in 'DEFAULT'");
}

TEST(DumpOnQuit, InAForkedChildWithoutItTheSignalEndsTheProcess) {
  WEFT_NEEDS_OWN_PROCESS();
  EXPECT_EXIT(
      {
        runtime one({.workers = 1, .dumps_on_quit = true});
        const pid_t child = ::fork();
        if (child == 0) {
          ::kill(::getpid(), SIGQUIT);
          ::sleep(10);
          std::_Exit(0);
        }
        int status = 0;
        ::waitpid(child, &status, 0);
        std::_Exit(WIFSIGNALED(status) && WTERMSIG(status) == SIGQUIT ? 7 : 1);
      },
      ::testing::ExitedWithCode(7), "");
}

TEST(DumpOnQuit, WithoutItTheSignalEndsTheProcess) {
  WEFT_NEEDS_OWN_PROCESS();
  EXPECT_EXIT(
      {
        run([] {}, {.workers = 1, .dumps_on_quit = true});  // and afterwards it does what it did before
        ::kill(::getpid(), SIGQUIT);
        std::this_thread::sleep_for(10s);
      },
      ::testing::KilledBySignal(SIGQUIT), "");
}

}  // namespace
}  // namespace weft
