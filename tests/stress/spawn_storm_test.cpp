// SPDX-License-Identifier: Apache-2.0
//
// Threads that are no workers spawn, all at once, tasks that return, fail, wait and are asked to stop. Every one of them ends
// exactly once, and who holds it learns how.

#include "base/rng.hpp"
#include "support/scale.hpp"
#include "support/seed.hpp"

#include <weft/runtime.hpp>
#include <weft/suspend.hpp>
#include <weft/this_fiber.hpp>

#include <atomic>
#include <cstdint>
#include <gtest/gtest.h>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace weft {
namespace {

using impl::xoshiro256ss;

/// What became of tasks, as they see it themselves.
struct bodies {
  std::atomic<std::uint64_t> returned{0};
  std::atomic<std::uint64_t> failed{0};
  std::atomic<std::uint64_t> stopped{0};  // in a wait
};

/// And as those see it who hold them.
struct ends {
  std::uint64_t dropped = 0;
  std::uint64_t returned = 0;
  std::uint64_t failed = 0;
  std::uint64_t cancelled = 0;
};

enum class fate : std::uint8_t { drops, returns, fails, waits_for_ever, yields_and_is_stopped };

fate choose(xoshiro256ss& random) {
  switch (random.below(64)) {
    case 0: return fate::waits_for_ever;
    case 1: return fate::yields_and_is_stopped;
    case 2:
    case 3:
    case 4:
    case 5: return fate::fails;
    default: return random.below(4) == 0 ? fate::drops : fate::returns;
  }
}

std::uint64_t live(bodies& all, fate what, std::uint64_t number) {
  switch (what) {
    case fate::fails: ++all.failed; throw number;
    case fate::waits_for_ever:
    case fate::yields_and_is_stopped:
      try {
        if (what == fate::waits_for_ever) suspend("storm", [](const resumer&) {});
        this_fiber::yield();
      } catch (const cancelled&) {
        ++all.stopped;
        throw;
      }
      break;
    default: break;
  }
  all.returned.fetch_add(1, std::memory_order_relaxed);
  return number;
}

/// One of the threads.
class spawner {
 public:
  spawner(runtime& in, bodies& all, xoshiro256ss random) : in_(in), all_(all), random_(random) {}

  void run(std::uint64_t count) {
    for (std::uint64_t n = 0; n < count; ++n) {
      const fate what = choose(random_);
      auto task = in_.spawn([&all = all_, what, n] { return live(all, what, n); });
      if (what == fate::drops) {
        ++seen.dropped;
        continue;
      }
      if (what >= fate::waits_for_ever) task.request_cancel();
      held_.push_back({n, what, std::move(task)});
      if (held_.size() == 100) join_all();
    }
    join_all();
  }

  ends seen;

 private:
  struct held {
    std::uint64_t number;
    fate what;
    handle<std::uint64_t> task;
  };

  void join_all() {
    for (held& each : held_) {
      try {
        EXPECT_EQ(each.task.join(), each.number);
        EXPECT_TRUE(each.what == fate::returns || each.what == fate::yields_and_is_stopped);
        ++seen.returned;
      } catch (std::uint64_t thrown) {
        EXPECT_EQ(each.what, fate::fails);
        EXPECT_EQ(thrown, each.number);
        ++seen.failed;
      } catch (const std::system_error& error) {
        EXPECT_EQ(error.code(), make_error_code(errc::cancelled));
        EXPECT_GE(each.what, fate::waits_for_ever) << "nobody has asked it to stop";
        ++seen.cancelled;
      }
    }
    held_.clear();
  }

  runtime& in_;
  bodies& all_;
  xoshiro256ss random_;
  std::vector<held> held_;
};

TEST(SpawnStorm, EverySpawnFromOutsideEndsOnce) {
  constexpr int threads = 8;
  const std::uint64_t each =
      testing::storm_length{.usual = 200'000, .slow = 1'500, .long_run = 1'250'000, .long_slow = 1'250'000}
          .now();
  xoshiro256ss random(testing::test_seed());
  bodies all;
  ends seen;
  {
    runtime there({.workers = 4, .seed = random()});
    std::vector<spawner> spawners;
    for (int i = 0; i < threads; ++i) spawners.emplace_back(there, all, random.split());
    std::vector<std::thread> running;
    for (spawner& one : spawners) running.emplace_back([&one, each] { one.run(each); });
    for (std::thread& one : running) one.join();
    for (const spawner& one : spawners) {
      seen.dropped += one.seen.dropped;
      seen.returned += one.seen.returned;
      seen.failed += one.seen.failed;
      seen.cancelled += one.seen.cancelled;
    }
    while (all.returned != seen.returned + seen.dropped) std::this_thread::yield();
    std::uint64_t ended = 0;
    // The last ones are counted when they have told their holders.
    while (ended < threads * each) {
      ended = 0;
      const runtime_statistics counts = there.statistics();
      for (const worker_statistics& one : counts.contexts.front().workers) ended += one.tasks;
      std::this_thread::yield();
    }
    EXPECT_EQ(ended, threads * each);
  }
  EXPECT_EQ(seen.dropped + seen.returned + seen.failed + seen.cancelled, threads * each);
  EXPECT_EQ(all.returned, seen.dropped + seen.returned) << "somebody ran twice, or did not";
  EXPECT_EQ(all.failed, seen.failed);
  EXPECT_LE(all.stopped, seen.cancelled) << "the others were stopped before they began";
  EXPECT_GT(seen.failed, 0U);
  EXPECT_GT(seen.cancelled, 0U);
}

}  // namespace
}  // namespace weft
