// SPDX-License-Identifier: Apache-2.0

#include "support/child.hpp"
#include "support/emulation.hpp"
#include "support/sleeping_workers.hpp"

#include <weft/custom_context.hpp>
#include <weft/nursery.hpp>
#include <weft/runtime.hpp>
#include <weft/suspend.hpp>
#include <weft/this_fiber.hpp>

#include <atomic>
#include <chrono>
#include <csignal>
#include <deque>
#include <gtest/gtest.h>
#include <memory>
#include <sys/wait.h>
#include <system_error>
#include <thread>
#include <unistd.h>
#include <utility>

namespace weft {
namespace {

using testing::child_outcome;

/// How the child of a fork ended in which the function ran; it exits with what that returned. Workers that are new have settled
/// by then: AddressSanitizer's heap is of no use in a child if somebody was just at it.
template <class F>
child_outcome outcome_in_child(F&& in_child) {
  return testing::run_in_child([&] {
    ::alarm(30);  // a child that hangs is a failure, not a test that never ends
    ::_exit(in_child());
  });
}

/// Whether the function fails as it should in a forked child.
template <class F>
bool is_refused(F&& function) {
  try {
    function();
  } catch (const std::system_error& error) {
    return error.code() == make_error_code(errc::forked);
  }
  return false;
}

TEST(Fork, InTheChildARuntimeRefusesAndGoesInPeace) {
  auto one = std::make_unique<runtime>(runtime_options{.workers = 2});
  testing::await_sleep(*one);
  std::atomic<bool> stop{false};
  std::atomic<int> turns{0};
  auto busy = one->spawn([&] {
    for (; !stop; ++turns) this_fiber::yield();
    return 4;
  });
  while (turns < 100) std::this_thread::yield();
  const child_outcome outcome = outcome_in_child([&] {
    if (!is_refused([&] { (void)one->spawn([] {}); })) return 1;
    if (!is_refused([&] { (void)busy.join(); })) return 2;
    if (!is_refused([&] { nursery(*one, [](nursery& n) { n.spawn([] {}); }); })) return 3;
    if (!is_refused([&] { (void)one->shutdown(std::chrono::seconds(1)); })) return 4;
    if (!is_refused([&] { (void)one->statistics(); })) return 6;
    if (!is_refused([&] { (void)one->stack_uses(); })) return 7;
    one->request_cancel();
    one.reset();  // waits for nobody
    if (!testing::threads_after_fork) return 0;
    // And one of its own works.
    return weft::run([] { return spawn([] { return 6; }).join(); }, {.workers = 2}) == 6 ? 0 : 5;
  });
  EXPECT_TRUE(outcome.exited_with(0)) << outcome.status << outcome.said;
  stop = true;
  EXPECT_EQ(busy.join(), 4) << "the parent is unharmed";
  EXPECT_EQ(one->spawn([] { return 5; }).join(), 5);
}

TEST(Fork, TheChildLeavesANurseryOfTheParents) {
  runtime one({.workers = 2});
  resumer by;
  std::atomic<bool> is_waiting{false};
  pid_t child = -1;
  const bool is_refused_here = is_refused([&] {
    nursery(one, [&](nursery& in) {
      in.spawn([&] {
        suspend("the test", [&](const resumer& mine) {
          by = mine;
          is_waiting = true;
        });
      });
      while (!is_waiting) std::this_thread::yield();
      testing::await_sleep(one);
      child = ::fork();
      if (child == 0) {
        ::alarm(30);
        in.request_cancel();  // whom it asks is not here
      } else {
        EXPECT_TRUE(by.resume());
      }
    });
  });
  if (child == 0) ::_exit(is_refused_here ? 0 : 1);
  EXPECT_FALSE(is_refused_here) << "the parent is unharmed";
  child_outcome outcome;
  EXPECT_EQ(::waitpid(child, &outcome.status, 0), child);
  EXPECT_TRUE(outcome.exited_with(0)) << outcome.status;
}

/// Keeps its tasks until it is told to run them.
class shelf final : public custom_context {
 public:
  explicit shelf(runtime& in) : custom_context(in, "shelf") {}
  shelf(const shelf&) = delete;
  shelf& operator=(const shelf&) = delete;
  ~shelf() override {
    close();
    while (!is_over()) run();
  }

  void run() {
    if (ready_.empty()) return;
    ready_task next = std::move(ready_.front());
    ready_.pop_front();
    here_.run(std::move(next));
  }

 private:
  void enqueue(ready_task ready) noexcept override { ready_.push_back(std::move(ready)); }

  std::deque<ready_task> ready_;
  runner here_{*this};
};

TEST(Fork, TheChildLeavesAContextOfTheParentsOwn) {
  runtime one({.workers = 1});
  auto mine = std::make_unique<shelf>(one);
  bool has_run = false;
  handle<void> waits = mine->spawn([&] { has_run = true; });
  testing::await_sleep(one);
  const child_outcome outcome = outcome_in_child([&] {
    mine.reset();  // with a task in it, and a runner
    return 0;
  });
  EXPECT_TRUE(outcome.exited_with(0)) << outcome.status << outcome.said;
  mine->run();
  waits.join();
  EXPECT_TRUE(has_run) << "the parent is unharmed";
}

TEST(Fork, ATaskMayForkAndExecute) {
  runtime one({.workers = 2});
  one.spawn([&one] {
       testing::await_sleep(one, 1);
       const child_outcome outcome = outcome_in_child([] {
         ::execl("/bin/true", "true", nullptr);
         return 1;
       });
       EXPECT_TRUE(outcome.exited_with(0)) << outcome.status << outcome.said;
       EXPECT_EQ(spawn([] { return 5; }).join(), 5);
     })
      .join();
}

/// What a task does in the child that only the parent can: the child ends with a message.
class ForkInATaskDeathTest : public ::testing::Test {
 protected:
  template <class F>
  static void expect_failure(F&& what) {
    runtime one({.workers = 2});
    one.spawn([&] {
         testing::await_sleep(one, 1);
         const child_outcome outcome = outcome_in_child([&what] {
           what();
           return 0;
         });
         EXPECT_TRUE(outcome.died_of(SIGABRT)) << outcome.status;
         EXPECT_TRUE(outcome.mentioned("after fork() in a task nothing may follow but exec or _exit"))
             << outcome.said;
       })
        .join();
  }
};
TEST_F(ForkInATaskDeathTest, Spawns) {
  expect_failure([] { spawn([] {}).detach(); });
}
TEST_F(ForkInATaskDeathTest, Yields) {
  expect_failure([] { this_fiber::yield(); });
}
TEST_F(ForkInATaskDeathTest, Waits) {
  expect_failure([] { suspend("nobody", [](const resumer&) {}); });
}
TEST_F(ForkInATaskDeathTest, Sleeps) {
  expect_failure([] { this_fiber::sleep_for(std::chrono::milliseconds(1)); });
}

}  // namespace
}  // namespace weft
