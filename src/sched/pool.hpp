// SPDX-License-Identifier: Apache-2.0
//
// pool — an execution context: workers, and what they share among themselves.
//
// A task belongs to one pool at a time, and is run by its workers alone, whoever wakes it.
//
// Thread safety: any thread, unless said otherwise.
// Invariants:   PO1  a ready task lies in a queue of its own pool
//               PO2  workers end after the last task
#pragma once

#include "event/timer_loop.hpp"
#include "queue/global_queue.hpp"
#include "sched/commons.hpp"
#include "sched/crew.hpp"
#include "sched/farewell.hpp"
#include "sched/identity.hpp"
#include "sched/idle.hpp"
#include "sched/loop.hpp"
#include "sched/overseer.hpp"
#include "sched/worker.hpp"
#include "sys/thread_place.hpp"

#include <weft/runtime.hpp>
#include <weft/statistics.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace weft {
class execution_context;
}  // namespace weft

namespace weft::impl {

class pool;

/// How many workers a pool has.
struct crew_size {
  std::uint32_t least = 1;  ///< from the beginning
  std::uint32_t most = 1;   ///< that come when there is work for them
  bool is_chosen = false;   ///< for the machine: follows what this process may use of it
  bool may_grow = false;    ///< one is not what somebody has asked for, so that its tasks take turns
};

struct pool_options {
  std::string name;
  crew_size size;
  std::uint32_t capacity = 1;  ///< those included that sysmon adds
  std::uint64_t seed = 0;
  victim_order victims = victim_order::random;
  placement fresh = placement::local;
  std::uint32_t most_attempts = 4;  ///< victims a search looks at, at most
  bool steal = true;
  std::optional<backoff_mode> backoff;   ///< how a worker searches; none: by its own habits
  duration idle_poll = duration::max();  ///< a worker that sleeps looks around so often
  bool wake_on_spawn = true;             ///< it is also told of what others put into their own queues
  bool has_timer_thread = false;
  duration timer_idle_cap = duration::max();
  bool runs_on_caller = false;    ///< no threads: who waits runs the only worker
  bool cancels_leftovers = true;  ///< at the end
  overseer_options oversight;
  std::shared_ptr<const overload_hook> on_overload;  ///< null: nobody wants to know
  thread_place place;           ///< of its threads; where sysmon may run, if nothing is said
  pool* spawns_into = nullptr;  ///< where what its tasks spawn goes, where that is not itself
  bool is_arranged =
      false;  ///< it has no threads: its face says when and where its tasks run (sched/arranged.cpp)
  pool* inner = nullptr;  ///< whose workers run its tasks, where it wraps another
};

class pool : public farewell_host, public list_node<commons_tag> {
 public:
  /// Throws: std::bad_alloc.
  pool(commons& all, const pool_options& how);
  pool(const pool&) = delete;
  pool& operator=(const pool&) = delete;
  /// Waits for the last task, and ends the workers. Not to be called in a forked child.
  ~pool() override;

  /// Starts the workers. Returns why that was not possible; then none is left running.
  [[nodiscard]] result<void> start() noexcept;

  [[nodiscard]] commons& all() const noexcept { return all_; }
  /// Where in it its name is; for debuggers.
  [[nodiscard]] std::size_t name_offset() const noexcept {
    return static_cast<std::size_t>(reinterpret_cast<const std::byte*>(&options_.name) -
                                    reinterpret_cast<const std::byte*>(this));
  }
  [[nodiscard]] context_id id() const noexcept { return usual_.home(); }
  /// How its tasks go that are nothing special.
  [[nodiscard]] route usual() const noexcept { return usual_; }

  // -- Tasks ----------------------------------------------------------------------------------------------------------

