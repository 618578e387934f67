// SPDX-License-Identifier: Apache-2.0
//
// model_pool — a pool that is shut down while tasks are begun, as models see it: sched/pool.cpp in small.
//
// The census, the flags, the claims and the parker are the shipping ones. What is made of them is written down
// once more here, step by step, because a pool has threads and stacks: who changes pool::begin(), cancel_all() or drain()
// changes this as well. A record's name is a word here (queue/record_slab_model.cpp has the real one), and so is each queue.
#pragma once

#include "event/parker.hpp"
#include "model/model.hpp"
#include "sched/cancel_flag.hpp"
#include "sched/census.hpp"
#include "sched/claim_word.hpp"

#include <array>
#include <cstddef>
#include <cstdint>

namespace weft::testing {

using impl::barrier_kind;
using impl::basic_cancel_flag;
using impl::basic_census;
using impl::basic_parker;
using impl::basic_wait_claim;
using impl::cancel_rules;
using impl::census_rules;
using impl::claim_outcome;
using impl::disarm_outcome;
using impl::park_outcome;
using impl::wake_cause;
using model::platform;
using model::require;

/// Which steps a pool takes. A model that must fail derives from this and changes one line.
struct pool_rules {
  using cancel = cancel_rules;
  using count = census_rules;
  static constexpr bool who_is_refused_tells = true;
  static constexpr bool drainer_looks_again = true;
  static constexpr bool counts_before_publishing = true;
  /// A task looks at the flag of the worker that it runs on. Otherwise the walk asks each that it finds.
  static constexpr bool asks_workers = true;
};

/// A task's record, and the one place in a queue that it can have.
struct model_task {
  enum where : std::uint32_t { nowhere, queued, taken, refused };

  platform::atomic<std::uint32_t> is_live{0};  // whether a walk finds it
  platform::atomic<std::uint32_t> place{nowhere};
  basic_cancel_flag<platform> cancel;
  basic_wait_claim<platform> claim;
  platform::atomic<std::uint32_t> runnable{0};
  platform::plain<int> closure{0};  // written by who begins it, read by who runs it
  int ends = 0;
};

template <std::size_t Tasks, class Rules = pool_rules>
struct model_pool {
  static constexpr auto kind = barrier_kind::asymmetric;
  using census_type = basic_census<platform, typename Rules::count>;

  census_type census{kind};
  std::array<typename census_type::row, 2> rows;
  using flag = basic_cancel_flag<platform, typename Rules::cancel>;
  std::array<flag, 2> stop;  // of the workers
  basic_parker<platform> drained;
  std::array<model_task, Tasks> tasks;
  bool is_drained = false;

  // -- Who begins tasks -------------------------------------------------------------------------------------------

  /// pool::begin_of_stranger(). Returns whether it was let in.
  bool begin_of_stranger(model_task& made) {
    made.cancel.reset();
    made.closure.write(7);
    if (!census.try_begin()) {
      if constexpr (Rules::who_is_refused_tells) drained.unpark();
      made.place.store(model_task::refused, std::memory_order_relaxed);
      return false;
    }
    require(!is_drained, "a task was let in after the pool was drained");
    publish(made);
    return true;
  }
  /// pool::begin_here(), by a task of the worker.
  void begin_here(std::size_t worker, const model_task& parent, model_task& made) {
    made.cancel.reset();
    made.closure.write(7);
    if constexpr (Rules::counts_before_publishing) rows[worker].begin();
    publish(made);
    if constexpr (!Rules::counts_before_publishing) rows[worker].begin();
    if (parent.cancel.requested()) cancel_one(made);
  }
  /// pool::adopt(), for the arm of a join that the worker has taken and runs at once.
  void adopt(std::size_t worker, model_task& arm) {
    arm.cancel.reset();
    rows[worker].begin();
    arm.is_live.store(1, std::memory_order_release);
  }
  /// pool::cancel().
  void cancel_one(model_task& held) {
    held.cancel.request();
    decltype(held.cancel)::settle(kind);
    end_wait(held);
  }

