// SPDX-License-Identifier: Apache-2.0
//
// membarrier — the heavy half of the barrier pair in <weft/detail/atomics.hpp>, from the kernel.
//
// MEMBARRIER_CMD_PRIVATE_EXPEDITED interrupts each processor that runs a thread of this process; threads that do
// not run have passed a full fence when they were switched out. The process must register first. A child made by
// fork() inherits the registration; exec() drops it, and the new program starts over.
#include <weft/detail/assert.hpp>
#include <weft/detail/atomics.hpp>

#include <cerrno>
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace weft::detail {
namespace {

// Relaxed: a count for statistics, which orders nothing.
constinit std::atomic<std::uint64_t> issued{0};

long membarrier(int command) noexcept { return ::syscall(SYS_membarrier, command, 0, 0); }

barrier_kind ask_kernel() noexcept {
  const long known = membarrier(MEMBARRIER_CMD_QUERY);
  const bool usable = known >= 0 && (known & MEMBARRIER_CMD_PRIVATE_EXPEDITED) != 0 &&
                      membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) == 0 &&
                      // A filter may let the registration pass and forbid the barrier itself.
                      membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED) == 0;
  return usable ? barrier_kind::asymmetric : barrier_kind::symmetric;
}

}  // namespace

barrier_kind available_barriers() noexcept {
  static const barrier_kind kind = ask_kernel();
  return kind;
}

void fence_all_threads() noexcept {
  issued.fetch_add(1, std::memory_order_relaxed);
  // Kernels for very many processors allocate for each call. A barrier cannot be left out, so it is tried again.
  long refused = membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED);
  while (refused != 0 && errno == ENOMEM) refused = membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED);
  WEFT_CHECK(refused == 0,
             "the kernel allowed membarrier(2) when weft started and refuses it now: "
             "install the seccomp filter before the first weft object is made");
}

std::uint64_t heavy_barrier_count() noexcept { return issued.load(std::memory_order_relaxed); }

}  // namespace weft::detail