  /// Begins a task that was made for it. Returns false if the pool takes no more; then it has been given back.
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
    if (WEFT_LIKELY(options_.fresh == placement::local && made.goes() == usual_)) {
      here.push_task(made);
    } else {
      place_child(made);
    }
    // A parent that was asked to stop by itself asks its children, too.
    if (!WEFT_LIKELY(!parent.cancel.requested())) cancel_child(made, group);
    // Who spawns into a nursery waits for its children anyway. Who keeps handles may hold a lock that they need.
    if (group != nullptr && !WEFT_LIKELY(here.tasks.size() < most_waiting) && parent.no_suspend == 0)
      let_children_run(parent);
  }
  /// The worker of this pool that runs the caller; null if it is run by none of them.
  [[nodiscard]] WEFT_ALWAYS_INLINE worker* worker_here() noexcept {
    worker* const here = current_worker();
    return here != nullptr && &here->of() == this ? here : nullptr;
  }
  /// Counts a task in that its worker has made and runs at once; nobody holds it.
  static void adopt(worker& on, task& made) noexcept;
  /// The end of a task that ran, on the worker that it ended on.
  WEFT_ALWAYS_INLINE static void end(worker& on, task& done, const task_ending& ending) noexcept {
    if (ending.duty == finish_duty::free_record) {
      on.free_record(done);
      if (ending.owner != 0) on.count_out(*nursery_core::from(ending.owner));
    }
    if (ending.duty == finish_duty::wake) wake_waiter(ending.waiter);
    on.row().end();
  }
  /// Asks a task to stop; the caller holds its handle.
  static void cancel(task& held) noexcept;

  /// Wakes who waits by a handle.
  static void wake_waiter(waiter_word waiting) noexcept;
  /// Wakes a task that waits for the end of another; of an arm of a join.
  static void wake_joiner(task& waiting) noexcept { wake(waiting, waiting.join_ticket()); }
  static void wake_caller(task& waiting) noexcept { wake(waiting, waiting.arm_ticket()); }
  /// Ends a wait, if it still stands.
  static void end_wait(task& waiting, wait_ticket ticket) noexcept { wake(waiting, ticket); }
  /// Makes a fiber runnable that the caller has claimed. `soon`: see worker::push_ready.
  static void make_runnable(task& claimed, bool soon = true) noexcept;

