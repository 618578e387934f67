// SPDX-License-Identifier: Apache-2.0
//
// pool — a fixed number of workers, and what they share.
//
// Thread safety: any thread, unless said otherwise.
// Invariants:   PO1  every task that was begun ends: it ran, or was cancelled before it ran
//               PO2  workers end after the last task
#pragma once

#include "event/timer_loop.hpp"
#include "queue/global_queue.hpp"
#include "sched/caretaker.hpp"
#include "sched/fork_watch.hpp"
#include "sched/identity.hpp"
#include "sched/idle.hpp"
#include "sched/loop.hpp"
#include "sched/stop_sign.hpp"
#include "sched/visitors.hpp"
#include "sched/worker.hpp"
#include "stack/depth_book.hpp"
#include "stack/overflow.hpp"
#include "stack/stack_pool.hpp"

#include <weft/runtime.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace weft::impl {

struct pool_options {
  std::uint32_t workers = 1;
  std::uint64_t seed = 0;
  stack_class stack;
  victim_order victims = victim_order::random;
  placement fresh = placement::local;
  std::uint32_t most_attempts = 4;  ///< victims a search looks at, at most
  bool steal = true;
  std::uint32_t measure_stack_every = 0;  ///< tasks, about; 0: never
  bool cancels_leftovers = true;          ///< at the end
  bool fails_tasks_that_overflow = false;
  bool runs_on_caller = false;  ///< no threads: who waits runs the only worker
};

class pool : private forked_party {
 public:
  /// Throws: std::bad_alloc.
  explicit pool(const pool_options& how);
  pool(const pool&) = delete;
  pool& operator=(const pool&) = delete;
  /// Waits for the last task, and ends the workers. Not to be called where is_forked().
  ~pool();

  /// Whether this is the copy of a pool in a forked child, where nothing of it works.
  [[nodiscard]] bool is_forked() const noexcept { return is_forked_; }
  /// Why it has let nobody in.
  [[nodiscard]] errc refusal() const noexcept { return is_forked_ ? errc::forked : errc::shut_down; }
  /// A task goes on in a forked child, and does what only the parent can: ends the process with a message.
  [[noreturn]] static void fail_in_child() noexcept;

  /// Starts the workers. Returns why that was not possible; then none is left running.
  [[nodiscard]] result<void> start() noexcept;

  /// A blank record for a task of this pool. On a worker of this pool it comes from there.
  [[nodiscard]] WEFT_ALWAYS_INLINE result<task*> new_task() noexcept {
    const runtime_section in;
    worker* const here = worker_here();
    return WEFT_LIKELY(here != nullptr) ? here->new_record() : new_task_of_stranger();
  }
  /// Begins a task that was made by new_task(). Returns false if the pool takes no more; then it has been given back.
  /// A nursery's child is counted there, also where it was refused.
  [[nodiscard]] bool begin(task& made, nursery_core* group = nullptr) noexcept {
    worker* const here = worker_here();
    if (!WEFT_LIKELY(here != nullptr)) return begin_of_stranger(made, group);
    begin_here(*here, *running_fiber(*here).running, made, group);
    return true;
  }
  /// The same by a task of this pool, on the worker that runs it.
  WEFT_ALWAYS_INLINE void begin_here(worker& here, task& parent, task& made, nursery_core* group) noexcept {
    release_edge(made.spawn_edge());
    const runtime_section in;
    prepare(made, &parent, group);
    here.count_in(made);
    if (WEFT_LIKELY(options_.fresh == placement::local && made.way.is_usual())) {
      here.push_task(made);
    } else {
      place(made);
    }
    // [PO-spawn] The push was followed by a light barrier: either this sees the sign, or the walk of whoever stops all sees the
    // child. A parent that was asked to stop by itself asks its children, too.
    if (!WEFT_LIKELY(!parent.cancel.requested() && !stop_sign_.is_up())) cancel_child(made, group);
    // Who spawns into a nursery waits for its children anyway. Who keeps handles may hold a lock that they need.
    if (group != nullptr && !WEFT_LIKELY(here.tasks.size() < most_waiting) && parent.no_suspend == 0)
      let_children_run(parent);
  }
  /// The worker of this pool that runs the caller; null if it is run by none of them.
  [[nodiscard]] WEFT_ALWAYS_INLINE worker* worker_here() noexcept {
    worker* const here = current_worker();
    return here != nullptr && &here->of() == this ? here : nullptr;
  }
  /// Frees what a task has on the heap, before its record is freed.
  void drop_extras(task& ended) noexcept {
    if (!WEFT_LIKELY(!ended.has_belongings())) delete_extras(ended);
  }
  /// How deep tasks go.
  [[nodiscard]] depth_book& depths() noexcept { return depths_; }

