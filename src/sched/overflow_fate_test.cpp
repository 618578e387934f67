// SPDX-License-Identifier: Apache-2.0

#include "support/child.hpp"
#include "support/on_workers.hpp"
#include "support/recursion.hpp"
#include "support/scale.hpp"

#include <weft/error.hpp>
#include <weft/fiber_local.hpp>
#include <weft/join.hpp>
#include <weft/nursery.hpp>
#include <weft/runtime.hpp>
#include <weft/this_fiber.hpp>

#include <atomic>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <gtest/gtest.h>
#include <system_error>
#include <unistd.h>

namespace weft {
namespace {

using testing::child_outcome;
using testing::recurse;
using testing::run_in_child;

// In a child. What it returns is the exit code.
template <class F>
child_outcome in_child(F f) {
  return run_in_child([&] { std::_Exit(f()); });
}

template <class F>
int fails_by_overflow(F&& f) {
  try {
    f();
  } catch (const std::system_error& error) {
    return error.code() == make_error_code(errc::stack_overflow) ? 0 : 3;
  }
  return 4;
}

TEST(OverflowFate, NamesTheTask) {
  const child_outcome outcome = in_child([] {
    weft::run([] { spawn({.name = "reader"}, [] { recurse(0); }).join(); }, {.workers = 2});
    return 0;
  });
  EXPECT_TRUE(outcome.died_of(SIGABRT)) << outcome.status;
  EXPECT_TRUE(outcome.mentioned("weft: stack overflow in fiber ")) << outcome.said;
  EXPECT_TRUE(outcome.mentioned(" 'reader' (stack 256 KiB, spawned at ")) << outcome.said;
  EXPECT_TRUE(outcome.mentioned("overflow_fate_test.cpp:")) << outcome.said;
}

class FailTaskTest : public ::testing::TestWithParam<std::uint32_t> {
 protected:
  static runtime_options options() { return {.workers = GetParam(), .on_overflow = overflow::fail_task}; }

