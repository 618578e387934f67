// SPDX-License-Identifier: Apache-2.0
//
// worker — a thread of a pool: what it has to run, and in which order it runs it.
//
// A worker has a deque of fresh tasks, newest first, that others may rob; a line of fibers that may go on, first in,
// first out, that others may share; and an inbox where others leave things. The two classes take turns while both have
// something, and every so often the oldest of everything comes first, so that nobody starves.
//
// How it changes from one stack to another is in sched/loop.cpp.
//
// Thread safety: belongs to its thread, but for what is marked as anyone's.
// Invariants:   WO1  a thread's worker is the carrier attached to it
//               WO2  there is always a spare stack to go on with, or the worker runs on the last one and begins nothing
#pragma once

#include "arch/carrier.hpp"
#include "base/cache_line.hpp"
#include "base/prefetch.hpp"
#include "queue/global_queue.hpp"
#include "queue/inbox.hpp"
#include "queue/ready_line.hpp"
#include "queue/record_slab.hpp"
#include "queue/thief.hpp"
#include "queue/work_deque.hpp"
#include "sched/caretaker.hpp"
#include "sched/census.hpp"
#include "sched/fiber.hpp"
#include "sched/held_locks.hpp"
#include "sched/nursery_core.hpp"
#include "sched/task.hpp"
#include "sched/worker_progress.hpp"
#include "stack/overflow.hpp"
#include "stack/stack_pool.hpp"
#include "stack/usage.hpp"
#include "sys/platform.hpp"

#include <weft/backoff.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

namespace weft::impl {

class commons;
class pool;

#ifdef WEFT_FORCE_MIGRATION
/// Every task that has waited goes on upon another worker, where there are several.
inline constexpr bool forces_migration = true;
#else
inline constexpr bool forces_migration = false;
#endif

using record_slab = basic_record_slab<default_platform, task>;
using census = basic_census<default_platform>;

/// What a worker has done. Written by the worker, read by anyone.
struct worker_counters {
  std::atomic<std::uint64_t> stolen{0};  // runnables got from others
  std::atomic<std::uint64_t> failed_steals{0};

  template <class Number>
  static void add(std::atomic<Number>& to, std::type_identity_t<Number> n = 1) noexcept {
    to.store(to.load(std::memory_order_relaxed) + n,
             std::memory_order_relaxed);  // relaxed: a statistic, one writer
  }
};

/// The carrier in a worker, as large as the distance to its front.
struct alignas(contended_bytes) worker_carrier : carrier {
  // Explicit, since what follows may lie in padding that is not.
  std::byte distance[detail::worker_front_offset - sizeof(carrier)]{};
};
static_assert(sizeof(worker_carrier) == detail::worker_front_offset);

class worker : public worker_carrier, public detail::worker_front {
 public:
  worker(pool& of, std::uint16_t index, census::row& row, xoshiro256ss random);
  worker(const worker&) = delete;
  worker& operator=(const worker&) = delete;
  ~worker();

  /// Gets what it needs to run, by whoever starts it; and gives that back, by its thread or when that has ended.
  [[nodiscard]] result<void> furnish() noexcept;
  void unfurnish() noexcept;
  /// On which its thread handles faults; there once it is furnished.
  [[nodiscard]] alternate_stack& faults() noexcept { return faults_; }
  /// What a thread that is this worker does, from its first moment to its last.
  void run_thread() noexcept;
  /// What a thread does that is this worker for one task: runs it until that waits or ends.
  void run_given(runnable ready) noexcept;
  /// Before its thread is started: whether it comes because it was called.
  void prepare(bool was_called) noexcept {
    was_called_ = was_called;
    must_go_.store(false, std::memory_order_relaxed);  // relaxed: the start of the thread orders it
  }
  /// Anyone's: its thread ends as soon as it runs nothing and nothing is pinned to it. Or not, after all.
  void ask_to_go(bool go) noexcept;
  [[nodiscard]] bool is_asked_to_go() const noexcept { return must_go_.load(std::memory_order_relaxed); }

