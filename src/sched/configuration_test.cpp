// SPDX-License-Identifier: Apache-2.0
//
// Who decides: the program, then the environment, then how weft was built, then the machine.

#include "sched/runtime_core.hpp"
#include "support/own_process.hpp"

#include <weft/nursery.hpp>
#include <weft/runtime.hpp>
#include <weft/this_fiber.hpp>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace weft {
namespace {

using namespace std::chrono_literals;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

/// A variable of the environment for as long as this lives.
class variable {
 public:
  variable(const char* name, const char* value) : name_(name) { ::setenv(name, value, 1); }
  variable(const variable&) = delete;
  variable& operator=(const variable&) = delete;
  ~variable() { ::unsetenv(name_); }

 private:
  const char* const name_;
};

/// What a runtime says on the standard error while the function has it.
template <class F>
std::string told_by(const runtime_options& how, F&& use) {
  ::testing::internal::CaptureStderr();
  {
    runtime one(how);
    use(one);
  }
  return ::testing::internal::GetCapturedStderr();
}

TEST(Configuration, TheEnvironmentSaysHowManyWorkers) {
  const variable set("WEFT_WORKERS", "3");
  EXPECT_EQ(runtime().workers(), 3U);
}
TEST(Configuration, TheEnvironmentSaysHowManyAtFirstAndAtMost) {
  const variable set("WEFT_WORKERS", "2-5");
  runtime one;
  EXPECT_EQ(one.workers(), 5U);
  EXPECT_EQ(detail::context_of(one)->workers().there(), 2U);
}
TEST(Configuration, TheProgramHasTheLastWord) {
  const variable workers("WEFT_WORKERS", "3");
  const variable seed("WEFT_SEED", "7");
  const variable stack("WEFT_STACK_SIZE", "64K");
  runtime one({.workers = 2, .seed = 9, .stack_bytes = 128U << 10U});
  EXPECT_EQ(one.workers(), 2U);
  EXPECT_EQ(detail::core_of(one)->options().seed, 9U);
  EXPECT_EQ(detail::core_of(one)->options().stack.bytes(), 128U << 10U);
}
TEST(Configuration, TheEnvironmentSaysSeedAndStack) {
  const variable seed("WEFT_SEED", "7");
  const variable stack("WEFT_STACK_SIZE", "64K");
  runtime one({.workers = 1});
  EXPECT_EQ(detail::core_of(one)->options().seed, 7U);
  EXPECT_EQ(detail::core_of(one)->options().stack.bytes(), 64U << 10U);
}
// As it was built; the build as a shared library has other defaults than the rest.
TEST(Configuration, WhatNobodySaysIsAsItWasBuilt) {
  runtime one;
  EXPECT_EQ(detail::core_of(one)->options().stack.bytes(), WEFT_DEFAULT_STACK_SIZE);
  if (WEFT_FIXED_WORKERS == 0) return;
  EXPECT_EQ(one.workers(), WEFT_FIXED_WORKERS);
  EXPECT_EQ(detail::context_of(one)->workers().there(), one.workers()) << "all of them, from the beginning";
}
TEST(Configuration, WhatTheEnvironmentSaysWronglyIsAnErrorBeforeAnythingStarts) {
  const variable set("WEFT_WORKERS", "many");
  try {
    const runtime one;
    FAIL() << "it was made";
  } catch (const std::invalid_argument& error) {
    EXPECT_THAT(error.what(), HasSubstr("the environment variable WEFT_WORKERS is 'many'; "));
  }
}
TEST(ConfigurationDeathTest, AVariableThatIsUnknownIsAWarningOnce) {
  WEFT_NEEDS_OWN_PROCESS();
  EXPECT_EXIT(
      {
        const variable set("WEFT_WORKRES", "4");
        run([] {}, {.workers = 1});
        run([] {}, {.workers = 1});
        std::_Exit(0);
      },
      ::testing::ExitedWithCode(0),
      ::testing::AllOf(HasSubstr("WEFT_WORKRES"), HasSubstr("WEFT_WORKERS"),
                       Not(ContainsRegex("WORKRES(.|\n)*WORKRES"))));
}

/// Blocks both workers of a runtime, and has another task served.
void block_both(runtime& one) {
  std::atomic<bool> go{false};
  std::atomic<int> begun{0};
  std::vector<handle<void>> blocked;
  for (int i = 0; i < 2; ++i) {
    blocked.push_back(one.spawn([&] {
      begun.fetch_add(1);
      while (!go.load()) ::poll(nullptr, 0, 1);
    }));
  }
  while (begun.load() < 2) std::this_thread::yield();
  one.spawn([] {}).join();
  go.store(true);
  for (auto& each : blocked) each.join();
}

// Why workers come, each time.
TEST(DebugSysmon, SaysWhyAWorkerIsAdded) {
  const variable set("WEFT_DEBUG_SYSMON", "1");
  const std::string told = told_by({.workers = 2}, block_both);
  EXPECT_THAT(
      told,
      ContainsRegex("sysmon: context 'DEFAULT' has [0-9]+ workers \\(its own: 2\\), [12] of them blocked and "
                    "[01] busy, "
                    "while work has waited for [0-9]+ us: adds [12] in the place of those that are blocked"));
}
TEST(DebugSysmon, SaysWhoComesAndWhoGoes) {
  const variable set("WEFT_DEBUG_SYSMON", "1");
  const std::string came = told_by({.workers = {1, 2}}, block_both);
  EXPECT_THAT(came, ContainsRegex(
                        "sysmon: worker 1 of context 'DEFAULT' comes, since there is work and nobody who is "
                        "there sleeps"));
  const std::string went = told_by({.workers = 2}, [](runtime& one) {
    one.spawn([] {
         default_context().resize(1);
         while (default_context().threads() != 1) this_fiber::sleep_for(std::chrono::milliseconds(1));
         this_fiber::sleep_for(std::chrono::milliseconds(10));
       })
        .join();
  });
  EXPECT_THAT(went, ContainsRegex("sysmon: worker 1 of context 'DEFAULT' goes, since there are to be fewer"));
}
TEST(DebugSysmon, SaysWhoIsAskedToGiveWay) {
  const variable set("WEFT_DEBUG_SYSMON", "1");
  const std::string told = told_by({.workers = 1}, [](runtime& one) {
    one.spawn([] {
         std::atomic<bool> other_ran{false};
         handle<void> other = spawn([&] { other_ran.store(true); });
         const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(40);
         while (std::chrono::steady_clock::now() < until) {
         }
         while (!other_ran.load()) this_fiber::checkpoint();
         other.join();
       })
        .join();
  });
  EXPECT_THAT(told,
              ContainsRegex("sysmon: asks worker 0 of context 'DEFAULT' to give way at the next checkpoint, "
                            "since it has run one task for [0-9]+ ms while others wait"));
}
TEST(DebugSysmon, SaysNothingUnlessAsked) {
  const std::string told = told_by({.workers = 2}, block_both);
  EXPECT_THAT(told, Not(HasSubstr("sysmon")));
}

}  // namespace
}  // namespace weft
