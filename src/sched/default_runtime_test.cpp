// SPDX-License-Identifier: Apache-2.0
//
// The default runtime is the process's: where a test cares about how it begins, it has a process of its own.

#include "support/emulation.hpp"
#include "support/on_workers.hpp"
#include "support/own_process.hpp"
#include "support/where.hpp"

#include <weft/error.hpp>
#include <weft/execution_context.hpp>
#include <weft/nursery.hpp>
#include <weft/runtime.hpp>

#include <atomic>
#include <cstdlib>
#include <gtest/gtest.h>
#include <string>
#include <sys/wait.h>
#include <system_error>
#include <thread>
#include <unistd.h>
#include <vector>

namespace weft {
namespace {

/// For those that need a process of their own: one that starts from the beginning, so that no thread is forked.
class DefaultRuntimeDeathTest : public ::testing::Test {
 protected:
  void SetUp() override { WEFT_NEEDS_OWN_PROCESS(); }
};

class DefaultRuntime : public ::testing::Test {
 protected:
  void TearDown() override { testing::await_those_that_go(); }
};

using testing::here;

TEST_F(DefaultRuntime, TakesWhatAPlainThreadSpawns) {
  EXPECT_EQ(spawn(here).join(), "DEFAULT");
  EXPECT_EQ(spawn({.name = "named"}, here).join(), "DEFAULT");
  std::atomic<int> done{0};
  nursery([&](nursery& n) {
    for (int i = 0; i < 10; ++i) n.spawn([&] { done.fetch_add(1); });
  });
  EXPECT_EQ(done.load(), 10);
}

TEST_F(DefaultRuntime, HasOneContextThatIsAlwaysTheSame) {
  execution_context& first = default_context();
  EXPECT_EQ(first.name(), "DEFAULT");
  EXPECT_EQ(&default_context(), &first);
  EXPECT_EQ(first.spawn([] { return &default_context(); }).join(), &first);
  EXPECT_EQ(first.spawn([] { return execution_context::current(); }).join(), &first);
}

TEST_F(DefaultRuntime, InAnotherRuntimeTheDefaultContextIsThatOnes) {
  run([] {
    EXPECT_EQ(&default_context(), execution_context::current());
    concurrent_context other("other");
    EXPECT_EQ(other.spawn([] { return std::string(default_context().name()); }).join(), "DEFAULT");
  });
}

TEST_F(DefaultRuntime, ContextsOfAPlainThreadBelongToIt) {
  concurrent_context made("made");
  EXPECT_EQ(made.spawn(here).join(), "made");
  EXPECT_EQ(made.spawn([] { return &default_context(); }).join(), &default_context());
}

TEST_F(DefaultRuntimeDeathTest, StartsOnce) {
  EXPECT_EXIT(
      {
        std::vector<std::thread> threads;
        std::atomic<execution_context*> seen{nullptr};
        std::atomic<bool> differ{false};
        for (int i = 0; i < 8; ++i) {
          threads.emplace_back([&] {
            execution_context* const mine = &default_context();
            execution_context* expected = nullptr;
            if (!seen.compare_exchange_strong(expected, mine) && expected != mine) differ.store(true);
          });
        }
        for (auto& each : threads) each.join();
        std::_Exit(differ.load() ? 1 : 0);
      },
      ::testing::ExitedWithCode(0), "");
}

TEST_F(DefaultRuntimeDeathTest, IsMadeAsWasConfigured) {
  EXPECT_EXIT(
      {
        configure_default({.workers = 7});
        configure_default({.workers = 3});  // the last word holds
        const bool right = default_context().workers() == 3;
        bool refused = false;
        try {
          configure_default({.workers = 2});
        } catch (const std::system_error& error) {
          refused = error.code() == errc::already_started;
        }
        std::_Exit(right && refused ? 0 : 1);
      },
      ::testing::ExitedWithCode(0), "");
}

TEST_F(DefaultRuntimeDeathTest, SaysItsFiguresAtExit) {
  EXPECT_EXIT(
      {
        ::setenv("WEFT_STATS", "1", 1);
        spawn([] {}).join();
        std::exit(7);
      },
      ::testing::ExitedWithCode(7), "statistics of a runtime(.|\n)*context 'DEFAULT': 1 tasks begun");
}

TEST_F(DefaultRuntimeDeathTest, CanBeResized) {
  EXPECT_EXIT(
      {
        configure_default({.workers = 3});
        default_context().resize(1);
        std::_Exit(default_context().workers() == 1 && spawn([] { return 5; }).join() == 5 ? 0 : 1);
      },
      ::testing::ExitedWithCode(0), "");
}

TEST_F(DefaultRuntimeDeathTest, OptionsThatCannotBeAreNamedWhenItIsMade) {
  EXPECT_EXIT(
      {
        configure_default({.workers = 300});
        try {
          (void)default_context();
        } catch (const std::invalid_argument&) {
          configure_default({.workers = 1});  // and it may be made otherwise
          std::_Exit(default_context().workers() == 1 ? 0 : 1);
        }
        std::_Exit(2);
      },
      ::testing::ExitedWithCode(0), "");
}

TEST_F(DefaultRuntime, AForkedChildHasItsOwn) {
  if (!testing::threads_after_fork) GTEST_SKIP() << "no threads in a forked child here";
  EXPECT_EQ(spawn(here).join(), "DEFAULT");
  const pid_t child = ::fork();
  if (child == 0) std::_Exit(spawn([] { return 5; }).join());
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 5);
  EXPECT_EQ(spawn(here).join(), "DEFAULT");
}

}  // namespace
}  // namespace weft