  // -- What it has to run -------------------------------------------------------------------------------------------

  /// Adds a fresh task, to be run before older ones.
  WEFT_ALWAYS_INLINE void push_task(task& fresh) noexcept {
    const runnable made(runnable::kind::task, &fresh);
    if (!WEFT_LIKELY(push(made))) push_without_memory(made);
  }
  /// Adds a fiber that may go on. `soon`: before the others, because what it waited for is in the cache.
  WEFT_ALWAYS_INLINE void push_ready(task& woken, bool soon) noexcept {
    const runnable ready(runnable::kind::fiber, &woken);
    if (!WEFT_LIKELY(woken.goes() == mine_) || forces_migration) return push_aside(ready, woken);
    if (soon) {
      ready_.push_first(ready);
    } else {
      ready_.push(ready);
    }
    tell_if_somebody_is_idle(barriers);
  }

  /// What is to be run next: nothing if this worker has nothing, and nothing was left for it.
  [[nodiscard]] WEFT_ALWAYS_INLINE runnable pick() noexcept {
    // relaxed: seen late, looked at late.
    if (!WEFT_LIKELY(!looks_aside_.load(std::memory_order_relaxed))) {
      if (const runnable special = pick_aside()) return special;
    }
    if (WEFT_LIKELY(count_pick() != 0)) {
      if (ready_.size() == 0 || is_children_turn()) {
        // Nothing but fresh tasks: the shortest way.
        if (const runnable next = tasks.pop()) {
          prefetch_task(tasks.guess(prefetch_distance));
          if (!WEFT_LIKELY(!is_asked())) answer();
          return next;
        }
      } else if (tasks.size() == 0) {
        // Nothing but fibers.
        if (const runnable next = ready_.pop()) {
          if (!WEFT_LIKELY(!is_asked())) answer();
          return next;
        }
      }
    }
    return pick_among_all();
  }
  /// The same, but looks for it everywhere and sleeps until there is something. Nothing once the pool shuts down.
  [[nodiscard]] WEFT_ALWAYS_INLINE runnable next() noexcept {
    was_handed_ = static_cast<bool>(handed_);
    if (!WEFT_LIKELY(!was_handed_)) return std::exchange(handed_, {});
    const runnable found = pick();
    return WEFT_LIKELY(found) ? found : sampled_apart(find_or_sleep());
  }
  /// As pick(), for a task that gives way: it goes to the end of the line, in the place of the one that is picked. Only where there is
  /// nothing but fibers, and nothing else to be looked at; nothing otherwise. On the other side of the switch the line is left
  /// (duty::leave_line).
  [[nodiscard]] WEFT_ALWAYS_INLINE runnable try_change_places(task& leaving) noexcept {
    // relaxed: seen late, looked at late.
    if (!WEFT_LIKELY(!looks_aside_.load(std::memory_order_relaxed))) return {};
    const std::uint32_t picks_left = until_oldest();
    if (!WEFT_LIKELY(picks_left != 1 && children_first_ == 0 && counting_ == nullptr)) return {};
    if (!WEFT_LIKELY(tasks.size() == 0 && leaving.goes() == mine_)) return {};
    if (!WEFT_LIKELY(!tasks.asked()) || !WEFT_LIKELY(!ready_.asked())) return {};
    const runnable next = ready_.exchange({runnable::kind::fiber, &leaving});
    // By the number that was looked at: sysmon may have made it 1 since.
    if (WEFT_LIKELY(next)) set_until_oldest(picks_left - 1);
    return next;
  }

  // -- Records ------------------------------------------------------------------------------------------------------

  [[nodiscard]] result<task*> new_record() noexcept { return home_->allocate(); }
  void free_record(task& done) noexcept { home_->free(done); }
  void discard_record(task& blank) noexcept { home_->discard(blank); }

  /// A task begins on this worker: from now on it is alive.
  WEFT_ALWAYS_INLINE void count_in(task& made) noexcept {
    row_.begin();
    (void)record_slab::publish(made);
  }

