// SPDX-License-Identifier: Apache-2.0

#include "sys/thread_calls.hpp"

#include "base/unwatched.hpp"
#include "sys/backtrace.hpp"
#include "sys/fork.hpp"
#include "sys/platform.hpp"
#include "sys/thread_state.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <execinfo.h>
#include <new>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>
#include <utility>

namespace weft::impl {
namespace {

constexpr int the_signal = SIGURG;
constexpr int most_calls = 128;

// asked -> answering -> answered, by the thread; or asked -> nobody, by whoever has asked and given up.
enum class stage : std::uint32_t { nobody, asked, answering, answered };

// There is one, for ever: a thread may come late with its answer.
struct request {
  default_platform::mutex lock;  // over those who ask
  bool is_installed = false;
  struct sigaction before {};
  std::atomic<pid_t> thread{0};
  std::atomic<stage> at{stage::nobody};
  thread_question also;
  void* calls[most_calls]{};
  int count = 0;
  const void* interrupted_at = nullptr;
};
constinit request the_request;

const void* place_in(const void* raw) noexcept {
  const auto& machine = static_cast<const ucontext_t*>(raw)->uc_mcontext;
#if defined(__x86_64__)
  return reinterpret_cast<const void*>(machine.gregs[REG_RIP]);
#elif defined(__aarch64__)
  return reinterpret_cast<const void*>(machine.pc);
#else
  return (void)machine, nullptr;
#endif
}

// Whether it was meant for this thread, and by us.
WEFT_UNWATCHED bool try_answer(const siginfo_t& what, const void* where) noexcept {
  request& one = the_request;
  if (what.si_code != SI_TKILL || what.si_pid != ::getpid()) return false;
  if (one.thread.load(std::memory_order_relaxed) != this_thread_number()) return false;
  stage expected = stage::asked;
  // acquire: what is asked. [TC-ask]
  if (!one.at.compare_exchange_strong(expected, stage::answering, std::memory_order_acquire,
                                      std::memory_order_relaxed))
    return false;
  one.count = ::backtrace(one.calls, most_calls);
  one.interrupted_at = place_in(where);
  if (one.also.ask != nullptr) one.also.ask(one.also.with);
  one.at.store(stage::answered, std::memory_order_release);  // [TC-answer]
  return true;
}

WEFT_UNWATCHED void handle(int number, siginfo_t* what, void* where) {
  const int kept = errno;
  if (!try_answer(*what, where)) {
    const struct sigaction& before = the_request.before;
    if ((before.sa_flags & SA_SIGINFO) != 0) {
      before.sa_sigaction(number, what, where);
    } else if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN) {
      before.sa_handler(number);
    }
  }
  errno = kept;
}

// What somebody else has put there since is left alone: then nobody answers.
void install() noexcept {
  if (std::exchange(the_request.is_installed, true)) return;
  prepare_backtrace();
  (void)::sigaction(the_signal, nullptr, &the_request.before);
  struct sigaction ours {};
  ours.sa_sigaction = &handle;
  ours.sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK;
  ::sigemptyset(&ours.sa_mask);
  (void)::sigaction(the_signal, &ours, nullptr);
}

// Returns whether there is an answer.
bool await_answer() noexcept {
  constexpr duration patience = std::chrono::milliseconds(100);
  constexpr duration step = std::chrono::microseconds(20);
  request& one = the_request;
  const system_clock clock;
  const time_point until = clock.now() + patience;
  for (;;) {
    if (one.at.load(std::memory_order_acquire) == stage::answered) return true;  // [TC-answer]
    stage expected = stage::asked;
    if (clock.now() >= until &&
        one.at.compare_exchange_strong(expected, stage::nobody, std::memory_order_relaxed,
                                       std::memory_order_relaxed))
      return false;
    const timespec pause{0, step.count()};
    (void)::nanosleep(&pause, nullptr);
  }
}

}  // namespace

void prepare_thread_calls() noexcept {
  // In a forked child nobody asks, and nobody answers.
  static const bool is_watched = watch_forks(nullptr, nullptr, [] {
    new (&the_request.lock) default_platform::mutex;
    the_request.at.store(stage::nobody, std::memory_order_relaxed);
  });
  (void)is_watched;
}

std::size_t find_thread_calls(pid_t thread, std::span<void*> found, thread_question also) noexcept {
  request& one = the_request;
  const scoped_hold hold(one.lock);
  install();
  one.also = also;
  one.thread.store(thread, std::memory_order_relaxed);
  one.at.store(stage::asked, std::memory_order_release);  // [TC-ask]
  if (::syscall(SYS_tgkill, ::getpid(), thread, the_signal) != 0 || !await_answer()) {
    one.at.store(stage::nobody, std::memory_order_relaxed);
    return 0;
  }
  void** const end = one.calls + one.count;
  void** first = std::find(one.calls, end, one.interrupted_at);  // before it is the handler
  if (first == end) first = one.calls;                           // a sanitizer calls handlers when it likes
  const auto count = std::min(static_cast<std::size_t>(end - first), found.size());
  std::copy_n(first, count, found.begin());
  one.at.store(stage::nobody, std::memory_order_relaxed);
  return count;
}

}  // namespace weft::impl
