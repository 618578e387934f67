// SPDX-License-Identifier: Apache-2.0
//
// A worker that has nothing left: it looks for work elsewhere, and sleeps where there is none.

#include "sched/loop.hpp"
#include "sched/pool.hpp"
#include "sched/worker.hpp"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

namespace weft::impl {

runnable worker::find_or_sleep() noexcept {
  struct sleeping_host {
    worker& mine;
    [[nodiscard]] bool has_work() noexcept { return mine.sees_work(); }
    void deliver(ready_batch& ready) noexcept { (void)mine.pool_.sort_in(ready, mine.pool_.global_); }
  } host{*this};
  impl::idle& beds = pool_.idle_;
  if (is_counting()) {
    settle_count();  // which may have made a fiber ready
    if (const runnable found = pick()) return found;
  }
  bool has_run = true;
  bool has_slept = false;
  const time_point idle_since = clock_.now();
  for (bool searching = beds.try_search(index_);;) {
    if (searching) {
      if (const runnable found = search()) {
        end_search_with(found);
        if (has_slept) all_.sysmon_.note_awake();
        return found;
      }
    }
    home_->flush();
    if (!reserve_.empty()) all_.stacks_.give_batch(reserve_);  // others may need them
    pool_.tell_if_last_one_out();
    if (const runnable leave = leave_if_asked()) {
      if (searching) end_search_with(leave);
      return leave;
    }
    const time_point chores = all_.caretaker_.begin(std::exchange(has_run, false), clock_.now());
    const time_point retires = may_retire() ? idle_since + retire_after : never;
    const time_point polls = saturating_add(clock_.now(), pool_.options_.idle_poll);
    const time_point until = std::min({chores, retires, polls, pool_.drive_until_});
    const idle_end end = beds.sleep(index_, until, host);
    has_slept = true;
    if (chores != never) {
      const bool has_come = end == idle_end::deadline && clock_.now() >= chores;
      has_run = !do_chore(all_.caretaker_.end(has_come));
    }
    if (end == idle_end::closed) return {};
    searching = true;
    if (const runnable found = pick()) {
      end_search_with(found);
      all_.sysmon_.note_awake();
      return found;
    }
    if (end == idle_end::deadline && may_retire() && clock_.now() >= retires) {
      beds.leave(index_);
      return {runnable::kind::leave, this};
    }
  }
}

// Whoever leaves has not found what it was woken for, and passes that on.
void worker::end_search_with(runnable found) noexcept {
  if (found.what() == runnable::kind::leave) {
    pool_.idle_.leave(index_);
  } else {
    pool_.idle_.found_work(index_);
  }
}

// One that sysmon has added, or for whom there is no room any more: once it has nothing to do. What is pinned to it keeps it.
bool worker::may_retire() const noexcept {
  return !forces_migration && index_ >= pool_.limit() && !is_needed_by_some();
}

// Whether there is something that nobody else may run.
bool worker::is_needed_by_some() const noexcept {
  return pinned_ != 0 || !own_.empty() || !own_box_.empty_approx();
}

// Whether there is anything that it could run or take.
bool worker::sees_work() const noexcept {
  if (!pool_.global_.empty() || pool_.has_work_in_lanes()) return true;
  const bool steals = pool_.is_stealing();
  for (const worker& each : pool_.crew_) {
    if (steals || &each == this ? each.has_work_approx() : each.has_mail_approx()) return true;
  }
  return false;
}

// A thread that has lent itself goes when it has what it waited for, or at its deadline.
runnable worker::leave_if_asked() noexcept {
  if (!pool_.options_.runs_on_caller) return {};
  const bool is_late = pool_.drive_until_ != never && clock_.now() >= pool_.drive_until_;
  if (is_late || pool_.is_driver_done()) return {runnable::kind::leave, this};
  WEFT_CHECK(!detail::is_single_threaded || pool_.drive_until_ != never || !pool_.loop_.empty_approx(),
             "all tasks wait, and nothing is left that could wake them");
  return {};
}

// Nothing has happened for a while: there is time to give memory back, until something does. Who has got up for it counts as one that
// searches, and others rely on that: so it looks around, though not each time. Returns false if it was not done to the end.
bool worker::do_chore(chore what) noexcept {
  constexpr std::uint32_t looks_around_every = 16;
  std::uint32_t steps = 0;
  bool is_undisturbed = true;
  const auto go_on = [&] {
    is_undisturbed = is_undisturbed && own_box_.empty_approx() && !pool_.idle_.is_shut_down() &&
                     (steps++ % looks_around_every != 0 || !sees_work());
    return is_undisturbed;
  };
  constexpr std::size_t at_once = 8;
  switch (what) {
    case chore::nothing: break;
    case chore::mark:
      all_.mark_parked(go_on);
      while (go_on() && all_.stacks_.cool(warm_stacks, at_once) == at_once) {
      }
      break;
    case chore::trim: all_.trim_marked(go_on); break;
  }
  return is_undisturbed;
}

// To look at somebody who is busy costs it a cache line each time. So a searcher that sees work and does not get it, because
// it is not worth the price now or somebody else is at it, looks again after longer and longer pauses.
runnable worker::search() noexcept {
  if (others() == 0) return {};
  if (!pool_.is_stealing()) return take_mail_of_others();
  if (pool_.options_.backoff) return search_by(*pool_.options_.backoff);
  constexpr int rounds_in_vain = 32;
  constexpr int shortest_pause = 8;
  constexpr int longest_pause = 128;
  int pauses = shortest_pause;
  for (int round = 0; round < rounds_in_vain;) {
    bool saw_work = false;
    for (std::uint32_t attempt = std::min(others(), pool_.options_.most_attempts); attempt > 0; --attempt) {
      worker& victim = choose_victim();
      if (const runnable got = rob(victim, saw_work)) return got;
    }
    if (const runnable came = pick()) return came;
    if (pool_.idle_.is_shut_down()) return {};
    round = saw_work ? 0 : round + 1;
    worker_counters::add(rounds_);
    pauses = saw_work ? std::min(2 * pauses, longest_pause) : 4 * shortest_pause;
    for (int i = 0; i < pauses; ++i) default_platform::pause();
  }
  return {};
}

namespace {

/// How a worker waits between two rounds. It sleeps in its own way.
struct search_waiter {
  static void pause() noexcept { default_platform::pause(); }
  static void yield() noexcept { std::this_thread::yield(); }
  static void sleep_for(std::chrono::nanoseconds /*time*/) noexcept {}
};

}  // namespace

// By counting rounds: until the mode says that it is time to sleep.
runnable worker::search_by(backoff_mode mode) noexcept {
  for (basic_backoff<search_waiter> pause(mode); !pause.is_sleeping(); pause.snooze()) {
    bool saw_work = false;
    for (std::uint32_t attempt = std::min(others(), pool_.options_.most_attempts); attempt > 0; --attempt) {
      if (const runnable got = rob(choose_victim(), saw_work)) return got;
    }
    if (const runnable came = pick()) return came;
    if (pool_.idle_.is_shut_down()) return {};
    worker_counters::add(rounds_);
  }
  return {};
}

// Whoever is woken for something that was left for another takes it: the other may sleep on. That is no stealing.
runnable worker::take_mail_of_others() noexcept {
  for (worker& each : pool_.crew_) {
    if (each.inbox_.empty_approx()) continue;
    add_all(each.inbox_.drain());
    if (const runnable next = pick_usual()) return next;
  }
  return {};
}

worker& worker::choose_victim() noexcept {
  switch (pool_.options_.victims) {
    case victim_order::random: break;
    case victim_order::round_robin: return other(next_victim_++ % others());
    case victim_order::most_loaded: {
      worker* most = &other(0);
      for (std::uint32_t i = 1; i < others(); ++i) {
        if (other(i).load_approx() > most->load_approx()) most = &other(i);
      }
      return *most;
    }
  }
  return other(random_.below(others()));
}

std::uint32_t worker::others() const noexcept { return pool_.crew_.size() - 1; }

worker& worker::other(std::uint32_t i) const noexcept { return pool_.crew_[i < index_ ? i : i + 1]; }

// All of it lies in the cache of another processor: the first few are fetched at once, and each further one while those before
// it run (pick).
runnable worker::pop_loot(std::uint32_t count) noexcept {
  for (std::uint32_t i = 0; i < std::min(count, prefetch_distance); ++i) prefetch_task(tasks.guess(i));
  return tasks.pop();
}

runnable worker::rob(worker& victim, bool& saw_work) noexcept {
  const auto gives_up = [this] { return pool_.idle_.is_shut_down() || !inbox_.empty_approx(); };
  if (victim.tasks.size_approx() != 0) {
    const rob_result got = thief_.rob(victim.tasks, notes_[victim.index_], tasks, gives_up);
    worker_counters::add(got.count > 0 ? counters.stolen : counters.failed_steals, std::max(1U, got.count));
    if (got.count > 0) return pop_loot(got.count);
    // Its fibers stay where they are while it has tasks to give: among them may be the one that spawns those.
    saw_work = true;
    if (got.outcome != rob_outcome::empty) return {};
  }
  if (victim.ready_.size_approx() != 0) {
    if (share_line_of(victim)) return pick_usual();
    saw_work = true;
  }
  if (!victim.inbox_.empty_approx()) {
    add_all(victim.inbox_.drain());
    return pick_usual();
  }
  return {};
}

// Asks for the oldest half of what may go on there; takes it where nobody answers.
bool worker::share_line_of(worker& victim) noexcept {
  if (!victim.ready_.ask(name_)) return false;
  const time_point patience = clock_.now() + std::chrono::microseconds(20);
  constexpr int looks_between_clocks = 8;
  for (int looks = 0; victim.ready_.is_waiting(name_); ++looks) {
    default_platform::pause();
    if (looks % looks_between_clocks == 0 && (clock_.now() >= patience || !inbox_.empty_approx())) break;
  }
  run_batch seized = victim.ready_.seize(name_);
  const auto count = seized.size();
  if (count != 0) worker_counters::add(counters.stolen, count);
  add_all(std::move(seized));
  take_in_mail();
  return ready_.size() != 0;
}

}  // namespace weft::impl
