// SPDX-License-Identifier: Apache-2.0

#include "support/on_workers.hpp"

#include <weft/runtime.hpp>
#include <weft/suspend.hpp>
#include <weft/this_fiber.hpp>

#include <array>
#include <atomic>
#include <functional>
#include <gtest/gtest.h>
#include <stdexcept>
#include <system_error>
#include <thread>
#include <vector>

namespace weft {
namespace {

/// Every test with one worker, where all is in turn, and with more than there are processors.
class SuspendTest : public testing::on_workers {};
INSTANTIATE_TEST_SUITE_P(, SuspendTest, ::testing::Values(1U, 2U, 5U), testing::name_by_workers);

void suspend_for_ever() {
  suspend("for ever", [](const resumer&) {});
}

// -- suspend and resume -------------------------------------------------------------------------------------------------

TEST_P(SuspendTest, OneResumptionOfManyIsTheOne) {
  run([] {
    for (int round = 0; round < 200; ++round) {
      resumer by;
      std::atomic<bool> published{false};
      auto waits = spawn([&] {
        suspend("test", [&](const resumer& mine) {
          by = mine;
          published = true;
        });
      });
      while (!published) this_fiber::yield();
      std::vector<handle<bool>> wakers;
      for (int i = 0; i < 4; ++i) wakers.push_back(spawn([&by] { return by.resume(); }));
      int woken = 0;
      for (auto& each : wakers) woken += each.join() ? 1 : 0;
      EXPECT_EQ(woken, 1);
      waits.join();
      EXPECT_FALSE(by.resume()) << "a resumer is good once";
    }
  });
}
TEST_P(SuspendTest, APlainThreadResumes) {
  resumer by;
  std::atomic<bool> published{false};
  std::thread waker([&] {
    while (!published) std::this_thread::yield();
    EXPECT_TRUE(by.resume());
  });
  run([&] {
    suspend("test", [&](const resumer& mine) {
      by = mine;
      published = true;
    });
  });
  waker.join();
}
TEST_P(SuspendTest, AResumptionMayComeBeforeTheTaskHasLeft) {
  run([] {
    for (int i = 0; i < 1000; ++i) suspend("test", [](const resumer& mine) { EXPECT_TRUE(mine.resume()); });
  });
}
TEST_P(SuspendTest, ASuspensionThatIsNotPublishedIsNone) {
  run([] {
    EXPECT_THROW(suspend("test", [](const resumer&) { throw std::logic_error("no room"); }),
                 std::logic_error);
    this_fiber::yield();
  });
}
TEST(SuspendDeathTest, APlainThreadCannotBeSuspended) {
  EXPECT_DEATH(suspend_for_ever(), "only a task can be suspended, not a plain thread");
}

// -- taking turns -------------------------------------------------------------------------------------------------------

TEST_P(SuspendTest, WhoYieldsDoesNotKeepFreshTasksWaiting) {
  run([] {
    std::atomic<bool> ran{false};
    std::vector<handle<void>> yielding;
    for (int i = 0; i < 10; ++i) {
      yielding.push_back(spawn([&] {
        while (!ran) this_fiber::yield();
      }));
    }
    spawn([&] { ran = true; }).detach();
    for (auto& each : yielding) each.join();
  });
}
TEST_P(SuspendTest, TasksThatSpawnDoNotKeepTheOldestWaiting) {
  run([] {
    std::atomic<bool> ran{false};
    auto oldest = spawn([&] { ran = true; });
    const auto chain = [&](const auto& self) -> void {
      if (!ran) spawn([&] { self(self); }).join();
    };
    chain(chain);
    oldest.join();
  });
}
TEST_P(SuspendTest, ExceptionsTravelWithTheirTask) {
  run([] {
    std::vector<handle<void>> tasks;
    for (int i = 0; i < 50; ++i) {
      tasks.push_back(spawn([i] {
        try {
          throw i;
        } catch (int) {
          for (int n = 0; n < 20; ++n) this_fiber::yield();
          try {
            throw;
          } catch (int mine) {
            EXPECT_EQ(mine, i);
          }
        }
        EXPECT_EQ(std::uncaught_exceptions(), 0);
      }));
    }
    for (auto& each : tasks) each.join();
  });
}

}  // namespace
}  // namespace weft

// -- the example of the guide -------------------------------------------------------------------------------------------

namespace {

// [own-wait]
/// Waits until a thread of its own has computed something.
long compute_on_a_thread(const std::function<long()>& compute) {
  long answer = 0;
  std::jthread worker;  // joined in any case: a task that is asked to stop leaves by an exception
  weft::suspend("a thread of its own", [&](const weft::resumer& by) {
    worker = std::jthread([&answer, &compute, by] {
      answer = compute();
      by.resume();  // what was done before is visible to the task
    });
  });
  return answer;
}
// [own-wait]

TEST(SuspendGuideTest, AWaitOfOnesOwnEnds) {
  EXPECT_EQ(weft::run([] { return compute_on_a_thread([] { return 42L; }); }), 42);
}
TEST(SuspendGuideTest, AWaitOfOnesOwnIsCancelled) {
  weft::runtime one({.workers = 2});
  std::atomic<bool> is_asked{false};
  auto waits = one.spawn([&is_asked] {
    return compute_on_a_thread([&is_asked] {
      while (!is_asked) std::this_thread::yield();
      return 42L;
    });
  });
  while (waits.state() != weft::task_state::blocked) std::this_thread::yield();
  waits.request_cancel();
  is_asked = true;
  try {
    ADD_FAILURE() << waits.join();
  } catch (const std::system_error& error) {
    EXPECT_EQ(error.code(), make_error_code(weft::errc::cancelled));
  }
}

}  // namespace
