// SPDX-License-Identifier: Apache-2.0

#include "sys/fault_handler.hpp"

#include "sys/mutex.hpp"

#include <atomic>
#include <cerrno>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace weft::impl {
namespace {

struct fault_line {
  std::atomic<fault_examiner> examiner{nullptr};
  struct sigaction before {};            // written once, before our handler can run
  std::atomic<bool> before_used{false};  // a handler of the SA_RESETHAND kind is called once only
};
fault_line
    the_line;  // NOLINT(cppcoreguidelines-avoid-non-const-global-variables): a signal handler is process-wide
system_mutex install_mutex;

// Whether the faulting instruction runs again when the handler returns, and faults again.
bool repeats_by_itself(const siginfo_t& info) noexcept {
  return info.si_code == SEGV_MAPERR || info.si_code == SEGV_ACCERR || info.si_code == SEGV_BNDERR ||
         info.si_code == SEGV_PKUERR;
}

// Lets the default action happen where it belongs: at the faulting instruction, if that runs again on return.
void fall_to_default(const siginfo_t& info) noexcept {
  struct sigaction plain {};
  plain.sa_handler = SIG_DFL;
  ::sigemptyset(&plain.sa_mask);
  ::sigaction(SIGSEGV, &plain, nullptr);
  // What somebody sent does not come again by itself, nor does the kernel's word that a signal found no stack.
  if (!repeats_by_itself(info)) ::syscall(SYS_tgkill, ::getpid(), ::syscall(SYS_gettid), SIGSEGV);
}

void pass_on(int signal, siginfo_t* info, void* signal_context) noexcept {
  const struct sigaction& before = the_line.before;
  if ((before.sa_flags & SA_SIGINFO) == 0 && before.sa_handler == SIG_IGN && info->si_code <= 0) return;
  if ((before.sa_flags & SA_SIGINFO) == 0 && (before.sa_handler == SIG_DFL || before.sa_handler == SIG_IGN)) {
    fall_to_default(*info);  // a real fault cannot be ignored: the kernel would end the process too
    return;
  }
  if ((before.sa_flags & static_cast<int>(SA_RESETHAND)) != 0 &&
      the_line.before_used.exchange(true, std::memory_order_relaxed)) {
    fall_to_default(*info);
    return;
  }
  sigset_t mask_now;
  ::pthread_sigmask(SIG_BLOCK, &before.sa_mask, &mask_now);
  if ((before.sa_flags & SA_NODEFER) != 0) {
    sigset_t self;
    ::sigemptyset(&self);
    ::sigaddset(&self, signal);
    ::pthread_sigmask(SIG_UNBLOCK, &self, nullptr);
  }
  if ((before.sa_flags & SA_SIGINFO) != 0) {
    before.sa_sigaction(signal, info, signal_context);
  } else {
    before.sa_handler(signal);
  }
  ::pthread_sigmask(SIG_SETMASK, &mask_now, nullptr);
}

void on_signal(int signal, siginfo_t* info, void* signal_context) noexcept {
  const int saved = errno;  // the interrupted code's, whatever happens here
  // relaxed: set before the handler was installed, and a pointer to code has no state of its own.
  const fault_examiner examine = the_line.examiner.load(std::memory_order_relaxed);
  const bool real = info->si_code > 0;  // sent by the kernel, not by somebody's kill()
  if (!real || examine(*info, signal_context) == fault_verdict::not_ours)
    pass_on(signal, info, signal_context);
  errno = saved;
}

}  // namespace

result<void> install_fault_handler(fault_examiner examiner) noexcept {
  const scoped_hold hold(install_mutex);
  if (the_line.examiner.exchange(examiner, std::memory_order_relaxed) != nullptr) return {};
  // Learn who is there first: our handler must know before it can be called.
  const auto refused = [] {
    const std::error_code why(errno, std::system_category());
    the_line.examiner.store(nullptr, std::memory_order_relaxed);
    return why;
  };
  if (::sigaction(SIGSEGV, nullptr, &the_line.before) != 0) return refused();
  struct sigaction ours {};
  ours.sa_sigaction = &on_signal;
  ours.sa_flags = SA_SIGINFO | SA_ONSTACK;
  ::sigemptyset(&ours.sa_mask);
  if (::sigaction(SIGSEGV, &ours, nullptr) != 0) return refused();
  return {};
}

}  // namespace weft::impl
