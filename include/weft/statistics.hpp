// SPDX-License-Identifier: Apache-2.0
//
// statistics — what a runtime has done so far, and what it has to do: counted in any case, so that it can be asked for at any time.
//
// With WEFT_STATS=1 in the environment every context and every runtime says it at its end, on the standard error; the default runtime
// when the program exits.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace weft {

/// What a worker has done so far.
struct worker_statistics {
  std::uint64_t tasks = 0;   ///< ended there
  std::uint64_t stolen = 0;  ///< tasks and fibers taken from other workers, but for what those have sent
  std::uint64_t failed_steals = 0;  ///< attempts to take from a deque that gave nothing
  std::uint32_t waiting = 0;        ///< tasks and fibers in its queues, now
  bool has_thread = false;          ///< now: workers come when there is work for them
};

/// What an execution context has done so far.
struct context_statistics {
  std::string name;           ///< that of the context
  std::uint32_t limit = 0;    ///< workers that it shall have
  std::uint32_t threads = 0;  ///< that it has now
  std::uint64_t begun = 0;    ///< tasks; those that have come by move_to() as well
  std::uint64_t ended = 0;    ///< of those; by move_to() as well
  std::chrono::nanoseconds queue_age =
      {};                   ///< whatever comes waits for so long until it runs; 0: nothing waits
  std::uint64_t wakes = 0;  ///< how often a worker that slept was woken because of work
  std::uint64_t added_for_blocked =
      0;  ///< workers that came in the place of others that were stuck in the system
  std::uint64_t added_for_busy = 0;        ///< and beside others that computed for long
  std::uint64_t failed_starts = 0;         ///< threads that the system did not give
  std::vector<worker_statistics> workers;  ///< those that have ever been there

  /// Tasks that are alive. While tasks begin and end it is about so many.
  [[nodiscard]] std::uint64_t alive() const noexcept { return begun > ended ? begun - ended : 0; }
};

/// What runs by weft::blocking().
struct blocking_statistics {
  std::uint32_t threads = 0;    ///< now
  std::uint32_t busy = 0;       ///< of those
  std::uint32_t most_busy = 0;  ///< at any time
  std::uint64_t waiting = 0;    ///< for a thread, now
  std::uint64_t begun = 0;      ///< so far
};

/// What a runtime has done so far.
struct runtime_statistics {
  std::vector<context_statistics> contexts;  ///< that there are now; DEFAULT is the first
  blocking_statistics blocking;              ///< of its threads for weft::blocking()
};

}  // namespace weft
