// SPDX-License-Identifier: Apache-2.0

#include "sched/pool.hpp"

#include "base/report.hpp"
#include "sched/identity.hpp"
#include "sched/loop.hpp"
#include "sched/sleep.hpp"
#include "sched/wait.hpp"
#include "stack/overflow.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

namespace weft::impl {
namespace {

constexpr std::uint32_t most_shards = 16;

overseer_options oversight_in(const commons& all, overseer_options how) noexcept {
  how.hog_after = all.options().hog_after;
  how.tells = all.options().debugs_sysmon;
  return how;
}

std::uint32_t most_searching(std::uint32_t workers) noexcept { return std::max(1U, workers / 2); }

}  // namespace

pool::pool(commons& all, const pool_options& how)
    : all_(all),
      options_(how),
      census_(all.barriers()),
      loop_(std::min(how.capacity, most_shards), &end_wait_of),
      events_(how.is_arranged ? all.first()->loop_ : loop_),
      seat_(loop_),
      idle_(how.capacity, most_searching(how.size.most), seat_, all.barriers()),
      crew_(*this, how.capacity, how.size.most, how.seed),
      overseer_(*this, oversight_in(all, how.oversight)),
      least_(how.size.least),
      is_chosen_(how.size.is_chosen),
      may_grow_(how.size.may_grow),
      steals_(how.steal),
      farewell_(all.barriers()) {
  if (used() != nullptr) used()->users_.fetch_add(1, std::memory_order_relaxed);
}

pool::~pool() {
  check_users();
  if (is_added_) (void)drain();
  stop();
  farewell_.await_guests();  // [PO-visit]
  if (used() != nullptr) used()->users_.fetch_sub(1, std::memory_order_relaxed);
  acquire_edge(this);
}

result<void> pool::start() noexcept {
  result<void> started = start_workers();
  if (!started) stop();
  return started;
}

result<void> pool::start_workers() noexcept {
  const result<context_id> number = add_context(*this, options_.inner != nullptr ? options_.inner->id() : 0);
  if (!number) return number.error();
  usual_ = is_arranged() ? route(*number).arranged() : route(*number);
  if (!all_.try_add(*this)) return errc::shut_down;
  is_added_ = true;
  if (is_arranged()) return {};
  if (options_.runs_on_caller) return crew_.furnish(0);
  if (result<void> watched = all_.watcher().start(); !watched) return watched;
  const scoped_hold hold(resize_lock_);  // sysmon knows the pool already
  idle_.bring_by(
      [](void* self, std::size_t worker) noexcept {
        auto& mine = *static_cast<pool*>(self);
        mine.overseer_.want(worker);
        mine.all_.watcher().call();
      },
      this);
  for (std::uint32_t i = 0; i < crew_.capacity(); ++i) idle_.begin_absent(i);
  if (options_.has_timer_thread) {
    (void)seat_.try_sit();  // for the thread, before any worker does
    const auto body = [](void* self) { static_cast<pool*>(self)->run_timers(); };
    result<default_platform::thread> timers =
        default_platform::thread::start(body, this, {.name = "weft-timers"});
    if (!timers) return timers.error();
    timer_thread_ = std::move(*timers);
  }
  const crew_size& size = options_.size;
  for (std::uint32_t i = 0; i < (forces_migration ? size.most : size.least); ++i) {
    if (const result<bool> begun = crew_.start_unlisted(i); !begun) return begun.error();
  }
  for (std::uint32_t i = size.least; i < size.most; ++i) enroll(i);
  has_started_ = true;
  return {};
}

result<bool> pool::bring(std::uint32_t worker) noexcept {
  const bool is_wanted = worker < limit();
  result<void> started;
  if (is_wanted) started = crew_.start_called(worker);
  if (is_wanted && started) return true;
  idle_.excuse(worker);
  crew_.unlist(worker);
  if (is_wanted) return started.error();
  if (worker < limit()) enroll(worker);  // again, by now
  return false;
}

void pool::collect_mail_of(std::uint32_t absent) noexcept {
  worker& gone = crew_[absent];
  if (!gone.has_mail_approx() || crew_.is_there(absent)) return;  // or it begins just now
  run_batch mail = gone.inbox_.drain();                           // by anyone
  const auto count = static_cast<std::uint32_t>(mail.size());
  if (count == 0) return;
  global_.push(std::move(mail));
  (void)idle_.after_push(count);
}

void pool::enroll(std::uint32_t worker) noexcept {
  if (crew_.try_list(worker)) enroll_listed(worker);
}

void pool::enroll_listed(std::uint32_t worker) noexcept {
  struct {
    const pool& mine;
    [[nodiscard]] bool has_work() noexcept { return mine.has_work_approx(); }
    void deliver(ready_batch& /*unused*/) noexcept {}
  } host{*this};
  idle_.enroll(worker, host);
}

void pool::note_end(worker& gone) noexcept {
  if (all_.options().debugs_sysmon && !idle_.is_shut_down()) {
    report(text_line() << "sysmon: worker " << gone.index() << " of context '" << options_.name
                       << "' goes, since "
                       << (gone.is_asked_to_go() ? "there are to be fewer"
                                                 : "it has had nothing to do for 100 ms"));
  }
  if (crew_.note_end(gone)) enroll_listed(gone.index());
}

result<bool> pool::try_add_worker(std::uint32_t worker) noexcept {
  if (worker < limit()) return false;
  return crew_.start_unlisted(worker);
}

result<void> pool::resize(const crew_size& size) noexcept {
  const scoped_hold hold(resize_lock_);
  return resize_locked(size);
}

result<void> pool::resize_locked(const crew_size& size) noexcept {
  least_ = size.least;
  is_chosen_.store(size.is_chosen, std::memory_order_relaxed);
  may_grow_.store(size.may_grow, std::memory_order_relaxed);
  crew_.set_limit(size.most);
  idle_.set_most_searching(most_searching(size.most));
  result<void> outcome;
  for (std::uint32_t i = 0; i < size.least && outcome; ++i) {
    const result<bool> started = crew_.start_unlisted(i);
    if (!started) {
      outcome = started.error();
    } else if (!*started && idle_.try_call_absent(i)) {
      const result<bool> brought = bring(i);
      if (!brought) outcome = brought.error();
    }
  }
  for (std::uint32_t i = 0; i < size.most; ++i) enroll(i);
  return outcome;
}

void pool::follow_processors(std::uint32_t usable) noexcept {
  const scoped_hold hold(resize_lock_);
  const std::uint32_t workers = std::clamp(usable, least_, crew_.capacity());
  if (!has_started_ || !is_chosen() || workers == limit()) return;
  if (all_.options().debugs_sysmon) {
    text_line line;
    line << "sysmon: context '" << options_.name << "' shall have " << workers << " workers instead of "
         << limit() << ", since this process may use so many processors now";
    report(line);
  }
  // Those that are to be there at once are there already, or could not be.
  (void)resize_locked({.least = least_, .most = workers, .is_chosen = true, .may_grow = true});
}

// Whoever has started a thread may be bound to other processors; sysmon is where the runtime was made.
void pool::bring_to_place() const noexcept {
  thread_place place = thread_place::of_thread(all_.sysmon_.thread_number());
  place.override_by(options_.place);
  place.apply();
}

bool pool::has_work_approx() const noexcept { return has_work_beside({}); }

bool pool::has_work_beside(runnable one) const noexcept {
  if (has_shared_work_beside(one)) return true;
  for (const worker& each : crew_) {
    if (each.has_work_approx()) return true;
  }
  return false;
}

// The thread becomes the only worker, for as long as it waits.
bool pool::drive(parker& mine, time_point deadline) noexcept {
  WEFT_CHECK(driver_ == nullptr && current_worker() == nullptr,
             "one thread at a time waits for a runtime that runs on its caller's thread, and none of a task");
  worker& self = crew_[0];
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
  if (std::exchange(is_added_, false)) all_.remove(*this);  // from now on sysmon does nothing with it
  idle_.shut_down();
  if (timer_thread_.joinable()) {
    loop_.interrupt();
    timer_thread_.join();
  }
  crew_.stop();
  for (auto left = global_.try_take(1); !left.items.empty(); left = global_.try_take(1))
    overseer_.take_back(left.items.pop_front());
  if (usual_ != route()) remove_context(std::exchange(usual_, route()).home());
}

// -- The end ------------------------------------------------------------------------------------------------------------------

void pool::raise_stop() noexcept {
  stop_of_wrapped_.request();
  crew_.raise_stop();
}

void pool::cancel_all() noexcept {
  raise_stop();
  cancel_flag::settle(barriers());
  all_.wake_cancelled_in(id());
}

bool pool::drain(time_point deadline) noexcept {
  const task* const self = current_task();
  WEFT_CHECK(worker_here() == nullptr && (self == nullptr || !is_within(self->goes().home(), id())),
             "an execution context is ended by one of its own tasks, which would wait for itself");
  return farewell_.await(*this, deadline);
}

bool pool::is_over_now() noexcept {
  census_.close();
  return census_.is_quiet(crew_.rows());
}

void pool::tell_if_last_one_out() noexcept {
  if (WEFT_LIKELY(!census_.must_look())) return;
  if (census_.closed_to() == turned_away::strangers && census_.is_quiet(crew_.rows())) farewell_.tell();
  all_.tell_if_over();
}

// -- Tasks ------------------------------------------------------------------------------------------------------------

void pool::adopt(worker& on, task& made) noexcept {
  made.handle.reset_owned();
  made.cancel.reset();
  on.count_in(made);
}

bool pool::begin_of_stranger(task& made, nursery_core* group) noexcept {
  release_edge(made.spawn_edge());
  const runtime_section in;
  prepare(made, nullptr, group);
  const std::optional<std::uint64_t> number = try_enter(all_.worker_here() == nullptr);
  if (!number) {
    if (options_.runs_on_caller) idle_.call(0);
    made.code->drop(made.body);
    all_.discard(made);
    return false;
  }
  if (*number == 0 && all_.is_first_task()) made.add(task_mark::main);
  (void)record_slab::publish(made);
  place(made);
  // As in begin_here(), for a parent that runs in another context.
  const task* const parent = current_task();
  if (parent != nullptr && &parent->all() == &all_ && parent->cancel.requested()) cancel_child(made, group);
  return true;
}

void pool::cancel(task& held) noexcept {
  held.cancel.request();
  cancel_flag::settle(held.all().barriers());
  if (held.claim.try_claim_standing(wake_cause::cancelled) == claim_outcome::won) make_runnable(held, false);
}

// Nobody holds the child of a nursery, so it may be gone already; but all of its siblings are to stop with it.
void pool::cancel_child(task& begun, nursery_core* group) noexcept {
  if (group == nullptr) return cancel(begun);
  if (!group->is_cancelled()) group->cancel();
}

bool pool::put_aside(runnable ready, task& whose) noexcept {
  const route by = whose.goes();
  if (by.is_pinned()) {
    worker& only = *whose.on->pinned_to;
    release_edge(whose.record_edge());  // as in make_runnable()
    only.leave_for_it_alone(ready);
    return false;
  }
  if (by.is_arranged()) {
    give_to_its_context(ready, whose);
    return false;
  }
  release_edge(whose.record_edge());
  put_in_lane(ready, by.lane());
  return true;
}

void pool::put_in_lane(runnable ready, priority lane) noexcept {
  // relaxed: who sees it late looks into the lane late; whoever goes to sleep looks in any case.
  for (worker& each : crew_) each.looks_aside_.store(true, std::memory_order_relaxed);
  (lane == priority::high ? urgent_ : patient_).push(ready);
}

worker& pool::next_in_turn() noexcept {
  const std::uint32_t places = std::min(crew_.size(), limit());
  return crew_[next_place_.fetch_add(1, std::memory_order_relaxed) % places];  // relaxed: any order
}

void pool::place(task& fresh) noexcept {
  const runnable made(runnable::kind::task, &fresh);
  const bool is_usual = fresh.goes().is_usual();
  release_edge(fresh.spawn_edge());  // that was read before the task begins
  if (!is_usual) return push_aside(made, fresh);
  if (options_.fresh == placement::shared) {
    global_.push(made);
  } else {
    next_in_turn().leave(made);
  }
  (void)idle_.after_push();
}

// A thread that sits in the event loop all the time, so that no worker does. Whoever has started it has taken the seat for it.
void pool::run_timers() noexcept {
  constexpr std::size_t events_at_once = 64;
  const system_clock clock;
  while (!idle_.is_shut_down()) {
    std::array<runnable, events_at_once> room;
    ready_batch ready(room);
    (void)loop_.wait(saturating_add(clock.now(), options_.timer_idle_cap), ready);
    if (const std::uint32_t shared = sort_in(ready, global_)) (void)idle_.after_push(shared);
  }
  seat_.leave();
}

void pool::nap() noexcept {
  sleep_on_thread(default_platform::clock().now() + std::chrono::microseconds(100));
}

void pool::put_off(runnable later) noexcept {
  if (is_arranged()) {  // nobody takes anything from its queue
    nap();
    return hand_to_face(later, *static_cast<task*>(later.address()));
  }
  global_.push(later);
  (void)idle_.after_push();  // one that sleeps may have a stack
  nap();
}

void pool::make_runnable(task& claimed, bool soon) noexcept {
  const runtime_section in;
  const route by = claimed.goes();
  if (worker* const here = current_worker(); here != nullptr && here->usual().home() == by.home())
    return here->push_ready(claimed, soon);
  pool& home = *find_context(by.home());
  const farewell::visit in_home(
      home.farewell_.guests());  // the task may be the last that the pool has waited for
  const runnable ready(runnable::kind::fiber, &claimed);
  if (!by.is_usual()) return home.push_aside(ready, claimed);
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

}  // namespace weft::impl
