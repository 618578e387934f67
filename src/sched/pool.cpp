// SPDX-License-Identifier: Apache-2.0

#include "sched/pool.hpp"

#include "base/report.hpp"
#include "sched/identity.hpp"
#include "sched/loop.hpp"
#include "sched/overflow_fate.hpp"
#include "sched/sleep.hpp"
#include "sched/task_name.hpp"
#include "sched/unobserved.hpp"
#include "sched/wait.hpp"
#include "stack/usage.hpp"

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <limits>
#include <thread>

namespace weft::impl {
namespace {

std::uint32_t most_searching(std::uint32_t workers) noexcept { return std::max(1U, workers / 2); }

}  // namespace

pool::pool(const pool_options& how)
    : forked_party([](forked_party& self) noexcept { static_cast<pool&>(self).note_fork(); }),
      options_(how),
      barriers_(default_platform::barriers()),
      // A stack that is given back while there is work to do keeps its memory; see worker::do_chore().
      stacks_({.warm_limit = std::numeric_limits<std::size_t>::max()}),
      records_({.owner = this}),
      census_(barriers_),
      loop_(how.workers, &end_wait_of),
      seat_(loop_),
      idle_(how.workers, most_searching(how.workers), seat_, barriers_),
      rows_(how.workers),
      steals_(how.steal),
      visitors_(barriers_) {
  xoshiro256ss random(how.seed);
  for (std::uint16_t i = 0; i < how.workers; ++i)
    workers_.push_back(std::make_unique<worker>(*this, i, rows_[i], random.split()));
  threads_.reserve(how.workers);
}

pool::~pool() {
  (void)drain();
  stop();
  while (visitors_.any()) std::this_thread::yield();  // [PO-visit]
  acquire_edge(this);
  check_handles();
}

// Nobody can make use of a record whose pool is gone.
void pool::check_handles() const noexcept {
  records_.for_each_live([](const task& each, record_handle) {
    text_line line;
    line << "a runtime was destroyed before the handle of ";
    append_task(line, each);
    line << "; join the task, or let go of its handle, before";
    report(line);
    std::abort();
  });
}

result<void> pool::start() noexcept {
  if (result<void> installed = install_overflow_handler(); !installed) return installed;
  set_report_subject(&append_running_task);
  set_overflow_policy(&decide_on_overflow);
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
    if (result<void> furnished = furnish(*each); !furnished) return furnished;
    if (options_.runs_on_caller) continue;
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

result<void> pool::furnish(worker& made) noexcept {
  const result<record_slab::home*> home = records_.move_in();
  if (!home) return home.error();
  made.home_ = *home;
  for (int i = 0; i < 2; ++i) {
    fiber* const first = made.try_make_fiber();
    if (first == nullptr) return errc::out_of_stacks;
    made.keep_spare(*first);
  }
  if (options_.runs_on_caller) made.expect_own();  // and sees there when to stop
  return {};
}

// The thread becomes the only worker, for as long as it waits.
bool pool::drive(parker& mine, time_point deadline) noexcept {
  WEFT_CHECK(driver_ == nullptr && current_worker() == nullptr,
             "one thread at a time waits for a runtime that runs on its caller's thread, and none of a task");
  worker& self = *workers_.front();
  driver_ = &mine;
  drive_until_ = deadline;
  alternate_stack faults;
  WEFT_CHECK(faults.install().has_value(), "no memory for an alternate stack");
  begin_worker();
  WEFT_CHECK(attach(self).has_value(), "this thread cannot carry fibers: a hardware shadow stack is active");
  while (!mine.has_token_approx() && (deadline == never || self.clock_.now() < deadline)) run_worker(self);
  detach(self);
  end_worker();
  acquire_edge(this);
  driver_ = nullptr;
  return mine.park_until(time_point::min());  // takes the token, if it is there
}

void pool::stop() noexcept {
  idle_.shut_down();
  for (default_platform::thread& each : threads_) each.join();
  threads_.clear();
  for (const auto& each : workers_) {
    each->give_all_stacks_back();  // of one that was never started
    if (each->home_ == nullptr) continue;
    if (options_.runs_on_caller) each->home_->flush();
    records_.move_out(*std::exchange(each->home_, nullptr));
  }
  while (abandoned_ != nullptr) {
    fiber& gone = *std::exchange(abandoned_, abandoned_->next);
    stack_slot& slot = *gone.slot;
    forget_context(gone);
    stacks_.give(slot);
  }
  for (strangers& each : strangers_) {
    if (each.home != nullptr) records_.move_out(*std::exchange(each.home, nullptr));
  }
}

bool pool::drain(time_point deadline) noexcept {
  WEFT_CHECK(worker_here() == nullptr,
             "a runtime is shut down or destroyed by one of its own tasks, which would wait for itself");
  census_.close();
  while (!census_.is_quiet(rows_)) {
    if (!await_drained(deadline)) return census_.is_quiet(rows_);
    // For its barrier: told by a stranger, this also sees the ends that workers have counted. [CE-last]
    census_.close();
  }
  return true;
}

// Returns false at the deadline. May return too early.
bool pool::await_drained(time_point deadline) noexcept {
  task* const self = current_task();
  const bool can_leave = self != nullptr && self->no_suspend == 0;
  return can_leave ? await_drained_in_task(*self, deadline) : wait_on_thread(drained_, deadline);
}

// A task of another pool gives its worker to others meanwhile.
bool pool::await_drained_in_task(task& self, time_point deadline) noexcept {
  one_wait wait(self, wait_kind::shielded);
  self.note_join(wait.ticket());
  visitors_.expect(self);
  census_.close();  // [CE-last] its barrier: either the last one out finds us, or we see that it was the last
  const auto leave = [&] { return deadline == never ? wait.leave() : wait.leave_until(deadline); };
  const wake_cause cause = census_.is_quiet(rows_) ? wait.abandon() : leave();
  visitors_.withdraw();
  while (visitors_.any())
    std::this_thread::yield();  // [PO-drainer] who has found us must be gone before this task can end
  return cause != wake_cause::timed_out;
}

void pool::tell_who_drains() noexcept {
  const visitors::visit in(visitors_);
  drained_.unpark();
  if (task* const waiting = in.who_drains()) wake_joiner(*waiting);
}

pool::strangers& pool::strangers_here() noexcept {
  return strangers_[std::hash<std::thread::id>()(std::this_thread::get_id()) / 64 % stranger_homes];
}

// -- Tasks ------------------------------------------------------------------------------------------------------------

result<task*> pool::new_task_of_stranger() noexcept {
  if (is_forked_) return errc::forked;
  strangers& mine = strangers_here();
  const scoped_hold hold(mine.lock);
  return mine.home->allocate();
}

void pool::adopt(worker& on, task& made) noexcept {
  made.handle.reset_owned();
  made.cancel.reset();
  on.count_in(made);
  default_platform::light_barrier(on.barriers);  // [PO-spawn] as in begin_here()
  if (on.of().stop_sign_.is_up()) made.cancel.request();
}

bool pool::begin_of_stranger(task& made, nursery_core* group) noexcept {
  release_edge(made.spawn_edge());
  const runtime_section in;
  prepare(made, nullptr, group);
  const std::optional<std::uint64_t> number = census_.try_begin();
  if (!number) {
    tell_who_drains();  // who may have counted us in
    if (options_.runs_on_caller) idle_.call(0);
    made.code->drop(made.body);
    discard(made);
    return false;
  }
  if (*number == 0) made.add(task_mark::main);
  (void)record_slab::publish(made);
  place(made);
  // [PO-spawn] As in begin_here(), for a stranger that was let in before the door was closed.
  if (stop_sign_.is_up()) cancel_child(made, group);
  return true;
}

void pool::discard(task& blank) noexcept {
  drop_extras(blank);
  if (is_forked_) return;  // its locks may be held by threads that are not here
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

void pool::trim_held(task& held) noexcept {
  fiber& on = *held.on;
  if (held.has(task_mark::measured)) (void)measure_depth(*on.slot, on.lowest_in_use());
  // A kernel that refuses (locked memory) leaves the stack as it is.
  (void)trim_below(*on.slot, on.lowest_in_use());
  if (held.claim.complete_hold() == park_outcome::must_requeue) make_runnable(held, false);
}

// -- In a forked child --------------------------------------------------------------------------------------------------------

// The only thread there is may be a worker, in the middle of a task. Whatever that task does next with weft leads to a path
// where this is looked at: a push is not quiet any more, and a pick looks into the lanes first.
void pool::note_fork() noexcept {
  is_forked_ = true;
  if (worker* const here = worker_here()) {
    here->tasks.disturb();
    here->looks_aside_.store(true, std::memory_order_relaxed);
  }
}

void pool::fail_in_child() noexcept {
  text_line line;
  line << "a task went on in a forked child, where its runtime has no workers: after fork() in a task "
          "nothing may follow but exec "
          "or _exit";
  report(line);
  std::abort();
}

// -- Looking at all of them ---------------------------------------------------------------------------------------------------

void pool::delete_extras(task& ended) noexcept {
  if (is_forked_) return;
  context_node* const left = ended.context_or_null();
  ended.set_context(nullptr);  // nobody finds it any more
  drop_context(left);
  if (!ended.has(task_mark::has_extras)) return;
  task_extras* left_over = nullptr;
  {
    const scoped_hold hold(extras_lock_);
    left_over = ended.extras.exchange(nullptr, std::memory_order_relaxed);  // relaxed: the lock orders it
    ended.remove(task_mark::has_extras);
  }
  delete left_over;
}

// A record may die while it is looked at; then what was read is thrown away.
std::vector<task_info> pool::list() const {
  std::vector<task_info> all;
  records_.for_each_live([&](const task& each, record_handle life) {
    task_info found = describe(each, life);
    if (records_.resolve(life) == &each) all.push_back(std::move(found));
  });
  return all;
}

task_info pool::describe(const task& one, record_handle life) const {
  task_info info;
  info.id = one.has(task_mark::main) ? 0 : life.word();
  info.state = one.state_approx();
  if (info.state == task_state::blocked && one.reason() != nullptr) info.waits_for = one.reason();
  if (const source_site site = one.spawned_at(); site.file != nullptr) {
    info.file = site.file;
    info.line = site.line;
  }
  const scoped_hold hold(extras_lock_);
  const task_extras* const extras = one.extras.load(std::memory_order_acquire);  // [TA-extras]
  if (one.has(task_mark::has_extras) && extras != nullptr) info.name = extras->name;
  return info;
}

// Nobody holds the child of a nursery, so it may be gone already; but all of its siblings are to stop with it.
void pool::cancel_child(task& begun, nursery_core* group) noexcept {
  if (group == nullptr) return cancel(begun);
  if (!group->is_cancelled()) group->cancel();
}

// A record may die under our eyes, and begin another life. But its waits are numbered through all its lives: so if the
// wait that was seen first still stands when it is claimed, the owner that was read in between is that of the same life.
void pool::wake_cancelled(std::uintptr_t owner) noexcept {
  records_.for_each_live([owner](const task& each, record_handle) {
    auto& waiting = const_cast<task&>(each);
    for (wait_word seen = waiting.claim.word(); seen.is_claimable() && !seen.is_shielded();
         seen = waiting.claim.word()) {
      if (waiting.handle.owner() != owner) return;
      const claim_outcome outcome = waiting.claim.try_claim_seen(seen, wake_cause::cancelled);
      if (outcome == claim_outcome::won) make_runnable(waiting, false);
      if (outcome != claim_outcome::lost) return;
    }
  });
}

// Who is begun meanwhile, and not seen by the walk, is asked by who begins it. [PO-spawn]
void pool::cancel_all() noexcept {
  stop_sign_.put_up(barriers_);
  records_.for_each_live([](const task& each, record_handle) {
    if (!each.cancel.requested()) const_cast<task&>(each).cancel.request();
  });
  cancel_flag::settle(barriers_);
  records_.for_each_live([](const task& each, record_handle) {
    auto& waiting = const_cast<task&>(each);
    if (waiting.claim.try_claim_standing(wake_cause::cancelled) == claim_outcome::won)
      make_runnable(waiting, false);
  });
}

bool pool::put_aside(runnable ready, task& whose) noexcept {
  if (whose.way.is_pinned()) {
    worker& only = *whose.on->pinned_to;
    release_edge(whose.record_edge());  // as in make_runnable()
    only.leave_for_it_alone(ready);
    return false;
  }
  // relaxed: who sees it late looks into the lane late; whoever goes to sleep looks in any case.
  for (const auto& each : workers_) each->looks_aside_.store(true, std::memory_order_relaxed);
  global_queue& lane = whose.way.lane() == priority::high ? urgent_ : patient_;
  release_edge(whose.record_edge());
  lane.push(ready);
  return true;
}

worker& pool::next_in_turn() noexcept {
  return *workers_[next_place_.fetch_add(1, std::memory_order_relaxed) %
                   workers_.size()];  // relaxed: any order
}

void pool::place(task& fresh) noexcept {
  const runnable made(runnable::kind::task, &fresh);
  const bool is_usual = fresh.way.is_usual();
  release_edge(fresh.spawn_edge());  // that was read before the task begins
  if (!is_usual) return push_aside(made, fresh);
  next_in_turn().leave(made);
  (void)idle_.after_push();
}

void pool::nap() noexcept {
  sleep_on_thread(default_platform::clock().now() + std::chrono::microseconds(100));
}

void pool::keep_abandoned(fiber& gone) noexcept {
  const scoped_hold hold(abandoned_lock_);
  gone.next = abandoned_;
  abandoned_ = &gone;
}

void pool::put_off(runnable later) noexcept {
  global_.push(later);
  (void)idle_.after_push();  // one that sleeps may have a stack
  nap();
}

void pool::make_runnable(task& claimed, bool soon) noexcept {
  const runtime_section in;
  pool& home = claimed.home();
  if (worker* const here = home.worker_here()) return here->push_ready(claimed, soon);
  const visitors::visit in_home(home.visitors_);  // the task may be the last that the pool has waited for
  const runnable ready(runnable::kind::fiber, &claimed);
  if (!claimed.way.is_usual()) return home.push_aside(ready, claimed);
  release_edge(claimed.record_edge());  // what was read here comes before the next life of the record
  if constexpr (forces_migration) return home.next_in_turn().leave_for_it_alone(ready);
  home.global_.push(ready);
  (void)home.idle_.after_push();
}

void pool::wake(task& waiting, wait_ticket ticket) noexcept {
  if (waiting.claim.try_claim(ticket, wake_cause::ready) == claim_outcome::won) make_runnable(waiting);
}

void pool::wake_waiter(waiter_word waiting) noexcept {
  if (parker* const thread = waiting.thread()) {
    thread->unpark();
  } else {
    wake_joiner(waiting.waiting());
  }
}

void pool::release_of_stranger(task& done) noexcept {
  if (is_forked_) return;
  strangers& mine = strangers_here();
  const scoped_hold hold(mine.lock);
  mine.home->free(done);
}

}  // namespace weft::impl
