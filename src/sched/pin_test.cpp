// SPDX-License-Identifier: Apache-2.0

#include "base/rng.hpp"
#include "support/on_workers.hpp"
#include "support/scale.hpp"
#include "support/seed.hpp"

#include <weft/join.hpp>
#include <weft/nursery.hpp>
#include <weft/pin_guard.hpp>
#include <weft/runtime.hpp>
#include <weft/suspend.hpp>
#include <weft/this_fiber.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <gtest/gtest.h>
#include <optional>
#include <thread>
#include <vector>

namespace weft {
namespace {

using std::chrono_literals::operator""us;
using std::chrono_literals::operator""ms;

// Afresh each time: a compiler may keep what it has read over a switch.
[[gnu::noinline]] std::thread::id thread_here() {
  asm volatile("" ::: "memory");
  return std::this_thread::get_id();
}

class PinTest : public testing::on_workers {};
INSTANTIATE_TEST_SUITE_P(, PinTest, ::testing::Values(1U, 2U, 5U), testing::name_by_workers);

// Tasks that yield keep all workers busy, and those that have nothing to do come to rob.
struct crowd {
  std::atomic<bool> stop{false};
  void join_in(nursery& in, int count) {
    for (int i = 0; i < count; ++i)
      in.spawn([this] {
        while (!stop.load(std::memory_order_relaxed)) this_fiber::yield();
      });
  }
};

TEST_P(PinTest, StaysOverYields) {
  run([] {
    crowd others;
    nursery([&](nursery& in) {
      others.join_in(in, 8);
      const pin_guard here;
      const std::thread::id before = thread_here();
      for (int i = 0; i < 2'000; ++i) {
        this_fiber::yield();
        ASSERT_EQ(thread_here(), before);
      }
      others.stop = true;
    });
  });
}

TEST_P(PinTest, StaysOverSleeps) {
  run([] {
    crowd others;
    nursery([&](nursery& in) {
      const pin_guard here;
      const std::thread::id before = thread_here();
      for (int i = 0; i < 20; ++i) {  // with nothing else to do
        this_fiber::sleep_for(100us);
        ASSERT_EQ(thread_here(), before);
      }
      others.join_in(in, 8);
      for (int i = 0; i < 20; ++i) {
        this_fiber::sleep_for(100us);
        ASSERT_EQ(thread_here(), before);
      }
      others.stop = true;
    });
  });
}

TEST_P(PinTest, IsWokenByThreadsAndByOtherWorkers) {
  run([] {
    const pin_guard here;
    const std::thread::id before = thread_here();
    for (int i = 0; i < 50; ++i) {
      std::thread outside;
      suspend("pin", [&](const resumer& by) { outside = std::thread([by] { by.resume(); }); });
      EXPECT_EQ(thread_here(), before);
      outside.join();
      handle<void> inside;
      suspend("pin", [&](const resumer& by) { inside = spawn([by] { by.resume(); }); });
      EXPECT_EQ(thread_here(), before);
      inside.join();
      EXPECT_EQ(thread_here(), before);
    }
  });
}

TEST_P(PinTest, StaysOverJoinsWhoseSecondHalfIsStolen) {
  run([] {
    const pin_guard here;
    const std::thread::id before = thread_here();
    for (int i = 0; i < 200; ++i) {
      std::atomic<bool> taken{false};
      join(
          [&] {
            for (int tries = 0; tries < 200 && !taken; ++tries) this_fiber::yield();
          },
          [&] {
            taken = true;
            this_fiber::yield();
          });
      ASSERT_EQ(thread_here(), before);
    }
  });
}

TEST_P(PinTest, EndsWithTheOutermostGuard) {
  run([] {
    std::atomic<bool> is_wandering{false};
    crowd others;
    nursery([&](nursery& in) {
      others.join_in(in, 4);
      {
        const pin_guard outer;
        { const pin_guard inner; }
        const std::thread::id before = thread_here();
        for (int i = 0; i < 500; ++i) {
          this_fiber::yield();
          EXPECT_EQ(thread_here(), before);
        }
      }
      others.stop = true;
      // Free again: woken by somebody who runs elsewhere, it goes on there.
      const std::thread::id before = thread_here();
      for (int i = 0; i < 100'000 && GetParam() > 1 && !is_wandering; ++i) {
        handle<void> waker;
        suspend("pin", [&](const resumer& by) {
          waker = spawn([by, before] {
            for (int tries = 0; tries < 1'000 && thread_here() == before; ++tries) this_fiber::yield();
            by.resume();
          });
        });
        if (thread_here() != before) is_wandering = true;
        waker.join();
      }
    });
    EXPECT_TRUE(is_wandering || GetParam() == 1);
  });
}

TEST_P(PinTest, WhatItSpawnsIsFree) {
  run([] {
    const pin_guard here;
    auto child = spawn([] {
      const pin_guard own;  // of its own task
      this_fiber::yield();
    });
    child.join();
  });
}

TEST_P(PinTest, IsCancelledWhileItWaits) {
  run([] {
    std::atomic<bool> waits{false};
    auto pinned = spawn([&] {
      const pin_guard here;
      const std::thread::id before = thread_here();
      try {
        waits = true;
        suspend("pin", [](const resumer&) {});
      } catch (const cancelled&) {
        EXPECT_EQ(thread_here(), before);
        throw;
      }
    });
    while (!waits) this_fiber::yield();
    pinned.request_cancel();
    EXPECT_THROW(pinned.join(), std::system_error);
  });
}

TEST_P(PinTest, HasItsTurnBesideUrgentOnesAndLetsOthersHaveTheirs) {
  run([] {
    std::atomic<bool> stop{false};
    std::atomic<std::uint64_t> urgent_turns{0};
    std::atomic<std::uint64_t> pinned_turns{0};
    std::atomic<std::uint64_t> usual_turns{0};
    const auto turn_until_stop = [&stop](std::atomic<std::uint64_t>& turns) {
      while (!stop) {
        ++turns;
        this_fiber::yield();
      }
    };
    nursery([&](nursery& in) {
      in.spawn(spawn_options{.priority = priority::high}, [&] { turn_until_stop(urgent_turns); });
      in.spawn([&] {
        const pin_guard here;
        turn_until_stop(pinned_turns);
      });
      in.spawn([&] { turn_until_stop(usual_turns); });
      while (urgent_turns < 100 || pinned_turns < 100 || usual_turns < 100) this_fiber::yield();
      stop = true;
    });
  });
}

// The stack is nearly used up, so that the first half of a join runs on another one.
[[gnu::noinline]] void pin_on_another_stack(const char* top) {
  constexpr std::ptrdiff_t deep = std::ptrdiff_t{236} << 10U;
  volatile char frame[512];
  frame[0] = 1;
  if (top - const_cast<const char*>(frame) < deep) {
    pin_on_another_stack(top);
  } else {
    std::optional<pin_guard> pin;
    join([&] { pin.emplace(); }, [] {});
    const std::thread::id before = thread_here();
    this_fiber::sleep_for(1us);
    EXPECT_EQ(thread_here(), before);
  }
  frame[1] = 1;
}
TEST_P(PinTest, OutlivesTheStackItWasMadeOn) {
  run([] { pin_on_another_stack(static_cast<const char*>(__builtin_frame_address(0))); });
}

TEST(Pin, DoesNothingOnAThread) {
  const pin_guard outer;
  const pin_guard inner;
}

// Many pinned and free ones, woken from everywhere, while workers fall asleep all the time.
TEST(PinStorm, EverybodyComesBackWhereItWas) {
  const std::uint64_t rounds = testing::storm_length{.usual = 3'000, .slow = 150, .long_run = 300'000}.now();
  impl::xoshiro256ss random(testing::test_seed());
  weft::run(
      [&] {
        nursery([&](nursery& in) {
          for (int i = 0; i < 6; ++i) {
            in.spawn([&, mine = random.split()]() mutable {
              for (std::uint64_t round = 0; round < rounds; ++round) {
                const pin_guard here;
                const std::thread::id before = thread_here();
                switch (mine.below(4)) {
                  case 0: this_fiber::yield(); break;
                  case 1: this_fiber::sleep_for(std::chrono::microseconds(mine.below(30))); break;
                  case 2: {
                    handle<void> waker;
                    suspend("storm", [&](const resumer& by) { waker = spawn([by] { by.resume(); }); });
                    waker.join();
                    break;
                  }
                  default: join([] { this_fiber::yield(); }, [] { this_fiber::yield(); });
                }
                ASSERT_EQ(thread_here(), before);
              }
            });
          }
        });
      },
      {.workers = 4, .seed = testing::test_seed()});
}

}  // namespace
}  // namespace weft