  // -- Who stops all ----------------------------------------------------------------------------------------------

  /// pool::cancel_all(); the walk goes from the last record to the first, which is as good as any order.
  void cancel_all() {
    if constexpr (Rules::asks_workers) {
      for (flag& each : stop) each.request();
    } else {
      for (std::size_t i = Tasks; i-- > 0;) {
        if (is_found(tasks[i])) tasks[i].cancel.request();
      }
    }
    flag::settle(kind);
    for (std::size_t i = Tasks; i-- > 0;) {
      if (is_found(tasks[i])) end_wait(tasks[i]);
    }
  }
  /// pool::drain().
  void drain() {
    census.close();
    while (!census.is_quiet(rows)) {
      drained.park();
      if constexpr (Rules::drainer_looks_again) census.close();
    }
    is_drained = true;
  }

  // -- Workers ----------------------------------------------------------------------------------------------------

  /// Runs the task if it is there: its body, unless it was asked to stop; then counts its end, and frees it.
  template <class Body>
  bool try_run(std::size_t worker, model_task& fresh, Body&& body) {
    std::uint32_t there = model_task::queued;
    if (!fresh.place.compare_exchange_strong(there, model_task::taken, std::memory_order_acquire,
                                             std::memory_order_relaxed))
      return false;
    require(fresh.closure.read() == 7, "a task came without its closure");
    if (!fresh.cancel.requested() && !stop[worker].requested()) body(worker, fresh);
    end(worker, fresh);
    return true;
  }
  /// pool::end(), of a task that nobody holds.
  void end(std::size_t worker, model_task& done) {
    require(!is_drained, "a task ran after the pool was drained");
    ++done.ends;
    done.is_live.store(0, std::memory_order_relaxed);
    rows[worker].end();
  }
  /// Waits until the task was pushed, or refused; runs it.
  template <class Body>
  void run_when_there(std::size_t worker, model_task& fresh, Body&& body) {
    while (fresh.place.load(std::memory_order_relaxed) == model_task::nowhere) platform::pause();
    (void)try_run(worker, fresh, body);
    go_to_sleep();
  }
  /// What a worker does on its way to bed.
  void go_to_sleep() {
    if (census.is_last_one_out(rows)) drained.unpark();
  }
  /// A wait that nobody ends but who asks the task to stop.
  void wait_for_ever(std::size_t worker, model_task& self) {
    (void)self.claim.arm();
    // one_wait::is_asked_after_arming(): one barrier for both flags
    if (stop[worker].requested_after_arming(kind) || self.cancel.requested()) {
      if (self.claim.try_disarm() == disarm_outcome::claimed) (void)self.claim.finish();
      return;
    }
    if (self.claim.complete_park() == park_outcome::must_requeue) make_runnable(self);
    while (self.runnable.load(std::memory_order_acquire) == 0) platform::pause();
    self.runnable.store(0, std::memory_order_relaxed);
    require(self.claim.finish() == wake_cause::cancelled, "a wait was ended by nobody knows whom");
  }

  // -- What must hold in the end ----------------------------------------------------------------------------------

  /// Each task has ended once, or was refused.
  void expect_all_ended() const {
    require(is_drained, "nobody has drained the pool");
    for (const model_task& one : tasks) {
      const bool refused = one.place.load(std::memory_order_relaxed) == model_task::refused;
      require(one.ends == (refused ? 0 : 1), "a task did not end, or ended twice");
    }
  }

 private:
  static void make_runnable(model_task& claimed) {
    require(claimed.runnable.fetch_add(1, std::memory_order_release) == 0, "made runnable twice");
  }
  static void end_wait(model_task& waiting) {
    if (waiting.claim.try_claim_standing(wake_cause::cancelled) == claim_outcome::won) make_runnable(waiting);
  }
  static bool is_found(const model_task& one) { return one.is_live.load(std::memory_order_acquire) != 0; }

  static void publish(model_task& made) {
    made.is_live.store(1, std::memory_order_release);
    made.place.store(model_task::queued, std::memory_order_release);
  }
};

}  // namespace weft::testing