  // -- The ends of nurseries' children: in bundles, so that not each costs a read-modify-write ------------------------------

  /// A child has ended. Its nursery learns of it at the latest before this worker runs anything that is not its child.
  WEFT_ALWAYS_INLINE void count_out(nursery_core& of) noexcept {
    if (!WEFT_LIKELY(counting_ == &of)) {
      settle_count();
      counting_ = &of;
    }
    ++counted_;
  }
  [[nodiscard]] bool is_counting() const noexcept { return counting_ != nullptr; }
  /// Before something else is run than a child of the same nursery.
  WEFT_ALWAYS_INLINE void settle_unless_of(runnable next) noexcept {
    if (next.what() == runnable::kind::task &&
        nursery_core::of(*static_cast<task*>(next.address())) == counting_)
      return;
    settle_count();
  }
  void settle_count() noexcept {
    if (counting_ == nullptr) return;
    std::exchange(counting_, nullptr)->count_out(std::exchange(counted_, 0));
  }

  // -- Stacks -------------------------------------------------------------------------------------------------------

  /// A stack whose loop waits to go on. Never fails (WO2).
  [[nodiscard]] fiber& take_spare() noexcept;
  void keep_spare(fiber& unused) noexcept;
  /// The one that has been unused for longest.
  [[nodiscard]] fiber& take_oldest_spare() noexcept;
  /// Whether what was picked is to begin on another stack than the loop's: where each task has an identity of its own, and
  /// it was not handed over to this one.
  [[nodiscard]] bool begins_elsewhere(runnable picked) noexcept;
  /// A stack of another size, whose loop runs one task; null where there is none now.
  [[nodiscard]] fiber* try_make_fiber(stack_class of) noexcept;
  /// Whether it runs on its last stack, and can get no other: then it may begin nothing that could wait.
  [[nodiscard]] bool is_short_of_stacks() noexcept {
    return !WEFT_LIKELY(spare_ != nullptr) && !try_keep_another();
  }

  // -- What is to be done on the other side of a switch --------------------------------------------------------------

  enum class duty : std::uint8_t {
    nothing,
    park,
    leave_line,
    requeue,
    requeue_behind,
    keep,
    unmake,
    abandon,
    move_out
  };
  void leave_duty(duty what, void* with) noexcept {
    duty_ = what;
    duty_with_ = with;
  }
  /// The first thing after a switch has come to a fiber on this worker.
  void arrive() noexcept {
    watermark = static_cast<fiber*>(current)->watermark;
    if (WEFT_LIKELY(duty_ == duty::leave_line)) {
      duty_ = duty::nothing;
      ready_.leave();
    } else if (duty_ != duty::nothing) {
      do_duty();
    }
  }
  void do_duty() noexcept;
  /// Whether it is in the middle of going from one stack to another.
  [[nodiscard]] bool is_between_stacks() const noexcept {
    return duty_ != duty::nothing || static_cast<bool>(handed_);
  }

  /// Puts something back that it has taken and cannot begin.
  void put_back(runnable taken) noexcept;

  [[nodiscard]] pool& of() const noexcept { return pool_; }
  [[nodiscard]] commons& all() const noexcept { return all_; }
  /// How the tasks of its pool go that are nothing special.
  [[nodiscard]] route usual() const noexcept { return usual_; }
  /// Where tasks go that its tasks spawn: to its own pool, mostly.
  [[nodiscard]] pool& spawns_into() const noexcept { return spawns_into_; }
  [[nodiscard]] bool spawns_here() const noexcept { return &spawns_into_ == &pool_; }
  [[nodiscard]] std::uint16_t index() const noexcept { return index_; }
  [[nodiscard]] census::row& row() noexcept { return row_; }
  [[nodiscard]] const census::row& row() const noexcept { return row_; }

  /// A fresh task or the like that a switch takes along to the loop on the other side.
  void hand_over(runnable taken) noexcept {
    WEFT_ASSERT(!handed_, "two runnables are handed over at once");
    handed_ = taken;
  }

