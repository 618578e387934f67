// SPDX-License-Identifier: Apache-2.0

#include "sched/runtime_core.hpp"
#include "support/on_workers.hpp"
#include "support/scale.hpp"
#include "support/stack_user.hpp"

#include <weft/join.hpp>
#include <weft/nursery.hpp>
#include <weft/suspend.hpp>
#include <weft/this_fiber.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <gtest/gtest.h>
#include <memory>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

namespace weft {
namespace {

class NurseryTest : public testing::on_workers {};
INSTANTIATE_TEST_SUITE_P(, NurseryTest, ::testing::Values(1U, 2U, 5U), testing::name_by_workers);

void wait_for_ever() {
  suspend("for ever", [](const resumer&) {});
}

impl::stack_slot& slot_at(const char* frame) {
  const impl::stack_location where = impl::process_slabs.find(frame);
  WEFT_CHECK(where, "a task stands on a stack of weft's");
  return *where.slot;
}

TEST_P(NurseryTest, EndsAfterItsLastChild) {
  run([] {
    std::vector<int> squares(1000);
    nursery([&](nursery& n) {
      for (std::size_t i = 0; i < squares.size(); ++i)
        n.spawn([&squares, i] { squares[i] = static_cast<int>(i * i); });
    });
    for (std::size_t i = 0; i < squares.size(); ++i) EXPECT_EQ(squares[i], static_cast<int>(i * i));
  });
}

// [squares]
std::vector<int> squares_of(const std::vector<int>& numbers) {
  std::vector<int> squares(numbers.size());
  weft::nursery([&](weft::nursery& n) {
    for (std::size_t i = 0; i < numbers.size(); ++i)
      n.spawn([&, i] { squares[i] = numbers[i] * numbers[i]; });
  });
  return squares;  // here all of them have ended
}
// [squares]
TEST_P(NurseryTest, TheGuidesExample) {
  EXPECT_EQ(run([] { return squares_of({1, 2, 3}); }), (std::vector<int>{1, 4, 9}));
}

// [P3] Stacks of their own have been given back; on all others no task stands any more.
TEST_P(NurseryTest, TheStacksOfItsChildrenAreFreeWhenItEnds) {
  run([] {
    for (int round = 0; round < 20; ++round) {
      std::array<const char*, 10> own{};
      std::array<const char*, 10> usual{};
      nursery([&](nursery& n) {
        for (std::size_t i = 0; i < own.size(); ++i) {
          n.spawn({.stack_bytes = 32 * 1024}, [&own, i] {
            own[i] = testing::stack_here();
            this_fiber::yield();
          });
          n.spawn([&usual, i] {
            usual[i] = testing::stack_here();
            this_fiber::yield();
          });
        }
      });
      for (const char* const each : own) EXPECT_EQ(slot_at(each).owner.load(), nullptr);
      for (const char* const each : usual) EXPECT_EQ(impl::fiber::of(slot_at(each)).running, nullptr);
    }
  });
}

TEST_P(NurseryTest, AnEmptyOneEnds) {
  run([] { nursery([](nursery&) {}); });
}

// More than may wait on a worker before whoever spawns them gives way.
TEST_P(NurseryTest, HasRoomForVeryManyChildren) {
  constexpr std::uint64_t children = testing::scaled(100'000U, 10'000U);
  std::atomic<std::uint64_t> sum{0};
  run([&sum] {
    nursery([&sum](nursery& n) {
      for (std::uint64_t i = 1; i <= children; ++i) {
        n.spawn([&sum, i] { sum.fetch_add(i, std::memory_order_relaxed); });
      }
    });
    EXPECT_EQ(sum.load(), children * (children + 1) / 2);
  });
}

TEST_P(NurseryTest, ChildrenMayWaitAndMove) {
  run([] {
    std::atomic<int> ended{0};
    nursery([&ended](nursery& n) {
      for (int i = 0; i < 200; ++i) {
        n.spawn([&ended] {
          for (int turn = 0; turn < 10; ++turn) this_fiber::yield();
          ended.fetch_add(1);
        });
      }
    });
    EXPECT_EQ(ended.load(), 200);
  });
}

void grow(nursery& n, std::atomic<int>& count, int depth) {
  count.fetch_add(1);
  if (depth == 0) return;
  for (int i = 0; i < 2; ++i) n.spawn([&n, &count, depth] { grow(n, count, depth - 1); });
}
TEST_P(NurseryTest, ChildrenMayBeginOthers) {
  run([] {
    std::atomic<int> count{0};
    nursery([&count](nursery& n) { grow(n, count, 10); });
    EXPECT_EQ(count.load(), (1 << 11) - 1);
  });
}

TEST_P(NurseryTest, NurseriesInNurseriesAndJoins) {
  run([] {
    std::atomic<int> count{0};
    const auto many = [&count] {
      nursery([&count](nursery& n) {
        for (int i = 0; i < 20; ++i) n.spawn([&count] { count.fetch_add(1); });
      });
    };
    nursery([&many](nursery& n) {
      for (int i = 0; i < 20; ++i) n.spawn([&many] { join(many, many); });
    });
    EXPECT_EQ(count.load(), 20 * 2 * 20);
  });
}

// -- Failure ------------------------------------------------------------------------------------------------------------

TEST_P(NurseryTest, AFailureStopsTheOthersAndIsRethrown) {
  run([] {
    std::atomic<int> unwound{0};
    struct at_unwinding {
      std::atomic<int>& count;
      ~at_unwinding() { count.fetch_add(1); }
    };
    try {
      nursery([&unwound](nursery& n) {
        for (int i = 0; i < 10; ++i) {
          n.spawn([&unwound] {
            const at_unwinding mine{unwound};
            wait_for_ever();
          });
        }
        this_fiber::yield();
        n.spawn([] { throw std::out_of_range("a child"); });
      });
      ADD_FAILURE() << "the failure was lost";
    } catch (const std::out_of_range& error) {
      EXPECT_STREQ(error.what(), "a child");
    }
    EXPECT_LE(unwound.load(), 10);  // those that had begun
  });
}

TEST_P(NurseryTest, WhenManyFailOneIsRethrown) {
  run([] {
    EXPECT_THROW(nursery([](nursery& n) {
                   for (int i = 0; i < 100; ++i) n.spawn([] { throw std::length_error("one of many"); });
                 }),
                 std::length_error);
  });
}

TEST_P(NurseryTest, ABodyThatThrowsStopsTheChildrenAndWaitsForThem) {
  run([] {
    std::atomic<bool> begun{false};
    std::atomic<bool> ended{false};
    const auto body = [&](nursery& n) {
      n.spawn([&] {
        begun = true;
        try {
          wait_for_ever();
        } catch (const cancelled&) {
          ended = true;
          throw;
        }
      });
      while (!begun) this_fiber::yield();
      throw std::domain_error("the body");
    };
    EXPECT_THROW(nursery{body}, std::domain_error);
    EXPECT_TRUE(ended);
  });
}

// -- Cancellation ---------------------------------------------------------------------------------------------------------

TEST_P(NurseryTest, WhoeverIsCancelledInANurseryStopsItsChildrenAndWaits) {
  run([] {
    std::atomic<int> waiting{0};
    std::atomic<int> stopped{0};
    auto owner = spawn([&] {
      nursery([&](nursery& n) {
        for (int i = 0; i < 5; ++i) {
          n.spawn([&] {
            waiting.fetch_add(1);
            try {
              wait_for_ever();
            } catch (const cancelled&) {
              stopped.fetch_add(1);
              throw;
            }
          });
        }
      });
      ADD_FAILURE() << "it was not cancelled";
    });
    while (waiting.load() != 5) this_fiber::yield();
    owner.request_cancel();
    EXPECT_THROW(owner.join(), std::system_error);
    EXPECT_EQ(stopped.load(), 5);
  });
}

TEST_P(NurseryTest, CancelledByHandItEndsWithoutAnError) {
  run([] {
    std::atomic<int> ran{0};
    nursery([&ran](nursery& n) {
      for (int i = 0; i < 5; ++i) n.spawn([] { wait_for_ever(); });
      this_fiber::yield();
      n.request_cancel();
      n.spawn([&ran] { ran.fetch_add(1); });  // comes too late
    });
    EXPECT_EQ(ran.load(), 0);
  });
}

// Only children are stopped: tasks whose records lie among theirs, or lay there before, go on.
TEST_P(NurseryTest, OthersAreNotDisturbed) {
  run([] {
    for (int round = 0; round < 20; ++round) {
      std::atomic<resumer*> by{nullptr};
      resumer mine;
      auto other = spawn([&] {
        suspend("until told", [&](resumer r) {
          mine = r;
          by.store(&mine, std::memory_order_release);
        });
        return 7;
      });
      nursery([](nursery& n) {
        for (int i = 0; i < 50; ++i) n.spawn([] { wait_for_ever(); });
        this_fiber::yield();
        n.request_cancel();
      });
      while (by.load(std::memory_order_acquire) == nullptr) this_fiber::yield();
      EXPECT_TRUE(mine.resume());
      EXPECT_EQ(other.join(), 7);
    }
  });
}

TEST_P(NurseryTest, EndsWithItsRuntime) {
  EXPECT_THROW(run([] {
                 spawn([] { nursery([](nursery& n) { n.spawn(&wait_for_ever); }); }).detach();
                 this_fiber::yield();
                 throw std::runtime_error("main");
               }),
               std::runtime_error);
}

// -- Elsewhere --------------------------------------------------------------------------------------------------------------

TEST_P(NurseryTest, APlainThreadMayOpenOneInARuntime) {
  runtime one({.workers = GetParam()});
  std::atomic<int> count{0};
  nursery(one, [&count](nursery& n) {
    for (int i = 0; i < 1000; ++i) n.spawn([&count] { count.fetch_add(1); });
  });
  EXPECT_EQ(count.load(), 1000);
}

TEST_P(NurseryTest, LeavesNoClosureBehind) {
  const auto counted = std::make_shared<int>(0);
  run([&counted] {
    nursery([&counted](nursery& n) {
      for (int i = 0; i < 100; ++i) {
        n.spawn([counted, large = std::string(200, 'x')] { return std::make_shared<std::string>(large); });
      }
    });
  });
  EXPECT_EQ(counted.use_count(), 1);
}

// -- Those who come late --------------------------------------------------------------------------------------------------------

/// Somebody who has found a task waiting for the end of another may wake it later, when it waits for something else.
class LateWakerTest : public ::testing::Test {
 protected:
  static constexpr int rounds = 10;

