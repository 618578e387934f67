// SPDX-License-Identifier: Apache-2.0

#include "sys/memory.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <ctime>
#include <fcntl.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

namespace weft::impl {
namespace {

constexpr int madv_guard_install = 102;  // <linux/mman.h> of Linux 6.13 and newer

constexpr int pidfd_self = -10000;  // <linux/pidfd.h> of newer kernels; no number of a file for older ones

std::error_code last_error() noexcept { return {errno, std::system_category()}; }

result<void> done(int outcome) noexcept { return outcome == 0 ? result<void>() : result<void>(last_error()); }

}  // namespace

std::size_t system_memory::page_size() noexcept {
  static const auto size = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  return size;
}

result<void*> system_memory::reserve(std::size_t bytes) noexcept {
  void* const at = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
  if (at == MAP_FAILED) return last_error();
  // A kernel without huge pages refuses the advice, and then there is nothing to advise against.
  (void)::madvise(at, bytes, MADV_NOHUGEPAGE);
  return at;
}

void system_memory::release(void* at, std::size_t bytes) noexcept { (void)::munmap(at, bytes); }

result<void> system_memory::guard_light(void* at, std::size_t bytes) noexcept {
  return done(::madvise(at, bytes, madv_guard_install));
}

std::size_t system_memory::guard_light_each(std::span<void* const> at, std::size_t bytes) noexcept {
  std::array<iovec, most_guarded_together> ranges{};
  const std::size_t count = std::min(at.size(), ranges.size());
  for (std::size_t i = 0; i < count; ++i) ranges[i] = {at[i], bytes};
  const long advised =
      ::syscall(SYS_process_madvise, pidfd_self, ranges.data(), count, madv_guard_install, 0);
  return advised <= 0 ? 0 : static_cast<std::size_t>(advised) / bytes;
}

result<void> system_memory::guard_by_protection(void* at, std::size_t bytes) noexcept {
  return done(::mprotect(at, bytes, PROT_NONE));
}

bool system_memory::guard_holds(const void* at) noexcept {
  // The kernel is asked to wait, for no time at all, on the word there: it must fail to read it. This needs no
  // file descriptor, changes nothing, and no sanitizer, valgrind or emulator reads the word in the kernel's place.
  const auto word = reinterpret_cast<std::uintptr_t>(at) / sizeof(std::uint32_t) * sizeof(std::uint32_t);
  const timespec at_once{};
  return ::syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, 0, &at_once) == -1 && errno == EFAULT;
}

result<void> system_memory::discard(void* at, std::size_t bytes) noexcept {
  return done(::madvise(at, bytes, MADV_DONTNEED));
}

result<void> system_memory::residency(void* at, std::size_t pages, unsigned char* present) noexcept {
  if (result<void> asked = done(::mincore(at, pages * page_size(), present)); !asked) return asked;
  for (std::size_t i = 0; i < pages; ++i) present[i] &= 1U;  // the other bits are reserved
  return {};
}

std::optional<std::size_t> system_memory::mapping_limit() noexcept {
  const int file = ::open("/proc/sys/vm/max_map_count", O_RDONLY | O_CLOEXEC);
  if (file < 0) return std::nullopt;
  char digits[24];
  const ssize_t length = ::read(file, digits, sizeof digits);
  ::close(file);
  std::size_t limit = 0;
  ssize_t i = 0;
  for (; i < length && digits[i] >= '0' && digits[i] <= '9'; ++i) {
    limit = limit * 10 + static_cast<std::size_t>(digits[i] - '0');
  }
  if (i == 0) return std::nullopt;
  return limit;
}

}  // namespace weft::impl