  /// All tasks that are alive.
  [[nodiscard]] std::vector<task_info> list() const;

  /// Gives back a record that was not begun.
  void discard(task& blank) noexcept;
  /// Asks a task to stop; the caller holds its handle.
  void cancel(task& held) noexcept;
  /// Marks the fibers that wait. Goes on while `go_on()` says so.
  template <class GoOn>
  void mark_parked(GoOn&& go_on) noexcept {
    records_.for_each_live([&go_on](const task& each, record_handle) {
      auto& waiting = const_cast<task&>(each);
      const wait_word seen = waiting.claim.word();
      if (seen.is_claimable() && go_on()) waiting.claim.mark(seen);
    });
  }
  /// Gives back what lies below the stack pointers of those that have not moved since they were marked. Goes on while
  /// `go_on()` says so.
  template <class GoOn>
  void trim_marked(GoOn&& go_on) noexcept {
    records_.for_each_live([&go_on](const task& each, record_handle) {
      auto& waiting = const_cast<task&>(each);
      const wait_word seen = waiting.claim.word();
      if (!seen.is_marked() || seen.is_trimmed() || !go_on()) return;
      if (waiting.claim.try_hold(seen)) trim_held(waiting);
    });
  }

  /// Wakes the children of a nursery that wait and were asked to stop.
  void wake_cancelled(std::uintptr_t owner) noexcept;
  /// Asks all tasks to stop, and all that they begin from now on.
  void cancel_all() noexcept;
  /// Counts a task in that its worker has made and runs at once; nobody holds it.
  static void adopt(worker& on, task& made) noexcept;
  /// Wakes who waits by a handle.
  static void wake_waiter(waiter_word waiting) noexcept;
  /// Wakes a task that waits for the end of another; of an arm of a join.
  static void wake_joiner(task& waiting) noexcept { wake(waiting, waiting.join_ticket()); }
  static void wake_caller(task& waiting) noexcept { wake(waiting, waiting.arm_ticket()); }
  /// Makes a fiber runnable that the caller has claimed. `soon`: see worker::push_ready.
  static void make_runnable(task& claimed, bool soon = true) noexcept;

  /// Puts something where those wait that do not go the usual way. Does not tell anybody of a lane.
  ///
  /// Returns: whether somebody must be told.
  [[nodiscard]] bool put_aside(runnable ready, task& whose) noexcept;
  /// Puts what the event loop has handed out where it belongs: into the queue, or aside. Tells nobody.
  ///
  /// Returns: how many of them others may take.
  template <class Queue>
  [[nodiscard]] std::uint32_t sort_in(const ready_batch& ready, Queue& usual) noexcept {
    std::uint32_t shared = 0;
    for (const runnable each : ready) {
      task& woken = *static_cast<task*>(each.address());
      if (WEFT_LIKELY(woken.way.is_usual())) {
        usual.push(each);
      } else if (!put_aside(each, woken)) {
        continue;
      }
      ++shared;
    }
    return shared;
  }
  /// As put_aside(), and tells.
  void push_aside(runnable ready, task& whose) noexcept {
    if (put_aside(ready, whose)) (void)idle_.after_push();
  }
  [[nodiscard]] bool has_work_in_lanes() const noexcept { return !urgent_.empty() || !patient_.empty(); }

  /// Follows a push whose light barrier has shown that somebody is to be told.
  void tell_of_push() noexcept { (void)idle_.after_push(); }
  /// Lets others go first, for want of memory.
  static void nap() noexcept;
  /// Keeps a stack that nobody will stand on any more, but that others may know addresses in.
  void keep_abandoned(fiber& gone) noexcept;
  /// Puts something off that cannot be begun for want of a stack.
  void put_off(runnable later) noexcept;

  /// The end of a task that ran, on the worker that it ended on.
  WEFT_ALWAYS_INLINE static void end(worker& on, task& done, const task_ending& ending) noexcept {
    if (ending.duty == finish_duty::free_record) {
      on.free_record(done);
      if (ending.owner != 0) on.count_out(*nursery_core::from(ending.owner));
    }
    if (ending.duty == finish_duty::wake) wake_waiter(ending.waiter);
    on.row().end();
  }
  /// Gives a record back whose task has ended, from any thread.
  WEFT_ALWAYS_INLINE void release(task& done) noexcept {
    drop_extras(done);
    const runtime_section in;
    if (worker* const here = worker_here(); WEFT_LIKELY(here != nullptr)) return here->free_record(done);
    release_of_stranger(done);
  }

