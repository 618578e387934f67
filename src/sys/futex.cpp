// SPDX-License-Identifier: Apache-2.0

#include "sys/futex.hpp"

#include <weft/detail/assert.hpp>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <ctime>
#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace weft::impl {
namespace {

// The kernel refuses times before zero; a deadline that lies there has passed as well at zero.
timespec kernel_time(time_point when) noexcept {
  const std::int64_t ns = std::max<std::int64_t>(0, when.time_since_epoch().count());
  constexpr std::int64_t second = std::chrono::nanoseconds(std::chrono::seconds(1)).count();
  timespec t{};
  t.tv_sec = ns / second;
  t.tv_nsec = ns % second;
  return t;
}

}  // namespace

sleep_end system_sleeper::wait_at(const std::uint32_t* word, std::uint32_t seen,
                                  time_point deadline) noexcept {
  const timespec until = kernel_time(deadline);
  const timespec* const limit = deadline == never ? nullptr : &until;
  for (;;) {
    if (::syscall(SYS_futex, word, FUTEX_WAIT_BITSET_PRIVATE, seen, limit, nullptr, FUTEX_BITSET_MATCH_ANY) ==
        0)
      return sleep_end::woken;
    switch (errno) {
      case EAGAIN: return sleep_end::woken;  // the word had changed already
      case ETIMEDOUT: return sleep_end::deadline;
      case EINTR: continue;  // a signal: the deadline is absolute, so nothing is to be worked out anew
      case EFAULT: WEFT_CHECK(false, "a thread sleeps on memory that is not there"); break;
      default:
        WEFT_CHECK(false,
                   "the kernel refuses futex(2), by which weft's threads sleep: let the seccomp filter "
                   "allow FUTEX_WAIT_BITSET and FUTEX_WAKE");
    }
  }
}

void system_sleeper::yield() noexcept { (void)::sched_yield(); }

void system_sleeper::wake_at(const std::uint32_t* word) noexcept {
  // EFAULT: the sleeper has seen the word change by itself and has freed it; it needs no waking.
  const bool asked =
      ::syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0) >= 0 || errno == EFAULT;
  WEFT_CHECK(
      asked,
      "the kernel refuses futex(2), by which weft wakes threads: let the seccomp filter allow FUTEX_WAKE");
}

}  // namespace weft::impl