  /// Anyone's: leaves something for this worker.
  void leave(runnable something) noexcept { inbox_.push(something); }
  /// Anyone's: leaves something that nobody else may take, and wakes it.
  void leave_for_it_alone(runnable something) noexcept;
  /// From now on it looks for such things. By itself.
  void expect_own() noexcept { looks_aside_.store(true, std::memory_order_relaxed); }
  /// Anyone's: whether others could take something from it.
  [[nodiscard]] bool has_work_approx() const noexcept;
  /// Anyone's: whether something was left for it.
  [[nodiscard]] bool has_mail_approx() const noexcept { return !inbox_.empty_after_barrier(); }

  /// Anyone's: the task that it runs is asked to give way at its next checkpoint.
  void ask_to_yield() noexcept {
    should_yield_.store(true, std::memory_order_relaxed);
  }  // relaxed: obeyed late
  /// By itself: whether it was asked to; it is no longer.
  [[nodiscard]] bool take_yield_request() noexcept {
    if (WEFT_LIKELY(!should_yield_.load(std::memory_order_relaxed))) return false;
    if (gives_way_unasked_) return is_time_to_give_way();
    should_yield_.store(false, std::memory_order_relaxed);
    return true;
  }

  /// By sysmon: before its next pick it looks at what has become ready meanwhile, and at what was left for it or for all. Only if it
  /// has picked nothing since `seen`, which is changed accordingly: whether it was so.
  bool ask_to_look(worker_progress& seen) noexcept {
    // relaxed, all: obeyed late. If the worker picks at the same time, one of the two is lost, and both do no harm.
    std::uint32_t none = 0;
    // Asked again, it still goes on where it was before it was asked first: else its oldest would never have their turn.
    const bool is_first = looks_then_.compare_exchange_strong(none, seen.picks, std::memory_order_relaxed);
    std::uint32_t expected = seen.picks;
    if (until_oldest_.compare_exchange_strong(expected, 1, std::memory_order_relaxed)) {
      seen.picks = 1;
      return true;
    }
    if (is_first) looks_then_.store(0, std::memory_order_relaxed);
    return false;
  }

  /// Anyone's: whatever it runs is asked to stop.
  cancel_flag stop;

  // -- For those who look -------------------------------------------------------------------------------------------------

  /// Anyone's: how far it has come; its thread, 0 where it has none.
  [[nodiscard]] worker_progress progress() const noexcept {
    return {.ended = row_.ended(),
            .picks = until_oldest(),
            .waiting = tasks.size_approx(),
            .rounds = rounds_.load(std::memory_order_relaxed)};  // relaxed: a hint
  }
  [[nodiscard]] pid_t thread_number() const noexcept {
    return thread_number_.load(std::memory_order_relaxed);
  }
  [[nodiscard]] std::uint32_t waiting_approx() const noexcept {
    return tasks.size_approx() + ready_.size_approx();
  }
  /// A task of it is pinned from now on, or no longer. By itself.
  void count_pinned(int change) noexcept { pinned_ += change; }

  /// Its pool, if that never has another worker: then its tasks take turns, and may rely on that. For ThreadSanitizer.
  void* const alone_in;

  worker_counters counters;
#ifdef WEFT_CHECKS_LOCKS
  held_locks locks;             // its own
  bool is_noting_lock = false;  // its own
#endif
  std::uint32_t low_stack_depth = 0;  // its own: see low_stack_section

 private:
  friend class pool;

