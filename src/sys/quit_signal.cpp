// SPDX-License-Identifier: Apache-2.0

#include "sys/quit_signal.hpp"

#include <cerrno>
#include <csignal>
#include <semaphore.h>

namespace weft::impl {
namespace {

/// There is one, for ever: the handler may be called at any time.
struct quit_count {
  quit_count() noexcept { ::sem_init(&calls, 0, 0); }

  sem_t calls{};
  struct sigaction before {};
  bool is_caught = false;
};
quit_count& the_count() noexcept {
  static quit_count only;  // trivially destroyed, and so never gone
  return only;
}

void count_quit(int /*number*/) {
  const int kept = errno;
  ::sem_post(&the_count().calls);  // which was made before this became the handler
  errno = kept;
}

}  // namespace

void prepare_quit() noexcept { (void)the_count(); }

void catch_quit() noexcept {
  // In this order: in a child that is forked in between, release_quit() finds what was there before.
  (void)::sigaction(SIGQUIT, nullptr, &the_count().before);
  the_count().is_caught = true;
  struct sigaction ours {};
  ours.sa_handler = &count_quit;
  ours.sa_flags = SA_RESTART | SA_ONSTACK;
  ::sigemptyset(&ours.sa_mask);
  (void)::sigaction(SIGQUIT, &ours, nullptr);
}

void release_quit() noexcept {
  if (!the_count().is_caught) return;
  (void)::sigaction(SIGQUIT, &the_count().before, nullptr);
  the_count().is_caught = false;
  while (::sem_trywait(&the_count().calls) == 0) {
  }
}

void wait_for_quit() noexcept {
  while (::sem_wait(&the_count().calls) != 0 && errno == EINTR) {
  }
}

void call_off_wait() noexcept { ::sem_post(&the_count().calls); }

}  // namespace weft::impl