  // -- Queues ---------------------------------------------------------------------------------------------------------

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
      if (WEFT_LIKELY(woken.goes().is_usual())) {
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
  /// Puts something off that cannot be begun for want of a stack.
  void put_off(runnable later) noexcept;
  /// Lets others go first, for want of memory.
  static void nap() noexcept;

  // -- Tasks that its face arranges, or that another pool runs ------------------------------------------------------------

  /// Whether its face says when and where its tasks run.
  [[nodiscard]] bool is_arranged() const noexcept { return options_.is_arranged; }
  /// The one that it wraps; null if it wraps none.
  [[nodiscard]] pool* inner() const noexcept { return options_.inner; }
  /// A task of a wrapper is to be run by this one.
  void accept(runnable ready, task& whose) noexcept;
  /// A task leaves the wrapper that it is in: it ends, or goes elsewhere. Then it is in the one that is wrapped.
  static void leave_wrapper(task& leaving) noexcept;
  /// A task that was made by one in a wrapper is in it as well, and counted so; unless that ends. Returns whether it is to stop as well,
  /// then.
  [[nodiscard]] static bool enter_wrapper_of(const task& maker, task& made) noexcept;
  /// A task comes, from elsewhere or made by the caller. Returns how many came so before; nothing if it cannot.
  [[nodiscard]] std::optional<std::uint64_t> try_enter(bool is_outsider) noexcept;
  /// A place for a thread that runs tasks of it, one after the other; fails with errc::out_of_stacks and the like, and where all places
  /// are taken.
  [[nodiscard]] result<std::uint32_t> take_place() noexcept;
  void give_place(std::uint32_t place) noexcept;
  /// Runs a task until it waits or ends, on the calling thread.
  void run_one(std::uint32_t place, runnable ready) noexcept;
  /// How many places are taken.
  [[nodiscard]] std::uint32_t places_taken() const noexcept {
    return places_taken_.load(std::memory_order_relaxed);
  }
  /// What has asked all that is in it to stop, where it wraps another.
  [[nodiscard]] const cancel_flag& stop_of_wrapped() const noexcept { return stop_of_wrapped_; }
  /// Whether all have ended, and nobody has still something to tell it. After close(turned_away::strangers).
  [[nodiscard]] bool is_left() noexcept;
  /// Who is there for a moment without being one of its own. [PO-visit]
  [[nodiscard]] farewell::visitors& guests() noexcept { return farewell_.guests(); }
  /// Returns when nobody is.
  void await_guests() const noexcept { farewell_.await_guests(); }

  // -- The end --------------------------------------------------------------------------------------------------------

  /// Turns those away from now on; good after census::settle(). By one at a time.
  void close(turned_away who) noexcept { census_.close(who); }
  /// All that its workers run is asked to stop. Whoever waits is woken by another step, after cancel_flag::settle().
  void raise_stop() noexcept;
  /// Asks its tasks to stop, and all that begin from now on.
  void cancel_all() noexcept;
  /// Turns away all but its own tasks; returns once all have ended, or at the deadline: whether they have. By one at a time: a
  /// thread, or a task of another pool.
  bool drain(time_point deadline = never) noexcept;

  [[nodiscard]] bool is_over_now() noexcept override;
  /// Waits on a thread that is no worker, until the parker has its token or the deadline has passed: whether it has.
  [[nodiscard]] bool wait_on_thread(parker& mine, time_point deadline) noexcept override {
    return WEFT_LIKELY(!options_.runs_on_caller) ? mine.park_until(deadline) : drive(mine, deadline);
  }
  /// Whether the thread that lends itself has waited long enough, and its worker is to let it go.
  [[nodiscard]] bool is_driver_done() const noexcept {
    return driver_ != nullptr && driver_->has_token_approx();
  }
  /// All that its tasks were, in all rows. For sums: all ends first.
  [[nodiscard]] std::uint64_t ended() const noexcept { return census_.sum_ended(crew_.rows()); }
  [[nodiscard]] std::uint64_t begun() const noexcept { return census_.sum_begun(crew_.rows()); }

  // -- Workers that come and go, by sysmon ----------------------------------------------------------------------------------

  /// How many workers it shall have.
  [[nodiscard]] std::uint32_t limit() const noexcept { return crew_.limit(); }
  /// Changes that, and how many of them are there at once. Those that are too many go when they have ended what they run. Returns why
  /// there could not be so many at once; then they come later.
  [[nodiscard]] result<void> resize(const crew_size& size) noexcept;
  /// The same where the number was chosen for the machine, which lets this process use so many processors now.
  void follow_processors(std::uint32_t usable) noexcept;
  /// Whether that was chosen for the machine.
  [[nodiscard]] bool is_chosen() const noexcept { return is_chosen_.load(std::memory_order_relaxed); }
  /// Whoever asks for a single worker wants tasks to take turns: sysmon adds none.
  [[nodiscard]] bool takes_turns() const noexcept {
    return limit() == 1 && !may_grow_.load(std::memory_order_relaxed);
  }
  /// Puts something into the queue that is no work, and tells; not where those that sleep come by themselves.
  void queue(runnable something) noexcept {
    global_.push(something);
    if (options_.wake_on_spawn) (void)idle_.after_push();
  }
  /// What was left for a worker that is not there goes to all: those that are there may never look for it, if each has enough to do.
  void collect_mail_of(std::uint32_t absent) noexcept;
  /// Whether nobody looks after the events now.
  [[nodiscard]] bool is_seat_empty_approx() const noexcept { return seat_.is_empty_approx(); }
  /// Somebody who sleeps comes to look after the events.
  void wake_for_events() noexcept { (void)idle_.wake_for_events(); }
  /// Whether whatever comes waits for too long, by now; by sysmon.
  [[nodiscard]] bool is_overloaded_anew() const noexcept { return overseer_.is_overloaded_anew(); }
  void forget_overload() noexcept { overseer_.forget_overload(); }
  [[nodiscard]] duration queue_age() const noexcept {
    return overseer_.queue_age(default_platform::clock().now());
  }
  [[nodiscard]] sysmon_sight look_after(time_point now) noexcept {
    return is_arranged() ? sysmon_sight{} : overseer_.look(now);
  }
  [[nodiscard]] bool leave_notes() noexcept { return is_arranged() || overseer_.leave_notes(); }
  /// A worker that was called comes, if it is still to come: whether it does. Or returns why it cannot; then it is not called until
  /// enroll().
  [[nodiscard]] result<bool> bring(std::uint32_t worker) noexcept;
  /// From now on a worker may be called, if it is not there.
  void enroll(std::uint32_t worker) noexcept;
  /// The same for one that the crew has listed.
  void enroll_listed(std::uint32_t worker) noexcept;
  /// By its thread, as the last thing that this does with the pool.
  void note_end(worker& gone) noexcept;
  /// Adds a worker beyond the limit, in that place if it is free.
  [[nodiscard]] result<bool> try_add_worker(std::uint32_t worker) noexcept;
  /// Whether something waits that any worker may take.
  [[nodiscard]] bool has_work_approx() const noexcept;
  /// The same of what belongs to no worker, but for something that does not count.
  [[nodiscard]] bool has_shared_work_beside(runnable one) const noexcept {
    return has_work_in_lanes() || (!global_.empty() && !global_.holds_only_approx(one));
  }
  /// The same wherever it is, but for that.
  [[nodiscard]] bool has_work_beside(runnable one) const noexcept;
  [[nodiscard]] context_statistics statistics() const;
  /// The same, for a person. Throws: std::bad_alloc.
  void report_statistics() const;
  [[nodiscard]] const overseer_counters& scaled() const noexcept { return overseer_.counters(); }

  /// By each of its threads, first of all.
  void bring_to_place() const noexcept;

  /// As whom users know it; null if they do not.
  [[nodiscard]] execution_context* face() const noexcept { return face_; }
  void show(execution_context& face) noexcept { face_ = &face; }

  [[nodiscard]] const crew& workers() const noexcept { return crew_; }
  void join_ended_threads() noexcept { crew_.sweep(); }
  /// Where its tasks' timers are: where nobody looks at its own, at the first of the runtime.
  [[nodiscard]] timer_loop& events() noexcept { return events_; }
  /// For tests.
  [[nodiscard]] const impl::idle& beds() const noexcept { return idle_; }
  void set_stealing(bool enabled) noexcept { steals_.store(enabled, std::memory_order_relaxed); }
  [[nodiscard]] bool is_stealing() const noexcept { return steals_.load(std::memory_order_relaxed); }
  [[nodiscard]] const pool_options& options() const noexcept { return options_; }
  [[nodiscard]] barrier_kind barriers() const noexcept { return all_.barriers(); }

 private:
  friend class crew;
  friend class worker;

  static constexpr std::uint32_t most_waiting = 1024;

  static void cancel_child(task& begun, nursery_core* group) noexcept;
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
  [[nodiscard]] result<void> start_workers() noexcept;
  [[nodiscard]] result<void> resize_locked(const crew_size& size) noexcept WEFT_REQUIRES(resize_lock_);
  bool drive(parker& mine, time_point deadline) noexcept;
  void place(task& fresh) noexcept;
  void place_child(task& fresh) noexcept;
  void enter_as_member(const pool* up_to) noexcept;
  [[nodiscard]] const pool* try_enter_up_to(const pool& up_to) noexcept;
  void check_users() const noexcept;
  [[nodiscard]] pool* used() const noexcept;
  void hand_to_face(runnable ready, task& whose) noexcept;
  void put_in_lane(runnable ready, priority lane) noexcept;
  static void give_to_its_context(runnable ready, task& whose) noexcept;
  void run_timers() noexcept;
  [[nodiscard]] worker& next_in_turn() noexcept;
  static void wake(task& waiting, wait_ticket ticket) noexcept;
  void stop() noexcept;
  // By a worker that goes to sleep.
  void tell_if_last_one_out() noexcept;

  commons& all_;
  const pool_options options_;
  route usual_;
  census census_;
  timer_loop loop_;
  timer_loop& events_;
  event_seat seat_;
  impl::idle idle_;
  global_queue global_;
  global_queue urgent_;
  global_queue patient_;
  crew crew_;
  overseer overseer_;
  default_platform::mutex resize_lock_;
  bool has_started_ WEFT_GUARDED_BY(resize_lock_) = false;
  std::uint32_t least_ WEFT_GUARDED_BY(resize_lock_);
  std::array<bool, 256> is_taken_ WEFT_GUARDED_BY(resize_lock_){};  // places, by threads that come and go
  std::atomic<std::uint32_t> places_taken_{0};                      // relaxed: a number
  std::atomic<std::uint32_t> users_{0};  // that wrap it, or spawn into it; relaxed: a number
  cancel_flag stop_of_wrapped_;
  std::atomic<bool> is_chosen_;  // relaxed, both: for sysmon, late
  std::atomic<bool> may_grow_;
  default_platform::atomic<std::uint32_t> next_place_{0};
  std::atomic<bool> steals_;  // relaxed: obeyed late
  farewell farewell_;
  default_platform::thread timer_thread_;
  bool is_added_ = false;
  execution_context* face_ = nullptr;
  parker* driver_ = nullptr;  // whoever has lent its thread to the only worker
  time_point drive_until_ = never;
};

}  // namespace weft::impl