  /// Turns strangers away.
  void close() noexcept { census_.close(); }
  /// Waits on a thread that is no worker, until the parker has its token or the deadline has passed: whether it has.
  bool wait_on_thread(parker& mine, time_point deadline = never) noexcept {
    return WEFT_LIKELY(!options_.runs_on_caller) ? mine.park_until(deadline) : drive(mine, deadline);
  }
  /// Whether the thread that lends itself has waited long enough, and its worker is to let it go.
  [[nodiscard]] bool is_driver_done() const noexcept {
    return driver_ != nullptr && driver_->has_token_approx();
  }
  /// No strangers any more; returns once all tasks have ended, or at the deadline: whether they have. By one at a time: a thread,
  /// or a task of another pool.
  bool drain(time_point deadline = never) noexcept;

  [[nodiscard]] std::span<const std::unique_ptr<worker>> workers() const noexcept { return workers_; }
  [[nodiscard]] timer_loop& events() noexcept { return loop_; }
  /// For tests, both.
  [[nodiscard]] const impl::idle& beds() const noexcept { return idle_; }
  [[nodiscard]] stack_pool_stats stacks() noexcept { return stacks_.stats(); }
  void set_stealing(bool enabled) noexcept { steals_.store(enabled, std::memory_order_relaxed); }
  [[nodiscard]] bool is_stealing() const noexcept { return steals_.load(std::memory_order_relaxed); }
  [[nodiscard]] const pool_options& options() const noexcept { return options_; }
  [[nodiscard]] barrier_kind barriers() const noexcept { return barriers_; }

 private:
  friend class worker;

  using visitors = basic_visitors<default_platform, task>;

  /// Records of those who are no workers, in a few homes behind locks.
  struct strangers {
    default_platform::mutex lock;
    record_slab::home* home = nullptr;
  };
  static constexpr std::size_t stranger_homes = 4;
  static constexpr std::uint32_t most_waiting = 1024;

  void cancel_child(task& begun, nursery_core* group) noexcept;
  static void trim_held(task& held) noexcept;
  void delete_extras(task& ended) noexcept;
  [[nodiscard]] task_info describe(const task& one, record_handle life) const;
  [[nodiscard]] strangers& strangers_here() noexcept;
  [[nodiscard]] result<task*> new_task_of_stranger() noexcept;
  [[nodiscard]] bool begin_of_stranger(task& made, nursery_core* group) noexcept;
  WEFT_ALWAYS_INLINE static void prepare(task& made, const task* parent, nursery_core* group) noexcept {
    made.cancel.reset();
    made.note_progress(task_outcome::none);
    if (group != nullptr) {
      made.handle.reset_owned(group->as_owner());
      group->count_in(parent);
    } else {
      made.handle.reset();
    }
  }
  void release_of_stranger(task& done) noexcept;
  [[nodiscard]] const std::vector<census::row>& rows() const noexcept { return rows_; }
  [[nodiscard]] result<void> start_workers() noexcept;
  [[nodiscard]] result<void> furnish(worker& made) noexcept;
  bool drive(parker& mine, time_point deadline) noexcept;
  void note_fork() noexcept;
  void place(task& fresh) noexcept;
  [[nodiscard]] worker& next_in_turn() noexcept;
  static void wake(task& waiting, wait_ticket ticket) noexcept;
  void stop() noexcept;
  bool await_drained(time_point deadline) noexcept;
  bool await_drained_in_task(task& self, time_point deadline) noexcept;
  void tell_who_drains() noexcept;
  void check_handles() const noexcept;

  const pool_options options_;
  const barrier_kind barriers_;
  stop_sign stop_sign_;  // beside what each spawn reads anyway
  stack_pool stacks_;
  record_slab records_;
  census census_;
  timer_loop loop_;
  event_seat seat_;
  impl::idle idle_;
  global_queue global_;
  global_queue urgent_;
  global_queue patient_;
  std::vector<census::row> rows_;
  std::vector<std::unique_ptr<worker>> workers_;
  std::vector<default_platform::thread> threads_;
  std::array<strangers, stranger_homes> strangers_;
  default_platform::atomic<std::uint32_t> next_place_{0};
  caretaker caretaker_;
  depth_book depths_;
  bool is_forked_ = false;    // written where there is one thread
  std::atomic<bool> steals_;  // relaxed: obeyed late
  parker drained_;
  visitors visitors_;
  parker* driver_ = nullptr;  // whoever has lent its thread to the only worker
  time_point drive_until_ = never;
  default_platform::mutex abandoned_lock_;
  fiber* abandoned_ = nullptr;  // stacks that their tasks have run past, until the end
  mutable default_platform::mutex
      extras_lock_;  // nothing that a task has on the heap goes while somebody looks at it
};

}  // namespace weft::impl