  /// Wakes the task again and again while `body(wait_for_guest)` runs in it, as a late finisher would. A task that is to be
  /// waited for calls wait_for_guest(), and so goes on for as long as the guest needs.
  template <class Body>
  static void disturb(Body&& body) {
    runtime one({.workers = 2});
    std::atomic<impl::task*> target{nullptr};
    std::atomic<int> visits{0};
    std::atomic<bool> over{false};
    std::thread guest([&] {
      while (!over.load()) {
        if (impl::task* const found = target.load()) impl::pool::wake_joiner(*found);
        visits.fetch_add(1);
        std::this_thread::yield();
      }
    });
    const auto wait_for_guest = [&visits] {
      constexpr int several = 20;
      for (const int before = visits.load(); visits.load() - before < several;) this_fiber::yield();
    };
    one.spawn([&] {
         target = impl::current_task();
         for (int i = 0; i < rounds; ++i) body(wait_for_guest);
         target = nullptr;
       })
        .join();
    over = true;
    guest.join();
  }
};

TEST_F(LateWakerTest, DoesNotEndAWaitForATask) {
  disturb([](const auto& wait_for_guest) {
    std::atomic<bool> ended{false};
    auto child = spawn([&] {
      wait_for_guest();
      ended = true;
      return 5;
    });
    EXPECT_EQ(child.join(), 5);
    EXPECT_TRUE(ended);
  });
}

TEST_F(LateWakerTest, DoesNotEndAJoin) {
  disturb([](const auto& wait_for_guest) {
    std::atomic<bool> taken{false};
    bool ended = false;
    join(
        [&taken] {
          while (!taken) this_fiber::yield();
        },
        [&] {
          taken = true;
          wait_for_guest();
          ended = true;
        });
    EXPECT_TRUE(ended);
  });
}

TEST_F(LateWakerTest, DoesNotEndANursery) {
  disturb([](const auto& wait_for_guest) {
    std::atomic<int> ended{0};
    nursery([&](nursery& n) {
      for (int child = 0; child < 3; ++child) {
        n.spawn([&] {
          wait_for_guest();
          ended.fetch_add(1);
        });
      }
    });
    EXPECT_EQ(ended.load(), 3);
  });
}

}  // namespace
}  // namespace weft
