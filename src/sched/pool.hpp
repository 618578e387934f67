// SPDX-License-Identifier: Apache-2.0
//
// pool — a fixed number of workers, and what they share.
//
// Thread safety: any thread, unless said otherwise.
// Invariants:   PO1  every task that was begun ends: it ran, or was cancelled before it ran
//               PO2  workers end after the last task
#pragma once

#include "event/futex_loop.hpp"
#include "queue/global_queue.hpp"
#include "sched/idle.hpp"
#include "sched/worker.hpp"
#include "stack/overflow.hpp"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace weft::impl {

/// Whom a worker without work tries to rob.
enum class victim_order : std::uint8_t { random, round_robin, most_loaded };
/// Where a fresh task goes.
enum class placement : std::uint8_t { local, round_robin };

struct pool_options {
  std::uint32_t workers = 1;
  std::uint64_t seed = 0;
  stack_class stack;
  victim_order victims = victim_order::random;
  placement fresh = placement::local;
  std::uint32_t most_attempts = 4;  ///< victims a search looks at, at most
  bool steal = true;
};

class pool {
 public:
  explicit pool(const pool_options& how) noexcept;
  pool(const pool&) = delete;
  pool& operator=(const pool&) = delete;
  /// Waits for the last task, and ends the workers.
  ~pool();

  /// Starts the workers. Returns why that was not possible; then none is left running.
  [[nodiscard]] result<void> start() noexcept;

  /// A blank record for a task of this pool. On a worker of this pool it comes from there.
  [[nodiscard]] result<task*> new_task() noexcept;
  /// Begins a task that was made by new_task(). Returns false if the pool takes no more; then it has been given back.
  [[nodiscard]] bool begin(task& made) noexcept;
  /// Gives back a record that was not begun.
  void discard(task& blank) noexcept;
  /// Asks a task to stop; the caller holds its handle.
  void cancel(task& held) noexcept;
  /// Asks all tasks to stop, and all that they begin from now on.
  void cancel_all() noexcept;
  /// Counts a task in that its worker has made and runs at once; nobody holds it.
  void adopt(worker& on, task& made) noexcept;
  /// Wakes a task that waits for the end of another, or of an arm of a join.
  static void wake_joiner(task& waiting) noexcept;
  /// Makes a fiber runnable that the caller has claimed. `soon`: see worker::push_ready.
  static void make_runnable(task& claimed, bool soon = true) noexcept;

  /// Follows a push whose light barrier has shown that somebody is to be told.
  void tell_of_push() noexcept { (void)idle_.after_push(); }
  /// Lets others go first, for want of memory.
  static void nap() noexcept;
  /// Puts something off that cannot be begun for want of a stack.
  void put_off(runnable later) noexcept;

  /// The end of a task that ran, on the worker that it ended on.
  void end(worker& on, task& done, const task_ending& ending) noexcept;
  /// Gives a record back whose task has ended, from any thread.
  void release(task& done) noexcept;

  /// Turns strangers away.
  void close() noexcept { census_.close(); }
  /// No strangers any more; returns once all tasks have ended. By one thread that is no worker.
  void drain() noexcept;

  [[nodiscard]] std::span<const std::unique_ptr<worker>> workers() const noexcept { return workers_; }
  [[nodiscard]] const pool_options& options() const noexcept { return options_; }
  [[nodiscard]] barrier_kind barriers() const noexcept { return barriers_; }

 private:
  friend class worker;

  /// Records of those who are no workers, in a few homes behind locks.
  struct strangers {
    default_platform::mutex lock;
    record_slab::home* home = nullptr;
  };
  static constexpr std::size_t stranger_homes = 4;

  [[nodiscard]] strangers& strangers_here() noexcept;
  [[nodiscard]] worker* worker_here() noexcept;
  [[nodiscard]] const std::vector<census::row>& rows() const noexcept { return rows_; }
  [[nodiscard]] result<void> start_workers() noexcept;
  void place(task& fresh) noexcept;
  void count_in(worker& on, task& made) noexcept;
  void stop() noexcept;

  const pool_options options_;
  const barrier_kind barriers_;
  stack_pool stacks_;
  record_slab records_;
  census census_;
  futex_loop loop_;
  event_seat seat_;
  impl::idle idle_;
  global_queue global_;
  std::vector<census::row> rows_;
  std::vector<std::unique_ptr<worker>> workers_;
  std::vector<default_platform::thread> threads_;
  std::array<strangers, stranger_homes> strangers_;
  std::atomic<std::uint32_t> next_place_{0};
  std::atomic<bool> is_cancelled_{false};
  parker drained_;
};

}  // namespace weft::impl
