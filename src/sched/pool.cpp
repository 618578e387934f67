// SPDX-License-Identifier: Apache-2.0

#include "sched/pool.hpp"

#include "base/report.hpp"
#include "sched/identity.hpp"
#include "sched/loop.hpp"
#include "sched/unobserved.hpp"

#include <algorithm>
#include <functional>
#include <thread>

namespace weft::impl {
namespace {

constexpr std::size_t record_body_bytes = 80;  // the rest of three cache lines

std::uint32_t most_searching(std::uint32_t workers) noexcept { return std::max(1U, workers / 2); }

}  // namespace

pool::pool(const pool_options& how) noexcept
    : options_(how),
      barriers_(default_platform::barriers()),
      records_({.body_bytes = record_body_bytes}),
      census_(barriers_),
      seat_(loop_),
      idle_(how.workers, most_searching(how.workers), seat_, barriers_),
      rows_(how.workers) {
  xoshiro256ss random(how.seed);
  for (std::uint16_t i = 0; i < how.workers; ++i)
    workers_.push_back(std::make_unique<worker>(*this, i, rows_[i], random.split()));
}

pool::~pool() {
  drain();
  stop();
  acquire_edge(this);
}

result<void> pool::start() noexcept {
  if (result<void> installed = install_overflow_handler(); !installed) return installed;
  result<void> started = start_workers();
  if (!started) stop();
  return started;
}

result<void> pool::start_workers() noexcept {
  for (strangers& each : strangers_) {
    const result<record_slab::home*> home = records_.move_in();
    if (!home) return home.error();
    each.home = *home;
  }
  for (const auto& each : workers_) {
    const result<record_slab::home*> home = records_.move_in();
    if (!home) return home.error();
    each->home_ = *home;
    for (int i = 0; i < 2; ++i) {
      fiber* const made = each->try_make_fiber();
      if (made == nullptr) return errc::out_of_stacks;
      each->keep_spare(*made);
    }
    const auto body = [](void* raw) {
      auto& self = *static_cast<worker*>(raw);
      begin_worker();
      alternate_stack faults;
      WEFT_CHECK(faults.install().has_value(), "no memory for an alternate stack");
      WEFT_CHECK(attach(self).has_value(),
                 "this thread cannot carry fibers: a hardware shadow stack is active");
      self.run_thread();
      detach(self);
      end_worker();
      acquire_edge(&self.of());  // thread-local objects of the tasks that were here go with the thread
    };
    result<default_platform::thread> thread = default_platform::thread::start(body, each.get());
    if (!thread) return thread.error();
    threads_.push_back(std::move(*thread));
  }
  return {};
}

void pool::stop() noexcept {
  idle_.shut_down();
  for (default_platform::thread& each : threads_) each.join();
  threads_.clear();
  for (const auto& each : workers_) {
    while (each->spare_ != nullptr) each->unmake(each->take_spare());  // of one that was never started
    if (each->home_ != nullptr) records_.move_out(*std::exchange(each->home_, nullptr));
  }
  for (strangers& each : strangers_) {
    if (each.home != nullptr) records_.move_out(*std::exchange(each.home, nullptr));
  }
}

void pool::drain() noexcept {
  WEFT_CHECK(worker_here() == nullptr, "a pool is drained by a thread that is not one of its workers");
  census_.close();
  while (!census_.is_quiet(rows_)) drained_.park();
}

worker* pool::worker_here() noexcept {
  worker* const here = current_worker();
  return here != nullptr && &here->of() == this ? here : nullptr;
}

pool::strangers& pool::strangers_here() noexcept {
  return strangers_[std::hash<std::thread::id>()(std::this_thread::get_id()) / 64 % stranger_homes];
}

// -- Tasks ------------------------------------------------------------------------------------------------------------

result<task*> pool::new_task() noexcept {
  const runtime_section in;
  if (worker* const here = worker_here()) return here->new_record();
  strangers& mine = strangers_here();
  const scoped_hold hold(mine.lock);
  return mine.home->allocate();
}

void pool::count_in(worker& on, task& made) noexcept {
  made.id = on.row().begun() * (workers_.size() + 1) + on.index() + 1U;
  on.row().begin();
  (void)record_slab::publish(made);
}

void pool::adopt(worker& on, task& made) noexcept {
  made.handle.reset_dropped();
  made.cancel.reset();
  made.outcome.store(task_outcome::none, std::memory_order_relaxed);
  count_in(on, made);
}

bool pool::begin(task& made) noexcept {
  release_edge(made.spawn_edge());
  const runtime_section in;
  made.handle.reset();
  made.cancel.reset();
  made.outcome.store(task_outcome::none, std::memory_order_relaxed);
  if (worker* const here = worker_here()) {
    const task* const parent = current_task();
    count_in(*here, made);
    if (options_.fresh == placement::local) {
      here->push_task(made);
    } else {
      place(made);
    }
    // [PO-spawn] The push was followed by a light barrier: either this sees that its parent was cancelled, or whoever
    // cancels all sees the child on its next walk.
    if (parent != nullptr && parent->cancel.requested()) cancel(made);
    return true;
  }
  const std::optional<std::uint64_t> number = census_.try_begin();
  if (!number) {
    made.code->drop(body_of(made));
    discard(made);
    return false;
  }
  made.id = *number * (workers_.size() + 1);
  (void)record_slab::publish(made);
  place(made);
  // [PO-spawn] As above, for a stranger that was let in before the door was closed.
  if (is_cancelled_.load(std::memory_order_relaxed)) cancel(made);
  return true;
}

void pool::discard(task& blank) noexcept {
  const runtime_section in;
  if (worker* const here = worker_here()) return here->discard_record(blank);
  strangers& mine = strangers_here();
  const scoped_hold hold(mine.lock);
  mine.home->discard(blank);
}

void pool::cancel(task& held) noexcept {
  held.cancel.request();
  cancel_flag::settle(barriers_);
  if (held.claim.try_claim_standing(wake_cause::cancelled) == claim_outcome::won) make_runnable(held, false);
}

// Walks until nobody is left who was not asked. A task that is begun meanwhile by one that was asked already is asked as
// it begins; one that was begun before is found by the next walk. [PO-spawn]
void pool::cancel_all() noexcept {
  is_cancelled_.store(true, std::memory_order_relaxed);  // relaxed: the barriers order it
  bool found = true;
  while (std::exchange(found, false)) {
    records_.for_each_live([&found](const task& each, record_handle) {
      if (each.cancel.requested()) return;
      const_cast<task&>(each).cancel.request();
      found = true;
    });
    cancel_flag::settle(barriers_);
  }
  records_.for_each_live([](const task& each, record_handle) {
    auto& waiting = const_cast<task&>(each);
    if (waiting.claim.try_claim_standing(wake_cause::cancelled) == claim_outcome::won)
      make_runnable(waiting, false);
  });
}

void pool::place(task& fresh) noexcept {
  // relaxed: any order will do.
  const std::size_t at = next_place_.fetch_add(1, std::memory_order_relaxed) % workers_.size();
  workers_[at]->leave({runnable::kind::task, &fresh});
  (void)idle_.after_push();
}

void pool::nap() noexcept {
  parker bed;
  (void)bed.park_until(default_platform::clock().now() + std::chrono::microseconds(100));
}

void pool::put_off(runnable later) noexcept {
  global_.push(later);
  nap();
}

void pool::make_runnable(task& claimed, bool soon) noexcept {
  const runtime_section in;
  pool& home = *claimed.home;
  if (worker* const here = home.worker_here()) return here->push_ready(claimed, soon);
  home.global_.push({runnable::kind::fiber, &claimed});
  (void)home.idle_.after_push();
}

void pool::wake_joiner(task& waiting) noexcept {
  if (waiting.claim.try_claim(waiting.join_ticket(), wake_cause::ready) == claim_outcome::won)
    make_runnable(waiting);
}

void pool::end(worker& on, task& done, const task_ending& ending) noexcept {
  switch (ending.duty) {
    case finish_duty::none: break;
    case finish_duty::wake:
      if (parker* const thread = ending.waiter.thread()) {
        thread->unpark();
      } else {
        wake_joiner(ending.waiter.waiting());
      }
      break;
    case finish_duty::free_record: on.free_record(done); break;
  }
  on.row().end();
}

void pool::release(task& done) noexcept {
  const runtime_section in;
  if (worker* const here = worker_here()) return here->free_record(done);
  strangers& mine = strangers_here();
  const scoped_hold hold(mine.lock);
  mine.home->free(done);
}

}  // namespace weft::impl
