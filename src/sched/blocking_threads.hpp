// SPDX-License-Identifier: Apache-2.0
//
// blocking_threads — the threads of a runtime that run what would block a worker: none at first, as many as are needed up to a bound,
// and none again when there has been nothing to do for a while.
//
// Thread safety: any thread; stop() by the last one.
// Invariants:   BT1  work waits only while as many threads are busy as there may be
//               BT2  a thread goes only when nothing waits
#pragma once

#include "base/clock.hpp"
#include "base/intrusive_list.hpp"
#include "event/parker.hpp"
#include "sched/sysmon.hpp"
#include "sys/platform.hpp"

#include <weft/blocking.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace weft::impl {

/// A call that waits for a thread, and what to do when it was made.
struct blocking_job : list_node<blocking_job> {
  detail::blocking_call* call = nullptr;
  void (*done)(blocking_job& self) noexcept = nullptr;  ///< from there on the job may be gone
};

struct blocking_counts {
  std::uint32_t threads = 0;    ///< there now
  std::uint32_t busy = 0;       ///< of those
  std::uint32_t most_busy = 0;  ///< at any time
  std::uint64_t waiting = 0;    ///< jobs, now
  std::uint64_t begun = 0;      ///< jobs, so far
};

class blocking_threads {
 public:
  /// Threads go that had nothing to do for so long.
  blocking_threads(std::uint32_t most, duration linger, const sysmon& leader) noexcept
      : most_(most), linger_(linger), leader_(leader) {}
  blocking_threads(const blocking_threads&) = delete;
  blocking_threads& operator=(const blocking_threads&) = delete;
  /// After stop().
  ~blocking_threads() = default;

  /// Has the job done, sooner or later. Returns false where another thread is needed and none can be had: then nothing was done.
  [[nodiscard]] bool try_begin(blocking_job& job) noexcept;

  [[nodiscard]] blocking_counts counts() const noexcept;

  /// Ends the threads. No job is there, and none comes.
  void stop() noexcept;

 private:
  /// A thread. Lies in the list of those that have nothing to do, or in none.
  struct host : list_node<host> {
    explicit host(blocking_threads& in) noexcept : of(in) {}

    blocking_threads& of;
    parker bed;
    blocking_job* given = nullptr;  // written before it is woken
    default_platform::thread thread;
    bool has_ended = false;  // or is about to
  };

  static void run(void* raw);
  [[nodiscard]] blocking_job* next(host& mine) noexcept;
  [[nodiscard]] bool try_start(blocking_job& first) noexcept WEFT_REQUIRES(lock_);
  void count_begun() noexcept WEFT_REQUIRES(lock_);
  [[nodiscard]] blocking_job* end(host& mine) noexcept WEFT_REQUIRES(lock_);
  void sweep_ended() noexcept WEFT_REQUIRES(lock_);

  const std::uint32_t most_;
  const duration linger_;
  const sysmon& leader_;  // where that thread may run, these may
  mutable default_platform::mutex lock_;
  intrusive_list<blocking_job, blocking_job> waiting_ WEFT_GUARDED_BY(lock_);
  intrusive_list<host, host> idle_ WEFT_GUARDED_BY(lock_);
  std::vector<std::unique_ptr<host>> hosts_ WEFT_GUARDED_BY(lock_);
  blocking_counts counts_ WEFT_GUARDED_BY(lock_);
  bool is_stopping_ WEFT_GUARDED_BY(lock_) = false;
};

}  // namespace weft::impl
