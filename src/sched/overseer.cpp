// SPDX-License-Identifier: Apache-2.0

#include "sched/overseer.hpp"

#include "base/report.hpp"
#include "sched/pool.hpp"
#include "sched/running_task.hpp"
#include "sys/backtrace.hpp"
#include "sys/thread_calls.hpp"
#include "sys/thread_state.hpp"

#include <algorithm>
#include <bit>

namespace weft::impl {
namespace {

// Until a worker that could not be brought may be called again.
constexpr duration pause_after_failure = std::chrono::milliseconds(100);
// A thread that computes may be found waiting for a moment: for a page, or for its turn at a lock.
constexpr std::uint32_t looks_that_convince = 2;
constexpr std::uint32_t looks_to_spare = 16;

}  // namespace

overseer::overseer(pool& of, const overseer_options& how)
    : pool_(of), how_(how), watches_(of.workers().capacity()) {
  excused_.reserve(of.workers().capacity());
}

void overseer::want(std::size_t worker) noexcept {
  // release: who brings it sees why. [OV-want]
  wanted_[worker / word_bits].fetch_or(std::uint64_t{1} << worker % word_bits, std::memory_order_release);
}

sysmon_sight overseer::look(time_point now) noexcept {
  pool_.join_ended_threads();
  bring_wanted(now);
  if (now >= enroll_at_) enroll_again();
  const crew_look seen = look_at_all(now);
  const scaling_step step = decide(how_.scaling, seen, room());
  can_add_ = room() != 0 && may_grow(how_.scaling, seen);
  if (step.add != 0 && now >= add_at_) add(step, seen, now);
  hasten(now);
  measure_queue(now);
  see_to_events(seen, now);
  return judge(seen);
}

std::uint32_t overseer::room() const noexcept { return pool_.workers().capacity() - pool_.workers().there(); }

// Where somebody sleeps, whoever has work wakes it, and that wakes sysmon. Where nobody does, sysmon must see it.
sysmon_sight overseer::judge(const crew_look& seen) const noexcept {
  if (is_in_doubt_ || nobody_sat_) return sysmon_sight::doubt;
  const bool something_waits = seen.work_waits != duration::zero() || events_were_due_;
  if (something_waits && (can_add_ || seen.somebody_is_idle)) return sysmon_sight::trouble;
  if (something_waits || seen.busy != 0) return sysmon_sight::all_is_well;
  for (const watch& each : watches_) {
    if (each.now == condition::running) return sysmon_sight::all_is_well;
  }
  // Where tasks take turns nobody could come; but somebody may want to know how long what comes has to wait.
  const bool may_help = !seen.takes_turns || (tells_of_overload() && pool_.options().spawns_into == nullptr);
  const bool may_strand = seen.blocked != 0 && !seen.somebody_is_idle && may_help;
  return may_strand ? sysmon_sight::all_is_well : sysmon_sight::nothing_runs;
}

// Whoever has sat in the event loop has found something there, and is stuck with it, while the others sleep, and nobody sits. Or it was a
// moment only: so it is the second look that counts.
void overseer::see_to_events(const crew_look& seen, time_point now) noexcept {
  const bool is_due = pool_.events().is_due(now);
  const bool somebody_can = seen.somebody_is_idle || pool_.beds().counts_approx().sleeping != 0;  // or come
  const bool nobody_sits = seen.blocked + seen.busy != 0 && somebody_can && pool_.is_seat_empty_approx();
  const bool is_somebody_coming =
      pool_.beds().counts_approx().searching != 0;  // and looks at it before it sleeps
  const bool wakes = !is_somebody_coming && ((is_due && events_were_due_) || (nobody_sits && nobody_sat_));
  if (wakes) pool_.wake_for_events();
  // Whoever was woken is given time.
  events_were_due_ = is_due && !wakes;
  nobody_sat_ = nobody_sits && !wakes && !is_somebody_coming;
}

void overseer::bring_wanted(time_point now) noexcept {
  for (std::size_t word = 0; word < wanted_.size(); ++word) {
    // relaxed: looked at again, by whoever calls sysmon afterwards
    if (wanted_[word].load(std::memory_order_relaxed) == 0) continue;
    std::uint64_t bits = wanted_[word].exchange(0, std::memory_order_acquire);  // [OV-want]
    for (; bits != 0; bits &= bits - 1) {
      const auto worker =
          static_cast<std::uint32_t>(word * word_bits) + static_cast<std::uint32_t>(std::countr_zero(bits));
      const result<bool> brought = pool_.bring(worker);
      if (how_.tells) tell_of_call(worker, brought);
      if (brought) continue;
      counters_.failed.fetch_add(1, std::memory_order_relaxed);  // relaxed: a statistic
      excused_.push_back(worker);
      enroll_at_ = now + pause_after_failure;
    }
  }
}

void overseer::enroll_again() noexcept {
  enroll_at_ = never;
  for (const std::uint32_t worker : excused_) pool_.enroll(worker);
  excused_.clear();
}

crew_look overseer::look_at_all(time_point now) noexcept {
  crew_look seen;
  seen.own = pool_.limit();
  seen.takes_turns = pool_.takes_turns();
  seen.there = pool_.workers().there();
  const bool has_shared_work = pool_.has_shared_work_beside(probe_.as_runnable());
  const bool is_due = pool_.events().is_due(now);
  // For what is due somebody is called who is not there yet: see_to_events().
  bool work_is_stranded = has_shared_work || (is_due && seen.there >= seen.own);
  is_in_doubt_ = false;
  for (std::uint32_t i = 0; i < pool_.workers().size(); ++i) {
    watch& each = watches_[i];
    each.now = look_at(i, now);
    switch (each.now) {
      case condition::absent: pool_.collect_mail_of(i); break;
      case condition::running: break;
      case condition::asleep: seen.somebody_is_idle = true; break;
      case condition::blocked: ++seen.blocked; break;
      case condition::busy: ++seen.busy; break;
    }
    worker& who = pool_.workers()[i];
    if (has_run_one_task(each, now) && (has_shared_work || is_due || who.has_mail_approx()))
      (void)who.ask_to_look(each.last);
    const bool is_stuck = each.now == condition::blocked || each.now == condition::busy;
    if (is_stuck && (pool_.is_stealing() ? who.has_work_approx() : who.has_mail_approx()))
      work_is_stranded = true;
  }
  const bool waits = work_is_stranded && seen.blocked + seen.busy != 0 && !seen.somebody_is_idle;
  if (!waits) {
    waits_since_ = never;
  } else if (waits_since_ == never) {
    waits_since_ = now;
  }
  if (waits) seen.work_waits = std::max(now - waits_since_, duration(1));
  return seen;
}

// Also where it forks and joins all the time, which is progress, but not for the others.
bool overseer::has_run_one_task(const watch& one, time_point now) const noexcept {
  const bool runs = one.now != condition::absent && one.now != condition::asleep;
  return runs && now - one.picked_at >= how_.scaling.stuck_after;
}

void overseer::begin(watch& one, time_point now) noexcept {
  one.picked_at = now;
  one.was_asked = false;
}

overseer::condition overseer::look_at(std::uint32_t worker, time_point now) noexcept {
  watch& one = watches_[worker];
  const auto is = [&](condition found) {
    if (found != condition::running) begin(one, now);
    one.since = now;
    one.waits_seen = 0;
    one.is_named = false;
    return found;
  };
  const impl::worker& who = pool_.workers()[worker];
  const pid_t thread = who.thread_number();
  if (thread == 0) return is(condition::absent);
  if (pool_.beds().is_asleep_approx(worker)) return is(condition::asleep);
  const worker_progress progress = who.progress();
  if (progress != one.last) {
    if (progress.ended != one.last.ended || progress.picks != one.last.picks) begin(one, now);
    one.last = progress;
    return is(condition::running);
  }
  if (one.since == time_point()) one.since = one.picked_at = now;  // seen for the first time
  if (now - one.since < how_.scaling.stuck_after) return condition::running;
  // To look costs three system calls: while nothing waits, now and then is enough.
  const bool was_stuck = one.now == condition::blocked || one.now == condition::busy;
  if (was_stuck && (waits_since_ == never || !can_add_) && ++one.looks_spared % looks_to_spare != 0)
    return one.now;
  if (look_at_thread(thread) != thread_state::waiting) {
    one.waits_seen = 0;
    return condition::busy;
  }
  if (++one.waits_seen >= looks_that_convince) return condition::blocked;
  is_in_doubt_ = true;
  return condition::running;
}

// Those that compute for long while others wait are asked to give way at their next checkpoint; and are named, if somebody wants to know.
void overseer::hasten(time_point now) noexcept {
  for (std::uint32_t i = 0; i < pool_.workers().size(); ++i) {
    watch& each = watches_[i];
    if (!has_run_one_task(each, now)) continue;
    if (pool_.has_work_approx()) {
      pool_.workers()[i].ask_to_yield();
      const duration runs_for = now - each.picked_at;
      if (how_.tells && runs_for >= how_.scaling.busy_after && !std::exchange(each.was_asked, true))
        tell_of_request(i, runs_for);
    }
    if (each.now != condition::busy) continue;
    const duration busy_for = now - each.since;
    if (busy_for < how_.hog_after || std::exchange(each.is_named, true)) continue;
    name_hog(i, busy_for);
  }
}

bool overseer::leave_notes() noexcept {
  bool is_unchanged = true;
  for (std::uint32_t i = 0; i < pool_.workers().size(); ++i) {
    if (watches_[i].now != condition::blocked) continue;
    pool_.workers()[i].ask_to_yield();
    if (!pool_.workers()[i].ask_to_look(watches_[i].last)) is_unchanged = false;
  }
  return is_unchanged;
}

void overseer::name_hog(std::uint32_t worker, duration busy_for) noexcept {
  constexpr std::size_t most_calls = 32;
  std::array<void*, most_calls> calls{};
  running_task hog;
  const std::size_t count = find_thread_calls(pool_.workers()[worker].thread_number(), calls, hog.question());
  if (!hog.is_known) return;  // it is over by now
  text_line line;
  hog.append_to(line);
  line << " has kept worker " << worker << " of context '" << pool_.options().name << "' busy for "
       << static_cast<std::uint64_t>(busy_for / std::chrono::milliseconds(1)) << " ms; it is here:";
  report(line);
  report_calls({calls.data(), count});
}

void overseer::measure_queue(time_point now) noexcept {
  if (!pool_.has_work_beside(probe_.as_runnable())) {
    probe_.begin_anew(now);
  } else if (probe_.is_due(now)) {
    pool_.queue(probe_.send(now));
  }
  const duration age = probe_.age(now);
  if (age > how_.overload_after && !is_overloaded_) is_overloaded_ = is_overloaded_anew_ = true;
  if (age < how_.overload_after / 2) is_overloaded_ = false;
}

void overseer::take_back(runnable left) noexcept {
  WEFT_CHECK(left.what() == runnable::kind::probe, "PO2: workers have ended before the last task");
  queue_probe::in(left).arrive(default_platform::clock().now());
}

void overseer::add(const scaling_step& step, const crew_look& seen, time_point now) noexcept {
  std::uint32_t added = 0;
  bool has_failed = false;
  for (std::uint32_t i = 0; i < pool_.workers().capacity() && added < step.add && !has_failed; ++i) {
    const result<bool> started = pool_.try_add_worker(i);
    has_failed = !started;
    if (started && *started) ++added;
  }
  if (has_failed) add_at_ = now + pause_after_failure;
  std::atomic<std::uint64_t>& count =
      step.reason == scaling_reason::blocked ? counters_.replaced : counters_.joined;
  count.fetch_add(added, std::memory_order_relaxed);  // relaxed: a statistic
  if (has_failed) counters_.failed.fetch_add(1, std::memory_order_relaxed);
  waits_since_ = never;  // they are given time
  if (how_.tells && (added != 0 || has_failed)) tell(step, seen, added, has_failed);
}

void overseer::tell_of_call(std::uint32_t worker, const result<bool>& brought) const noexcept {
  if (brought && !*brought) return;
  text_line line;
  line << "sysmon: worker " << worker << " of context '" << pool_.options().name << "' ";
  if (brought) {
    line << "comes, since there is work and nobody who is there sleeps";
  } else {
    line << "cannot come, since the system has no thread or memory for it; it is called again after 100 ms";
  }
  report(line);
}

void overseer::tell_of_request(std::uint32_t worker, duration runs_for) const noexcept {
  report(text_line() << "sysmon: asks worker " << worker << " of context '" << pool_.options().name
                     << "' to give way at the next checkpoint, since it has run one task for "
                     << static_cast<std::uint64_t>(runs_for / std::chrono::milliseconds(1))
                     << " ms while others wait");
}

void overseer::tell(const scaling_step& step, const crew_look& seen, std::uint32_t added,
                    bool has_failed) const noexcept {
  text_line line;
  line << "sysmon: context '" << pool_.options().name << "' has " << seen.there
       << " workers (its own: " << seen.own << "), " << seen.blocked << " of them blocked and " << seen.busy
       << " busy, while work has waited for " << static_cast<std::uint64_t>(seen.work_waits.count() / 1000)
       << " us: adds " << added;
  if (has_failed) line << " of " << step.add << ", since the system has no thread for more";
  line << (step.reason == scaling_reason::blocked ? " in the place of those that are blocked"
                                                  : " beside those that are busy");
  report(line);
}

}  // namespace weft::impl
