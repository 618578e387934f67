// SPDX-License-Identifier: Apache-2.0
//
// Execution contexts that are resized while threads spawn into them and tasks go from one to another; and contexts that come and go.
// Whatever was begun ends, once.

#include "base/rng.hpp"
#include "support/scale.hpp"
#include "support/seed.hpp"

#include <weft/custom_context.hpp>
#include <weft/execution_context.hpp>
#include <weft/join.hpp>
#include <weft/nursery.hpp>
#include <weft/runtime.hpp>
#include <weft/this_fiber.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <gtest/gtest.h>
#include <iostream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace weft {
namespace {

using impl::xoshiro256ss;
using std::chrono::microseconds;

// -- Resizing -----------------------------------------------------------------------------------------------------------------

class passing_context final : public wrapping_context {
 public:
  explicit passing_context(execution_context& inner)
      : wrapping_context("passing", inner, {.at_end = leftovers::awaited}) {}
  passing_context(const passing_context&) = delete;
  passing_context& operator=(const passing_context&) = delete;
  ~passing_context() override { end(); }
};

/// Several contexts of one runtime, and tasks that are at home in all of them.
class town {
 public:
  explicit town(std::uint64_t seed) : in_({.workers = {1, 4}, .seed = seed, .at_end = leftovers::awaited}) {}

  void spawn_into_any(xoshiro256ss& random, int depth) {
    begun_.fetch_add(1, std::memory_order_relaxed);
    any(random).spawn([this, mine = random.split(), depth]() mutable { live(mine, depth); }).detach();
  }
  /// One of the two that can be is resized.
  void resize_any(xoshiro256ss& random) {
    const std::uint32_t most = 1 + random.below(8);
    (random.below(2) == 0 ? large_ : small_).resize({random.below(most) + 1, most});
  }

  [[nodiscard]] std::uint64_t begun() const { return begun_.load(); }
  [[nodiscard]] std::uint64_t ended() const { return ended_.load(); }
  [[nodiscard]] std::uint64_t moves() const { return moves_.load(); }

 private:
  execution_context& any(xoshiro256ss& random) {
    const std::array<execution_context*, 4> all{&large_, &small_, &turns_, &around_};
    return *all[random.below(all.size())];
  }

  void live(xoshiro256ss& random, int depth) {
    for (std::uint32_t steps = random.below(4); steps != 0; --steps) {
      switch (random.below(6)) {
        case 0: this_fiber::yield(); break;
        case 1: this_fiber::sleep_for(microseconds(random.below(50))); break;
        case 2: {
          execution_context& there = any(random);
          move_to(there);
          EXPECT_EQ(execution_context::current(), &there);
          moves_.fetch_add(1, std::memory_order_relaxed);
          break;
        }
        case 3:
          if (depth > 0) spawn_into_any(random, depth - 1);
          break;
        case 4: {
          const auto [a, b] = join(
              [] {
                this_fiber::yield();
                return 1;
              },
              [] { return 2; });
          EXPECT_EQ(a + b, 3);
          break;
        }
        default:
          nursery([&random](nursery& n) {
            for (std::uint32_t i = random.below(3); i != 0; --i) n.spawn([] { this_fiber::yield(); });
          });
      }
    }
    ended_.fetch_add(1, std::memory_order_relaxed);
  }

  std::atomic<std::uint64_t> begun_{0};
  std::atomic<std::uint64_t> ended_{0};
  std::atomic<std::uint64_t> moves_{0};
  runtime in_;
  parallel_context large_{in_, "large", {.workers = {1, 8}, .at_end = leftovers::awaited}};
  parallel_context small_{
      in_, "small", {.workers = 2, .fresh = placement::round_robin, .at_end = leftovers::awaited}};
  concurrent_context turns_{in_, "turns", {.at_end = leftovers::awaited}};
  passing_context around_{large_};
};

TEST(ContextStorm, ResizingLosesNobody) {
  constexpr int threads = 8;
  const std::uint64_t tasks =
      testing::storm_length{.usual = 50'000, .slow = 2'000, .long_run = 1'000'000, .long_slow = 100'000}
          .now();
  xoshiro256ss random(testing::test_seed());
  auto all = std::make_unique<town>(random());
  std::atomic<bool> stop{false};
  std::uint64_t resizes = 0;
  std::thread resizer([&, mine = random.split()]() mutable {
    for (; !stop.load(); ++resizes) {
      all->resize_any(mine);
      if (mine.below(4) == 0) std::this_thread::sleep_for(microseconds(mine.below(300)));
    }
  });
  std::vector<std::thread> spawners;
  for (int i = 0; i < threads; ++i)
    spawners.emplace_back([&, mine = random.split()]() mutable {
      for (std::uint64_t n = 0; n < tasks / threads; ++n) {
        all->spawn_into_any(mine, 2);
        if (n % 64 == 0) std::this_thread::yield();
      }
    });
  for (std::thread& each : spawners) each.join();
  while (all->ended() != all->begun()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  stop.store(true);
  resizer.join();
  std::cout << all->begun() << " tasks, which went elsewhere " << all->moves() << " times; resized "
            << resizes << " times\n";
  EXPECT_EQ(all->ended(), all->begun());
  EXPECT_GT(resizes, 0U);
  EXPECT_GT(all->moves(), 0U);
}

// -- Coming and going -----------------------------------------------------------------------------------------------------------

TEST(ContextStorm, ContextsComeAndGo) {
  const std::uint64_t rounds =
      testing::storm_length{.usual = 2'000, .slow = 200, .long_run = 10'000, .long_slow = 10'000}.now();
  xoshiro256ss random(testing::test_seed());
  std::atomic<std::uint64_t> ended{0};
  std::uint64_t begun = 0;
  runtime in({.workers = 2, .seed = random()});
  const auto live = [&ended](std::uint32_t kind) {
    if (kind == 0) this_fiber::yield();
    if (kind == 1) this_fiber::sleep_for(microseconds(20));
    ended.fetch_add(1);
  };
  const auto use = [&](execution_context& one) {
    for (std::uint32_t n = random.below(5); n != 0; --n, ++begun)
      one.spawn([&live, kind = random.below(3)] { live(kind); }).detach();
  };
  for (std::uint64_t round = 0; round < rounds; ++round) {
    switch (random.below(4)) {
      case 0: {
        const std::uint32_t most = 1 + random.below(4);
        parallel_context one(in, "parallel", {.workers = {1, most}, .at_end = leftovers::awaited});
        use(one);
        if (random.below(2) == 0) one.resize(1 + random.below(4));
        break;
      }
      case 1: {
        concurrent_context one(in, "concurrent", {.at_end = leftovers::awaited});
        use(one);
        break;
      }
      case 2: {
        ++begun;
        isolated_context one(in, "isolated", [&] { live(random.below(3)); });
        one.join();
        break;
      }
      default: {
        parallel_context inner(in, "inner", {.workers = 1, .at_end = leftovers::awaited});
        passing_context outer(inner);
        use(outer);
      }
    }
  }
  EXPECT_EQ(ended.load(), begun);
}

}  // namespace
}  // namespace weft
