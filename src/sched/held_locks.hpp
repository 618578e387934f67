// SPDX-License-Identifier: Apache-2.0
//
// held_locks — in a library that is built with WEFT_CHECK: which locks of the system's a task holds, and where it has taken them.
//
// A task that waits while it holds a std::mutex is a trap: whoever else wants the mutex blocks its whole worker, and if those are all
// the workers, the task that would give it back never runs again. It goes well for years, until it does not. So each wait looks whether
// the task holds one, and if it does, reports where it was taken and where the wait is.
//
// What a task holds is noted with the worker that runs it: as long as all is well, both stay together.
//
// Thread safety: the worker's own.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace weft::impl {

struct task;

#ifdef WEFT_CHECKS_LOCKS
inline constexpr bool checks_locks = true;
#else
inline constexpr bool checks_locks = false;
#endif

struct held_lock {
  static constexpr std::size_t most_calls = 16;

  const void* lock = nullptr;
  const task* by = nullptr;
  std::array<void*, most_calls> calls{};  // that led to where it was taken
  std::size_t call_count = 0;

  [[nodiscard]] std::span<void* const> taken_at() const noexcept { return {calls.data(), call_count}; }
};

/// Those that the tasks of one worker hold: a few, and more than that are not noted.
class held_locks {
 public:
  void note(const void* lock, const task& by) noexcept;
  /// The one that was taken last.
  void forget(const void* lock, const task& by) noexcept;
  /// One that the task holds, which is forgotten; null if it holds none.
  [[nodiscard]] const held_lock* take_one_of(const task& by) noexcept;

 private:
  static constexpr std::size_t most = 16;

  std::array<held_lock, most> locks_{};
  std::size_t count_ = 0;
  held_lock taken_;
};

/// From now on locks are watched, in a library that is built for it.
void begin_to_watch_locks() noexcept;

/// The running task is about to wait: whatever it holds is reported.
void report_held_locks(const task& self) noexcept;
inline void check_no_lock_held(const task& self) noexcept {
  if constexpr (checks_locks) report_held_locks(self);
}

}  // namespace weft::impl