  void push_without_memory(runnable made) noexcept;
  [[nodiscard]] runnable pick_among_all() noexcept;
  [[nodiscard]] runnable find_or_sleep() noexcept;
  void end_search_with(runnable found) noexcept;
  [[nodiscard]] runnable leave_if_asked() noexcept;
  [[nodiscard]] runnable left_half_or_leave() noexcept;
  [[nodiscard]] runnable pick_oldest() noexcept;
  [[nodiscard]] runnable pick_usual() noexcept;
  void push_aside(runnable ready, task& woken) noexcept;
  [[nodiscard]] runnable pick_aside() noexcept;
  [[nodiscard]] runnable take_own() noexcept;
  [[nodiscard]] runnable take_from(global_queue& lane) noexcept;
  [[nodiscard]] std::uint32_t take_look_request() noexcept;
  void look_around() noexcept;
  void take_in_events(bool of_all) noexcept;
  void take_in_what_came() noexcept;
  void take_in_mail() noexcept;
  void take_in_share(std::size_t most) noexcept;
  [[nodiscard]] bool refill() noexcept;
  // Whether fresh tasks go before the one fiber that is ready.
  [[nodiscard]] bool is_children_turn() noexcept {
    return children_first_ != 0 && ready_.size() == 1 && --children_first_ != 0;
  }
  [[nodiscard]] bool is_asked() const noexcept { return tasks.asked() || ready_.asked(); }
  void answer() noexcept;
  [[nodiscard]] bool do_chore(chore what) noexcept;
  [[nodiscard]] bool is_needed_by_some() const noexcept;
  [[nodiscard]] bool may_retire() const noexcept;
  [[nodiscard]] bool is_time_to_give_way() noexcept;
  [[nodiscard]] runnable go_or_finish() noexcept;
  [[nodiscard]] runnable hand_over_tasks() noexcept;
  void hand_over_fibers() noexcept;
  // relaxed, all three: a number of its own, at which sysmon looks.
  [[nodiscard]] std::uint32_t until_oldest() const noexcept {
    return until_oldest_.load(std::memory_order_relaxed);
  }
  void set_until_oldest(std::uint32_t picks) noexcept {
    until_oldest_.store(picks, std::memory_order_relaxed);
  }
  WEFT_ALWAYS_INLINE std::uint32_t count_pick() noexcept {
    const std::uint32_t left = until_oldest() - 1;
    set_until_oldest(left);
    return left;
  }
  [[nodiscard]] bool sees_work() const noexcept;
  [[nodiscard]] runnable search() noexcept;
  [[nodiscard]] runnable search_by(backoff_mode mode) noexcept;
  [[nodiscard]] runnable take_mail_of_others() noexcept;
  [[nodiscard]] worker& choose_victim() noexcept;
  // All but this one, by numbers from 0 on.
  [[nodiscard]] std::uint32_t others() const noexcept;
  [[nodiscard]] worker& other(std::uint32_t i) const noexcept;
  void even_out() noexcept;
  // Counts one of so many that were picked. Returns the same.
  [[nodiscard]] runnable sampled(runnable next) noexcept {
    if (next && next.what() == runnable::kind::task && measures_.next_is_sampled())
      static_cast<task*>(next.address())->add(task_mark::measured);
    return next;
  }
  // The same for those that are not picked in turn: of them as few.
  [[nodiscard]] runnable sampled_apart(runnable next) noexcept {
    if (!next || --until_counted_ != 0) return next;
    until_counted_ = oldest_every_;
    return sampled(next);
  }
  [[nodiscard]] std::uint32_t load_approx() const noexcept {
    return tasks.size_approx() + ready_.size_approx() + (inbox_.empty_approx() ? 0 : 1);
  }
  [[nodiscard]] runnable rob(worker& victim, bool& saw_work) noexcept;
  [[nodiscard]] runnable pop_loot(std::uint32_t count) noexcept;
  [[nodiscard]] bool share_line_of(worker& victim) noexcept;
  [[nodiscard]] fiber* try_make_fiber() noexcept { return try_make_fiber(usual_stack()); }
  [[nodiscard]] stack_class usual_stack() const noexcept;
  [[nodiscard]] result<stack_slot*> take_usual_stack() noexcept;
  void give_all_stacks_back() noexcept;
  [[nodiscard]] bool try_keep_another() noexcept;
  void unmake(fiber& unused) noexcept;
  void add_all(run_batch&& some) noexcept;

  // The records of a million tasks do not fit into a cache: the next ones are fetched while this one runs.
  static void prefetch_task(runnable guess) noexcept { prefetch_beginning_for_writing(guess.address()); }

