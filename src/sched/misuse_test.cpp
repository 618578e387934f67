// SPDX-License-Identifier: Apache-2.0
//
// What nobody should do, and what they are told then.

#include "support/on_workers.hpp"

#include <weft/runtime.hpp>
#include <weft/suspend.hpp>
#include <weft/this_fiber.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <gtest/gtest.h>
#include <memory>
#include <mutex>
#include <new>
#include <stdexcept>
#include <string>
#include <vector>

namespace weft {
namespace {

using namespace std::chrono_literals;

TEST(MisuseDeathTest, ATaskThatJoinsItself) {
  const auto joins_itself = [] {
    run([] {
      handle<void> self;
      std::atomic<bool> is_there{false};
      self = spawn({.name = "narcissus"}, [&] {
        while (!is_there) this_fiber::yield();
        self.join();
      });
      is_there = true;
      suspend("the end of the process", [](const resumer&) {});
    });
  };
  EXPECT_DEATH(joins_itself(),
               "a task joins itself, and would wait for ever .*in task [0-9]+ 'narcissus' .spawned at "
               ".*misuse_test.cpp:[0-9]+");
}

TEST(MisuseDeathTest, AHandleThatOutlivesItsRuntime) {
  const auto outlives = [] {
    handle<int> kept;
    {
      runtime one({.workers = 1});
      kept = one.spawn({.name = "orphan"}, [] { return 1; });
    }
  };
  EXPECT_DEATH(
      outlives(),
      "a runtime was destroyed before the handle of task [0-9]+ 'orphan' .spawned at .*misuse_test.cpp");
  EXPECT_DEATH((void)run([] { return spawn([] { return 1; }); }),
               "a runtime was destroyed before the handle of task");
}

TEST(MisuseDeathTest, AWaitWhereAWaitIsPublished) {
  const auto waits = [] {
    run([] { suspend("two things", [](const resumer&) { this_fiber::sleep_for(1ms); }); });
  };
  EXPECT_DEATH(waits(), "a task waits although .* in the function that it gives to suspend");
}

TEST(Misuse, AFunctionThatPublishesMayThrow) {
  run([] {
    EXPECT_THROW(suspend("nothing", [](const resumer&) { throw std::runtime_error("no"); }),
                 std::runtime_error);
    this_fiber::sleep_for(1ms);  // it may wait again
  });
}

TEST(Misuse, APriorityThatIsNone) {
  run([] {
    const auto spawn_it = [] { (void)spawn({.priority = static_cast<priority>(77)}, [] {}); };
    try {
      spawn_it();
      ADD_FAILURE() << "it was spawned";
    } catch (const std::invalid_argument& error) {
      EXPECT_STREQ(error.what(), "spawn_options::priority is 77; there are normal (0), high (1) and low (2)");
    }
  });
}

TEST(Misuse, OptionsThatAreNone) {
  const auto said_of = [](const runtime_options& how) -> std::string {
    try {
      const runtime made(how);
    } catch (const std::invalid_argument& error) {
      return error.what();
    }
    return "nothing";
  };
  EXPECT_EQ(said_of({.victims = static_cast<victim_order>(9)}),
            "runtime_options::victims is 9; its enumerators are numbered from 0 to 2");
  EXPECT_EQ(said_of({.fresh = static_cast<placement>(9)}),
            "runtime_options::fresh is 9; its enumerators are numbered from 0 to 2");
  EXPECT_EQ(said_of({.runs_on = static_cast<runs_on>(9)}),
            "runtime_options::runs_on is 9; its enumerators are numbered from 0 to 1");
  EXPECT_EQ(said_of({.at_end = static_cast<leftovers>(9)}),
            "runtime_options::at_end is 9; its enumerators are numbered from 0 to 1");
  EXPECT_EQ(said_of({.on_overflow = static_cast<overflow>(9)}),
            "runtime_options::on_overflow is 9; its enumerators are numbered from 0 to 1");
}

// -- What may be done ----------------------------------------------------------------------------------------------------------

class SpawnTest : public testing::on_workers {};
INSTANTIATE_TEST_SUITE_P(, SpawnTest, ::testing::Values(1U, 2U), testing::name_by_workers);

// Its children may need what it holds.
TEST_P(SpawnTest, NeverWaits) {
  static constexpr std::uint32_t count = 5'000;
  run([] {
    std::mutex held;
    std::uint32_t ran = 0;
    std::vector<handle<void>> children;
    {
      const std::scoped_lock hold(held);
      for (std::uint32_t i = 0; i < count; ++i) {
        children.push_back(spawn([&] {
          const std::scoped_lock mine(held);
          ++ran;
        }));
      }
    }
    for (auto& each : children) each.join();
    EXPECT_EQ(ran, count);
  });
}

/// Cannot be moved, only copied; and the copy fails.
struct uncopyable_result {
  uncopyable_result() = default;
  uncopyable_result(const uncopyable_result&) { throw std::bad_alloc(); }
  uncopyable_result& operator=(const uncopyable_result&) = delete;
  ~uncopyable_result() = default;
};

TEST_P(SpawnTest, AClosureIsDestroyedOnceWhereItsResultCannotBeMoved) {
  run([] {
    const auto shared = std::make_shared<int>(7);
    auto task = spawn([shared] { return uncopyable_result(); });
    EXPECT_THROW((void)task.join(), std::bad_alloc);
    EXPECT_EQ(shared.use_count(), 1);
  });
}

}  // namespace
}  // namespace weft