  // Runs it as main in a child, and expects that it returns 0.
  template <class F>
  static void expect_zero(F main) {
    const child_outcome outcome = in_child([&] { return weft::run(main, options()); });
    EXPECT_TRUE(outcome.exited_with(0)) << outcome.status << outcome.said;
    EXPECT_TRUE(outcome.mentioned("weft: stack overflow in fiber ")) << outcome.said;
  }
};
INSTANTIATE_TEST_SUITE_P(, FailTaskTest, ::testing::Values(1U, 3U), testing::name_by_workers);

TEST_P(FailTaskTest, TheTaskFailsAndAllElseGoesOn) {
  expect_zero([] {
    auto fails = spawn([] { recurse(0); });
    auto works = spawn([] { return 5; });
    const int failed = fails_by_overflow([&] { fails.join(); });
    return works.join() == 5 ? failed : 5;
  });
}

TEST_P(FailTaskTest, AgainAndAgain) {
  expect_zero([] {
    constexpr int times = testing::scaled(50, 5);
    for (int i = 0; i < times; ++i) {
      auto fails = spawn([] {
        this_fiber::yield();
        recurse(0);
      });
      if (const int failed = fails_by_overflow([&] { fails.join(); }); failed != 0) return failed;
    }
    return 0;
  });
}

TEST_P(FailTaskTest, ANurseryRethrowsIt) {
  expect_zero([] {
    return fails_by_overflow([] {
      nursery([](nursery& in) {
        in.spawn([] { recurse(0); });
        in.spawn([] { this_fiber::yield(); });
      });
    });
  });
}

TEST_P(FailTaskTest, MainFailsAsAnyTask) {
  const child_outcome outcome =
      in_child([&] { return fails_by_overflow([] { weft::run([] { recurse(0); }, options()); }); });
  EXPECT_TRUE(outcome.exited_with(0)) << outcome.status << outcome.said;
}

TEST_P(FailTaskTest, AStackOfItsOwn) {
  expect_zero([] {
    auto fails = spawn({.stack_bytes = std::size_t{1} << 20U}, [] { recurse(0); });
    return fails_by_overflow([&] { fails.join(); });
  });
}

TEST_P(FailTaskTest, WithinAnException) {
  expect_zero([] {
    auto fails = spawn([] {
      try {
        throw 1;
      } catch (int) {
        recurse(0);
      }
    });
    const int failed = fails_by_overflow([&] { fails.join(); });
    return std::uncaught_exceptions() == 0 && !std::current_exception() ? failed : 6;
  });
}

// The second half of a join, run by somebody else, fails alone: its caller has the error.
TEST_P(FailTaskTest, TheSecondHalfOfAJoin) {
  expect_zero([] {
    std::atomic<bool> begun{false};
    auto joins = spawn([&] {
      join(
          [&] {
            for (int i = 0; i < 1'000 && !begun; ++i) this_fiber::yield();
          },
          [&] {
            begun = true;
            recurse(0);
          });
    });
    return fails_by_overflow([&] { joins.join(); });
  });
}

// Its second half is still in a queue when the first one overflows: it runs all the same, and nothing comes to harm.
TEST_P(FailTaskTest, TheFirstHalfOfAJoin) {
  expect_zero([] {
    auto joins = spawn([] { join([] { recurse(0); }, [] { this_fiber::yield(); }); });
    const int failed = fails_by_overflow([&] { joins.join(); });
    for (int i = 0; i < 100; ++i) this_fiber::yield();
    return failed;
  });
}

struct deep {
  static std::uint64_t descend(std::uint32_t left) {
    if (left == 0) {
      recurse(0);
      return 0;
    }
    const auto [a, b] = join([left] { return descend(left - 1); }, [] { return std::uint64_t{1}; });
    return a + b;
  }
};

// It stands on several stacks by then.
TEST_P(FailTaskTest, DeepInATreeOfJoins) {
  expect_zero([] {
    auto joins = spawn([] { return deep::descend(testing::scaled(20'000U, 3'000U)); });
    return fails_by_overflow([&] { (void)joins.join(); });
  });
}

// At each depth it does something with weft, so that the end comes in the middle of that, or nearly.
template <class F>
[[gnu::noinline]] void recurse_with(F& at_each, int depth) {
  volatile char frame[200];
  volatile char& somewhere = frame[static_cast<unsigned>(depth) % sizeof frame];
  somewhere = 1;
  at_each();
  if (depth != testing::recursion_end) recurse_with(at_each, depth + 1);
  somewhere = 2;
}
template <class F>
int fails_each_time(F at_each) {
  constexpr int times = testing::scaled(60, 4);
  for (int i = 0; i < times; ++i) {
    auto fails = spawn([&at_each, i] {
      auto* const shift = static_cast<volatile char*>(__builtin_alloca(static_cast<unsigned>(i) * 16U + 16U));
      shift[0] = 1;  // another depth each time
      recurse_with(at_each, 0);
    });
    if (const int failed = fails_by_overflow([&] { fails.join(); }); failed != 0) return failed;
  }
  return 0;
}
TEST_P(FailTaskTest, WhileItSpawns) {
  const child_outcome outcome = in_child(
      [] { return weft::run([] { return fails_each_time([] { spawn([] {}).detach(); }); }, options()); });
  EXPECT_TRUE(outcome.exited_with(0)) << outcome.status << outcome.said;
}
TEST_P(FailTaskTest, WhileItYields) {
  const child_outcome outcome = in_child(
      [] { return weft::run([] { return fails_each_time([] { this_fiber::yield(); }); }, options()); });
  EXPECT_TRUE(outcome.exited_with(0)) << outcome.status << outcome.said;
}
// Within malloc nothing can be saved; but the process ends, and does not hang.
TEST_P(FailTaskTest, WhileItAllocates) {
  const child_outcome outcome = in_child([] {
    ::alarm(20);
    return weft::run(
        [] {
          return fails_each_time([] {
            void* volatile piece = std::malloc(100);
            std::free(piece);
          });
        },
        options());
  });
  EXPECT_TRUE(outcome.exited_with(0) || outcome.died_of(SIGABRT)) << outcome.status << outcome.said;
}

struct noted {
  std::atomic<int>* gone = nullptr;
  ~noted() {
    if (gone != nullptr) ++*gone;
  }
};

TEST_P(FailTaskTest, ItsFiberLocalsGo) {
  expect_zero([] {
    static const fiber_local<noted> local;
    std::atomic<int> gone{0};
    auto fails = spawn([&] {
      local->gone = &gone;
      recurse(0);
    });
    const int failed = fails_by_overflow([&] { fails.join(); });
    return gone == 1 ? failed : 7;
  });
}

}  // namespace
}  // namespace weft