  static constexpr std::uint32_t most_urgent_in_a_row = 16;
  static constexpr std::uint32_t patient_every = 8;  // of the times that the oldest is picked
  static constexpr std::uint32_t prefetch_distance = 16;
  static constexpr std::size_t most_spare = 64;
  static constexpr std::size_t most_reserve = 16;
  // So many stacks that nobody uses keep their memory; more of them only until nothing has happened for a while.
  static constexpr std::size_t warm_stacks = 1024;
  // Until a worker goes that is one too many, and has nothing to do.
  static constexpr duration retire_after = std::chrono::milliseconds(100);

  // Immutable, once it has started.
  pool& pool_;
  commons& all_;
  pool& spawns_into_;
  route usual_;
  route mine_;  // of those that may lie in its own queues: none, where the context arranges them
  const std::uint16_t index_;
  const thief_id name_;
  census::row& row_;

  // Its own.
  record_slab::home* home_ = nullptr;
  duty duty_ = duty::nothing;
  void* duty_with_ = nullptr;
  runnable handed_;
  bool was_handed_ = false;
  nursery_core* counting_ = nullptr;
  std::uint32_t counted_ = 0;
  std::uint32_t children_first_ = 0;
  std::uint32_t polls_ = 0;
  std::uint32_t urgent_in_a_row_ = 0;
  const std::uint32_t oldest_every_;
  std::atomic<std::uint32_t> until_oldest_{oldest_every_};
  std::atomic<std::uint32_t> looks_then_{0};  // 0, or it looks around next, and goes on with that number
  std::atomic<std::uint32_t> rounds_{0};      // of searching
  std::atomic<pid_t> thread_number_{0};
  bool was_called_ = false;
  std::atomic<bool> must_go_{false};  // relaxed: obeyed late
  int pinned_ = 0;                    // tasks
  std::uint32_t until_counted_ = oldest_every_;
  depth_sampler measures_;
  bool fibers_turn_ = false;
  fiber* spare_ = nullptr;
  std::size_t spare_count_ = 0;
  slot_chain reserve_;  // stacks without a loop yet
  std::size_t next_reserve_ = 1;
  alternate_stack faults_;
  xoshiro256ss random_;
  system_clock clock_;
  basic_thief<default_platform, work_deque, system_clock> thief_;
  std::vector<victim_notes> notes_;
  std::uint32_t next_victim_ = 0;
  std::uint32_t next_line_ = index_;

  run_batch own_;  // what nobody else may take
  bool own_turn_ = false;

  // Whether there may be something beside the deque, the line and the inbox. Anyone's to set.
  std::atomic<bool> looks_aside_{forces_migration};
  std::atomic<bool> should_yield_{false};
  bool gives_way_unasked_ = false;  // now and then: nobody looks after it who would ask
  time_point gives_way_at_;         // then

  // Others take from these.
  ready_line ready_;
  inbox inbox_;
  inbox own_box_;  // from which only it takes
};

/// The same of a context that wraps others.
[[nodiscard]] bool is_asked_by_wrapper(const task& wrapped) noexcept;

/// Whether a task was asked to stop: by itself, with its siblings, or with all that the worker runs.
[[nodiscard]] inline bool is_asked_to_stop(const task& one, const worker& on) noexcept {
  if (!WEFT_LIKELY(!one.cancel.requested() && !on.stop.requested())) return true;
  if (!WEFT_LIKELY(!one.has(task_mark::wrapped)) && is_asked_by_wrapper(one)) return true;
  const nursery_core* const in = nursery_core::of(one);
  return in != nullptr && in->is_cancelled();
}

/// The worker that runs this now; null on a thread that is none. Good until the next switch.
[[nodiscard]] WEFT_ALWAYS_INLINE worker* current_worker() noexcept {
  carrier* const here = current_carrier();
  return here != nullptr && here->is_worker ? static_cast<worker*>(here) : nullptr;
}

}  // namespace weft::impl
