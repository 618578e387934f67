// SPDX-License-Identifier: Apache-2.0

#include "sched/runtime_core.hpp"
#include "support/scale.hpp"

#include <weft/blocking.hpp>
#include <weft/execution_context.hpp>
#include <weft/no_suspend.hpp>
#include <weft/nursery.hpp>
#include <weft/runtime.hpp>
#include <weft/this_fiber.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <gtest/gtest.h>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <sys/resource.h>
#include <thread>
#include <vector>

namespace weft {
namespace {

using namespace std::chrono_literals;

impl::blocking_counts counts_of(runtime& of) { return detail::core_of(of)->blocking().counts(); }

TEST(Blocking, RunsOnAnotherThread) {
  run([] {
    const std::thread::id mine = std::this_thread::get_id();
    EXPECT_NE(blocking([] { return std::this_thread::get_id(); }), mine);
    EXPECT_EQ(blocking([] { return execution_context::current(); }), nullptr);
  });
}

TEST(Blocking, GivesWhatTheFunctionReturns) {
  run([] {
    EXPECT_EQ(blocking([] { return std::string(100, 'x'); }), std::string(100, 'x'));
    EXPECT_EQ(*blocking([] { return std::make_unique<int>(7); }), 7);
    int place = 0;
    int& same = blocking([&]() -> int& { return place; });
    EXPECT_EQ(&same, &place);
    blocking([&] { place = 3; });
    EXPECT_EQ(place, 3);
    auto once = [box = std::make_unique<int>(5)]() mutable { return std::move(box); };
    EXPECT_EQ(*blocking(std::move(once)), 5);
  });
}

TEST(Blocking, RethrowsWhatTheFunctionThrows) {
  run([] {
    try {
      blocking([]() -> int { throw std::runtime_error("disk gone"); });
      FAIL();
    } catch (const std::runtime_error& error) {
      EXPECT_STREQ(error.what(), "disk gone");
    }
  });
}

// A context of one thread goes on while a function of a task blocks: else this hangs.
TEST(Blocking, TheOthersGoOnMeanwhile) {
  runtime one({.workers = 1});
  concurrent_context turns(one, "turns");
  std::atomic<bool> go{false};
  handle<void> blocked = turns.spawn([&] {
    blocking([&] {
      while (!go.load()) std::this_thread::sleep_for(1ms);
    });
  });
  for (int i = 0; i < 10; ++i) EXPECT_EQ(turns.spawn([i] { return i; }).join(), i);
  turns.spawn([&] { go.store(true); }).join();
  blocked.join();
}

TEST(Blocking, OnAPlainThreadItIsACall) {
  const std::thread::id mine = std::this_thread::get_id();
  EXPECT_EQ(blocking([] { return std::this_thread::get_id(); }), mine);
}

TEST(Blocking, WithinAnotherItIsACall) {
  run([] {
    EXPECT_TRUE(blocking([] {
      const std::thread::id mine = std::this_thread::get_id();
      return blocking([] { return std::this_thread::get_id(); }) == mine;
    }));
  });
}

TEST(Blocking, InAnIsolatedContextItIsACall) {
  run([] {
    isolated_context alone("alone", [] {
      const std::thread::id mine = std::this_thread::get_id();
      EXPECT_EQ(blocking([] { return std::this_thread::get_id(); }), mine);
    });
    alone.join();
  });
}

TEST(Blocking, WhereATaskMustNotWaitItIsACall) {
  run([] {
    const no_suspend here;
    const std::thread::id mine = std::this_thread::get_id();
    EXPECT_EQ(blocking([] { return std::this_thread::get_id(); }), mine);
  });
}

// No more threads than that; who comes later has its turn in order.
TEST(Blocking, TheThreadsAreBounded) {
  constexpr std::uint32_t most = 3;
  runtime one({.workers = 2, .blocking_threads = most});
  std::atomic<bool> go{false};
  std::atomic<std::uint32_t> inside{0};
  std::vector<handle<void>> all;
  for (int i = 0; i < 10; ++i) {
    all.push_back(one.spawn([&] {
      blocking([&] {
        EXPECT_LE(inside.fetch_add(1) + 1, most);
        while (!go.load()) std::this_thread::sleep_for(1ms);
        inside.fetch_sub(1);
      });
    }));
  }
  while (counts_of(one).waiting != 7) std::this_thread::sleep_for(1ms);  // else this hangs
  EXPECT_EQ(counts_of(one).threads, most);
  EXPECT_EQ(counts_of(one).busy, most);
  go.store(true);
  for (auto& each : all) each.join();
  EXPECT_EQ(counts_of(one).begun, 10U);
  EXPECT_EQ(counts_of(one).most_busy, most);
}

TEST(Blocking, ThreadsGoWhenThereIsNothingToDo) {
  runtime one({.workers = 1});
  one.spawn([] { blocking([] {}); }).join();
  EXPECT_EQ(counts_of(one).threads, 1U);
  while (counts_of(one).threads != 0) std::this_thread::sleep_for(10ms);  // else this hangs
  one.spawn([] { blocking([] {}); }).join();                              // and another comes
}

// Whoever has just done its last job when all is to end goes at once, and does not first wait for another.
TEST(BlockingThreads, GoAtOnceWhenAllEnds) {
  struct errand : impl::blocking_job {
    detail::blocking_call nothing{[](detail::blocking_call&) noexcept {}};
    std::atomic<bool> is_done{false};

    errand() noexcept {
      call = &nothing;
      done = [](impl::blocking_job& self) noexcept { static_cast<errand&>(self).is_done.store(true); };
    }
  };
  runtime one({.workers = 1});
  for (int i = 0; i < testing::scaled(1000, 100); ++i) {
    impl::blocking_threads threads(2, 24h, detail::core_of(one)->watcher());  // a day: else this hangs
    std::array<errand, 3> errands;
    for (errand& each : errands) ASSERT_TRUE(threads.try_begin(each));
    for (errand& each : errands) {
      while (!each.is_done.load()) std::this_thread::yield();
    }
    threads.stop();
    EXPECT_EQ(threads.counts().threads, 0U);
    EXPECT_EQ(threads.counts().begun, 3U);
  }
}

// A task that was asked to stop still waits for what it has begun, which uses its stack.
TEST(Blocking, IsNotCutShort) {
  runtime one({.workers = 1});
  std::atomic<bool> is_inside{false};
  std::atomic<bool> go{false};
  bool has_ended = false;
  handle<void> asked = one.spawn([&] {
    blocking([&] {
      is_inside.store(true);
      while (!go.load()) std::this_thread::sleep_for(1ms);
    });
    has_ended = true;
  });
  while (!is_inside.load()) std::this_thread::yield();
  asked.request_cancel();
  std::this_thread::sleep_for(5ms);
  go.store(true);
  asked.join();
  EXPECT_TRUE(has_ended);
}

TEST(Blocking, OptionsThatCannotBeAreNamed) {
  const auto message = [](std::uint32_t threads) -> std::string {
    try {
      runtime({.blocking_threads = threads});
    } catch (const std::invalid_argument& error) {
      return error.what();
    }
    return "none";
  };
  EXPECT_EQ(message(0), "runtime_options::blocking_threads is 0; there are 1 to 4096");
  EXPECT_EQ(message(5000), "runtime_options::blocking_threads is 5000; there are 1 to 4096");
}

TEST(BlockingStorm, EachIsDoneOnce) {
  const int tasks = testing::scaled(20000, 2000);
  runtime one({.workers = 2, .blocking_threads = 4});
  std::atomic<int> done{0};
  nursery(one, [&](nursery& n) {
    for (int i = 0; i < tasks; ++i) {
      n.spawn([&] {
        int mine = 0;
        blocking([&] { mine = 1; });
        done.fetch_add(mine);
      });
    }
  });
  EXPECT_EQ(done.load(), tasks);
}

}  // namespace
}  // namespace weft
