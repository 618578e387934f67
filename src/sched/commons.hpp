// SPDX-License-Identifier: Apache-2.0
//
// commons — what the execution contexts of one runtime share: the records and the stacks of their tasks, and how all of them end.
//
// Thread safety: any thread, unless said otherwise.
// Invariants:   CM1  every task that was begun ends: it ran, or was cancelled before it ran
//               CM2  a context lives within its runtime, and a record within both
#pragma once

#include "base/intrusive_list.hpp"
#include "sched/blocking_threads.hpp"
#include "sched/caretaker.hpp"
#include "sched/farewell.hpp"
#include "sched/fork_watch.hpp"
#include "sched/identity.hpp"
#include "sched/pace.hpp"
#include "sched/quit_dump.hpp"
#include "sched/registry.hpp"
#include "sched/sysmon.hpp"
#include "sched/task.hpp"
#include "sched/worker.hpp"
#include "stack/depth_book.hpp"
#include "stack/stack_pool.hpp"

#include <weft/error.hpp>
#include <weft/result.hpp>
#include <weft/statistics.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace weft::impl {

struct commons_options {
  std::uint64_t seed = 0;                 ///< all chance comes from it
  stack_class stack;                      ///< of tasks that ask for no other
  std::uint32_t measure_stack_every = 0;  ///< tasks, about; 0: never
  bool cancels_leftovers = true;          ///< at the end
  bool fails_tasks_that_overflow = false;
  duration hog_after = duration::max();  ///< a task is named that runs for so long
  bool dumps_on_quit = false;
  bool reports_statistics = false;                       ///< at its end
  bool reports_stacks = false;                           ///< how deep tasks went, at its end
  std::uint32_t blocking_threads = 64;                   ///< at most
  duration look_every = std::chrono::microseconds(250);  ///< by sysmon
  bool debugs_sysmon = false;                            ///< says what sysmon does, and why
};

struct commons_tag {};

class commons : private forked_party, public list_node<registry_tag>, public farewell_host {
 public:
  explicit commons(const commons_options& how);
  commons(const commons&) = delete;
  commons& operator=(const commons&) = delete;
  /// After the last context. Ends the process if somebody still holds a task.
  ~commons() override;

  /// Gets what the first task needs. Returns why that was not possible.
  [[nodiscard]] result<void> start() noexcept;

  [[nodiscard]] const commons_options& options() const noexcept { return options_; }
  [[nodiscard]] barrier_kind barriers() const noexcept { return barriers_; }

  // -- In a forked child ----------------------------------------------------------------------------------------------

  /// Whether this is the copy in a forked child, where nothing of it works.
  [[nodiscard]] bool is_forked() const noexcept { return is_forked_; }
  /// Why it has let nobody in.
  [[nodiscard]] errc refusal() const noexcept { return is_forked_ ? errc::forked : errc::shut_down; }
  /// A task goes on in a forked child, and does what only the parent can: ends the process with a message.
  [[noreturn]] static void fail_in_child() noexcept;

  // -- Records --------------------------------------------------------------------------------------------------------

  /// The worker of this runtime that runs the caller; null if it is run by none of them.
  [[nodiscard]] WEFT_ALWAYS_INLINE worker* worker_here() noexcept {
    worker* const here = current_worker();
    return here != nullptr && &here->all() == this ? here : nullptr;
  }
  /// A blank record. On a worker of this runtime it comes from there.
  [[nodiscard]] WEFT_ALWAYS_INLINE result<task*> new_task() noexcept {
    const runtime_section in;
    worker* const here = worker_here();
    return WEFT_LIKELY(here != nullptr) ? here->new_record() : new_task_of_stranger();
  }
  /// Gives back a record that was not begun.
  void discard(task& blank) noexcept;
  /// Gives a record back whose task has ended, from any thread.
  WEFT_ALWAYS_INLINE void release(task& done) noexcept {
    drop_extras(done);
    const runtime_section in;
    if (worker* const here = worker_here(); WEFT_LIKELY(here != nullptr)) return here->free_record(done);
    release_of_stranger(done);
  }
  /// Frees what a task has on the heap, before its record is freed.
  void drop_extras(task& ended) noexcept {
    if (!WEFT_LIKELY(!ended.has_belongings())) delete_extras(ended);
  }

  // -- All tasks ------------------------------------------------------------------------------------------------------

  /// Those that are alive.
  [[nodiscard]] std::vector<task_info> list() const;
  /// For debuggers.
  [[nodiscard]] record_slab::place place_of_records() const noexcept { return records_.where(); }
  /// Calls function(task&, task_info) for each; what is known of it may be that of a moment ago.
  template <class F>
  void for_each_task(F&& function) {
    records_.for_each_live([&](const task& each, record_handle life) {
      const task_info found = describe(each, life);
      if (records_.resolve(life) == &each) function(const_cast<task&>(each), found);
    });
  }
  /// The same with each context; none goes meanwhile.
  template <class F>
  void for_each_context(F&& function) {
    const scoped_hold hold(pools_lock_);
    for (pool& each : pools_) function(each);
  }
  [[nodiscard]] runtime_statistics statistics();
  /// The same, for a person. Throws: std::bad_alloc.
  void report_statistics();
  /// How deep tasks went, by where they were spawned. Throws: std::bad_alloc.
  void report_stacks() const;
  /// Asks all tasks to stop, and all that they begin from now on.
  void cancel_all() noexcept;
  /// Wakes the children of a nursery that wait and were asked to stop.
  void wake_cancelled(std::uintptr_t owner) noexcept;
  /// Wakes those of one context that wait and were asked to stop.
  void wake_cancelled_in(context_id home) noexcept;
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

