// SPDX-License-Identifier: Apache-2.0

#include "sys/thread_calls.hpp"

#include "support/own_process.hpp"
#include "sys/thread_state.hpp"

#include <weft/detail/sanitizers.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <gtest/gtest.h>
#include <poll.h>
#include <thread>
#include <unistd.h>

namespace weft::impl {
namespace {

std::atomic<bool> stop{false};
std::atomic<void*> caller{nullptr};

[[gnu::noinline]] void spin() {
  caller.store(__builtin_return_address(0));
  while (!stop.load()) {
  }
}
[[gnu::noinline]] void call_spin() {
  spin();
  asm volatile("");  // or it would not be there
}

struct running_thread {
  template <class F>
  explicit running_thread(F f) {
    stop.store(false);
    caller.store(nullptr);
    thread = std::thread([this, f] {
      number.store(this_thread_number());
      f();
    });
    while (number.load() == 0) std::this_thread::yield();
  }
  ~running_thread() {
    stop.store(true);
    thread.join();
  }
  std::atomic<pid_t> number{0};
  std::thread thread;
};

TEST(ThreadCalls, ShowWhereAThreadIs) {
  running_thread one(&call_spin);
  while (caller.load() == nullptr) std::this_thread::yield();
  std::array<void*, 32> calls{};
  const std::size_t count = find_thread_calls(one.number.load(), calls);
  ASSERT_GT(count, 1U);
  EXPECT_NE(std::find(calls.begin(), calls.begin() + count, caller.load()), calls.begin() + count);
}

TEST(ThreadCalls, NoMoreThanThereIsRoomFor) {
  running_thread one(&call_spin);
  while (caller.load() == nullptr) std::this_thread::yield();
  std::array<void*, 1> calls{};
  EXPECT_EQ(find_thread_calls(one.number.load(), calls), 1U);
}

TEST(ThreadCalls, AThreadThatWaitsInTheKernelAnswers) {
  running_thread one([] {
    while (!stop.load()) ::poll(nullptr, 0, 1000);
  });
  std::array<void*, 32> calls{};
  EXPECT_GT(find_thread_calls(one.number.load(), calls), 0U);
}

TEST(ThreadCalls, TheThreadAnswersAQuestionAsWell) {
  running_thread one(&call_spin);
  pid_t answer = 0;
  std::array<void*, 32> calls{};
  const thread_question who{[](void* with) noexcept { *static_cast<pid_t*>(with) = this_thread_number(); },
                            &answer};
  EXPECT_GT(find_thread_calls(one.number.load(), calls, who), 0U);
  EXPECT_EQ(answer, one.number.load());
}

TEST(ThreadCalls, AThreadThatIsGoneHasNone) {
  pid_t number = 0;
  std::thread([&] { number = this_thread_number(); }).join();
  std::array<void*, 32> calls{};
  EXPECT_EQ(find_thread_calls(number, calls), 0U);
}

TEST(ThreadCalls, AThreadThatBlocksTheSignalIsNotWaitedForForEver) {
  running_thread one([] {
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_BLOCK, &all, nullptr);
    call_spin();
  });
  while (caller.load() == nullptr) std::this_thread::yield();
  std::array<void*, 32> calls{};
  EXPECT_EQ(find_thread_calls(one.number.load(), calls), 0U);
  EXPECT_EQ(find_thread_calls(one.number.load(), calls), 0U);
}

std::atomic<int> others{0};

[[noreturn]] void share_the_signal() {
  struct sigaction mine {};
  mine.sa_handler = [](int) { others.fetch_add(1); };
  ::sigaction(SIGURG, &mine, nullptr);
  auto* const one = new running_thread(&call_spin);
  while (caller.load() == nullptr) std::this_thread::yield();
  std::array<void*, 32> calls{};
  const bool found = find_thread_calls(one->number.load(), calls) > 0;
  const bool is_quiet = others.load() == 0;
  ::raise(SIGURG);
  ::kill(::getpid(), SIGURG);
  for (int i = 0; i < 1000 && others.load() < 2; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  std::_Exit(found && is_quiet && others.load() == 2 ? 0 : 1);
}

TEST(ThreadCalls, AHandlerThatWasThereGetsWhatIsMeantForIt) {
  WEFT_NEEDS_OWN_PROCESS();  // before anything has installed ours
  EXPECT_EXIT(share_the_signal(), ::testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace weft::impl
