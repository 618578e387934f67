// SPDX-License-Identifier: Apache-2.0
//
// sysmon — the thread that looks after the execution contexts of a runtime. It sleeps while nothing runs.
//
//     a worker that has slept and has work now;      sysmon, when nothing has run for a while
//       it is awake; light barrier;                    is_asleep = true; heavy barrier;
//       if (is_asleep) call()                          look once more whether all workers sleep; sleep
//
// [SM-sleep] Either the worker sees that sysmon sleeps, or sysmon sees that the worker does not.
//
// Thread safety: any thread.
#pragma once

#include "event/parker.hpp"
#include "sys/platform.hpp"

#include <weft/result.hpp>

#include <atomic>
#include <cstdint>
#include <sys/types.h>

namespace weft::impl {

class commons;

class sysmon {
 public:
  sysmon(commons& of, barrier_kind barriers) noexcept : all_(of), barriers_(barriers) {}
  sysmon(const sysmon&) = delete;
  sysmon& operator=(const sysmon&) = delete;
  /// After stop().
  ~sysmon() = default;

  /// Starts the thread, unless it runs.
  [[nodiscard]] result<void> start() noexcept;
  /// Ends it. No context is left.
  void stop() noexcept;

  /// Its thread; 0 before start(). After that it is waited for, if need be, until the thread has begun to run.
  [[nodiscard]] pid_t thread_number() const noexcept {
    if (!is_started_.load(std::memory_order_relaxed)) return 0;
    for (;;) {
      if (const pid_t number = thread_number_.load(std::memory_order_relaxed); number != 0) return number;
      default_platform::sleeper::yield();
    }
  }

  /// Something is to be done at once.
  void call() noexcept { (void)bed_.unpark(); }
  /// By a worker that sysmon may not know to be awake: that has slept and has work now, has just come, goes, or was blocked.
  void note_awake() noexcept {
    default_platform::light_barrier(barriers_);  // [SM-sleep]
    if (is_asleep_.load(std::memory_order_relaxed)) call();
  }

 private:
  void run() noexcept;
  void follow_processors(time_point now) noexcept;

  commons& all_;
  const barrier_kind barriers_;
  default_platform::mutex start_lock_;
  default_platform::thread thread_;
  parker bed_;
  time_point read_processors_at_ = time_point::min();
  std::atomic<bool> is_started_{false};  // relaxed, both: a number, 0 until it runs
  std::atomic<pid_t> thread_number_{0};
  std::atomic<bool> is_asleep_{false};
  std::atomic<bool> is_stopping_{false};
};

}  // namespace weft::impl