  // -- Stacks ---------------------------------------------------------------------------------------------------------

  [[nodiscard]] stack_pool& stacks() noexcept { return stacks_; }
  /// How deep tasks go.
  [[nodiscard]] depth_book& depths() noexcept { return depths_; }
  /// Keeps a stack that nobody will stand on any more, but that others may know addresses in.
  void keep_abandoned(fiber& gone) noexcept;

  /// The threads that run what would block a worker.
  [[nodiscard]] blocking_threads& blocking() noexcept { return blocking_; }

  // -- Contexts, and the end of all ---------------------------------------------------------------------------------------

  /// A context begins, or has ended. Returns false if the runtime ends: then it has not begun.
  [[nodiscard]] bool try_add(pool& made) noexcept;
  /// What sysmon does, each time that it looks. Returns the worst that it has seen.
  [[nodiscard]] sysmon_sight look_after_all(time_point now) noexcept;
  /// By sysmon, before it sleeps.
  [[nodiscard]] bool leave_notes() noexcept;
  /// The process may use so many processors now: contexts follow whose size was chosen for the machine.
  void follow_processors(std::uint32_t usable) noexcept;
  [[nodiscard]] sysmon& watcher() noexcept { return sysmon_; }
  [[nodiscard]] const sysmon& watcher() const noexcept { return sysmon_; }
  /// For the chance in another context.
  [[nodiscard]] std::uint64_t next_seed() noexcept;
  /// The first one: where those go who come from elsewhere and do not say where to.
  [[nodiscard]] pool* first() const noexcept { return first_; }
  /// Whether that one runs on the thread of who waits.
  [[nodiscard]] bool runs_on_caller() const noexcept;
  void remove(pool& gone) noexcept;

  /// Turns strangers away, from all contexts.
  void close() noexcept;
  /// Returns once all tasks have ended, or at the deadline: whether they have. By one at a time: a thread, or a task of another
  /// runtime.
  bool drain(time_point deadline) noexcept;
  /// By a worker that goes to sleep, behind a heavy barrier: tells who drains, if all have ended.
  void tell_if_over() noexcept;
  /// By whoever may have been counted in for a moment.
  void tell() noexcept { farewell_.tell(); }

  [[nodiscard]] bool is_over_now() noexcept override;
  [[nodiscard]] bool wait_on_thread(parker& mine, time_point deadline) noexcept override;

 private:
  friend class pool;
  friend class worker;

  /// Records of those who are no workers, in a few homes behind locks.
  struct strangers {
    default_platform::mutex lock;
    record_slab::home* home = nullptr;
  };
  static constexpr std::size_t stranger_homes = 4;

  void tell_of_overload() noexcept;
  [[nodiscard]] strangers& strangers_here() noexcept;
  [[nodiscard]] result<task*> new_task_of_stranger() noexcept;
  void release_of_stranger(task& done) noexcept;
  void delete_extras(task& ended) noexcept;
  [[nodiscard]] task_info describe(const task& one, record_handle life) const;
  static void trim_held(task& held) noexcept;
  [[nodiscard]] bool is_quiet() noexcept;
  // Whether no task has come from outside before. Says so once.
  [[nodiscard]] bool is_first_task() noexcept {
    return !had_first_.exchange(true, std::memory_order_relaxed);
  }
  void note_fork() noexcept;
  void check_handles() const noexcept;
  void check_contexts() noexcept;

  const commons_options options_;
  const barrier_kind barriers_;
  stack_pool stacks_;
  record_slab records_;
  std::array<strangers, stranger_homes> strangers_;
  caretaker caretaker_;
  depth_book depths_;
  bool is_forked_ = false;  // written where there is one thread
  farewell farewell_;
  std::atomic<bool> had_first_{false};

  default_platform::mutex pools_lock_;  // over what follows
  intrusive_list<pool, commons_tag> pools_;
  sysmon sysmon_;
  blocking_threads blocking_;
  quit_dump quit_dump_;
  xoshiro256ss random_;
  pool* first_ = nullptr;     // written before there is a second thread
  bool is_closed_ = false;    // to strangers
  bool is_stopping_ = false;  // all tasks are asked to stop

  default_platform::mutex abandoned_lock_;
  fiber* abandoned_ = nullptr;  // stacks that their tasks have run past, until the end
  mutable default_platform::mutex
      extras_lock_;  // nothing that a task has on the heap goes while somebody looks at it
};

}  // namespace weft::impl
