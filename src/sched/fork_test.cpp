// SPDX-License-Identifier: Apache-2.0

#include "support/emulation.hpp"

#include <weft/detail/sanitizers.hpp>
#include <weft/nursery.hpp>
#include <weft/runtime.hpp>
#include <weft/suspend.hpp>
#include <weft/this_fiber.hpp>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <functional>
#include <gtest/gtest.h>
#include <memory>
#include <string>
#include <sys/wait.h>
#include <system_error>
#include <thread>
#include <unistd.h>

namespace weft {
namespace {

/// How the child of a fork ended in which the function ran; it exits with what that returned. Forks when new workers have
/// settled: AddressSanitizer's heap is of no use in a child if somebody was just at it.
int status_of_child(const std::function<int()>& in_child) {
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(30);  // a child that hangs is a failure, not a test that never ends
    ::_exit(in_child());
  }
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  return status;
}

[[nodiscard]] bool has_exited_with(int status, int code) {
  return WIFEXITED(status) && WEXITSTATUS(status) == code;
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
  std::atomic<bool> stop{false};
  auto busy = one->spawn([&stop] {
    while (!stop) this_fiber::yield();
    return 4;
  });
  const int status = status_of_child([&] {
    if (!is_refused([&] { (void)one->spawn([] {}); })) return 1;
    if (!is_refused([&] { (void)busy.join(); })) return 2;
    if (!is_refused([&] { nursery(*one, [](nursery& n) { n.spawn([] {}); }); })) return 3;
    if (!is_refused([&] { (void)one->shutdown(std::chrono::seconds(1)); })) return 4;
    one->request_cancel();
    one.reset();  // waits for nobody
    // And one of its own works. (ThreadSanitizer does not allow threads there.)
    if (WEFT_THREAD_SANITIZER || !testing::threads_after_fork) return 0;
    return weft::run([] { return spawn([] { return 6; }).join(); }, {.workers = 2}) == 6 ? 0 : 5;
  });
  EXPECT_TRUE(has_exited_with(status, 0)) << status;
  stop = true;
  EXPECT_EQ(busy.join(), 4) << "the parent is unharmed";
  EXPECT_EQ(one->spawn([] { return 5; }).join(), 5);
}

TEST(Fork, TheChildLeavesANurseryOfTheParents) {
  runtime one({.workers = 2});
  int status = -1;
  nursery(one, [&](nursery& in) {
    in.spawn([] { this_fiber::sleep_for(std::chrono::milliseconds(300)); });
    status = status_of_child([&] { return is_refused([&] { nursery(one, [](nursery&) {}); }) ? 0 : 1; });
  });
  EXPECT_TRUE(has_exited_with(status, 0)) << status;
}

TEST(Fork, ATaskMayForkAndExecute) {
  weft::run(
      [] {
        const int status = status_of_child([] {
          ::execl("/bin/true", "true", nullptr);
          return 1;
        });
        EXPECT_TRUE(has_exited_with(status, 0)) << status;
        EXPECT_EQ(spawn([] { return 5; }).join(), 5);
      },
      {.workers = 2});
}

/// What a task does in the child that only the parent can: the child ends with a message.
class ForkInATaskDeathTest : public ::testing::Test {
 protected:
  template <class F>
  static void expect_failure(F&& what) {
    weft::run(
        [&what] {
          const int status = status_of_child([&what] {
            what();
            return 0;
          });
          EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT) << status;
        },
        {.workers = 2});
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

}  // namespace
}  // namespace weft
