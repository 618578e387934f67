// SPDX-License-Identifier: Apache-2.0

#include "sched/worker.hpp"

#include "sched/identity.hpp"
#include "sched/loop.hpp"
#include "sched/overflow_fate.hpp"
#include "sched/pool.hpp"

#include <algorithm>
#include <array>

namespace weft::impl {
namespace {

// A task is worth moving sooner than a bare word: the one who gives it away is spared all of what it costs to run it, and its record
// is told ahead on both ways. docs/decisions/0008 has the figures.
constexpr thief_habits habits{.word_price = std::chrono::nanoseconds(10)};

// How often what is oldest is looked for: then a task is counted as well, to be measured or not, so that it costs nothing in
// between. Who wants to measure many has that more often.
std::uint32_t picks_between_oldest(const pool_options& how) noexcept {
  constexpr std::uint32_t most = 61;
  return how.measure_stack_every == 0 ? most : std::min(most, how.measure_stack_every);
}

}  // namespace

worker::worker(pool& of, std::uint16_t index, census::row& row, xoshiro256ss random)
    : detail::worker_front(of.barriers(), of.idle_.word()),
      pool_(of),
      index_(index),
      name_(static_cast<thief_id>(index + 1)),
      row_(row),
      oldest_every_(picks_between_oldest(of.options())),
      measures_(of.options().measure_stack_every / oldest_every_),
      random_(random),
      thief_(name_, clock_, habits),
      notes_(of.options().workers),
      ready_(of.barriers()) {
  is_worker = true;
  WEFT_CHECK(reinterpret_cast<std::byte*>(static_cast<detail::worker_front*>(this)) ==
                 reinterpret_cast<std::byte*>(static_cast<detail::carrier_head*>(this)) +
                     detail::worker_front_offset,
             "an inlined join finds the front at a fixed distance");
}

worker::~worker() = default;

// The inbox needs none, unlike a larger deque.
void worker::push_without_memory(runnable made) noexcept {
  inbox_.push(made);
  (void)pool_.idle_.after_push();
}

void worker::put_back(runnable taken) noexcept {
  while (!tasks.push(taken)) pool::nap();  // there was room for it before
  pool::nap();
}

runnable worker::pick_among_all() noexcept {
  runnable next;
  const bool is_tick = until_oldest_ == 0;
  if (is_tick && !fibers_turn_ && ready_.size() != 0) {
    until_oldest_ =
        1;  // after the fiber: what is oldest takes a turn of the fresh tasks, and not one of its own
  } else if (is_tick) {
    until_oldest_ = oldest_every_;
    next = pick_oldest();
    fibers_turn_ = false;
  }
  if (!next) next = pick_usual();
  if (!next && refill()) next = pick_usual();
  if (!next) next = take_from(pool_.urgent_);  // nobody else waits: so one more
  if (!next) next = take_from(pool_.patient_);
  if (!next) next = take_own();
  if (next) answer();  // with one in hand, so that others may have whatever there is
  return is_tick ? sampled(next) : next;
}

// The two classes take turns.
runnable worker::pick_usual() noexcept {
  fibers_turn_ = !fibers_turn_;
  if (tasks.size() == 0) return ready_.pop();
  if (fibers_turn_) {
    const runnable next = ready_.pop_in_turn();
    return next ? next : tasks.pop();
  }
  const runnable next = tasks.pop();
  return next ? next : ready_.pop();
}

// What has waited longest: for all workers, for this one, among its own.
runnable worker::pick_oldest() noexcept {
  take_in_events();
  if (polls_ % patient_every == 0) {
    if (const runnable next = take_from(pool_.patient_)) return next;
  }
  // Into the line, all of it or this worker's share: one at a time would keep the last of many waiting for very long.
  constexpr std::size_t at_once = 256;
  take_in_mail();
  take_in_share(std::max<std::size_t>(1, at_once / pool_.workers_.size()));
  even_out();
  return tasks.pop_oldest();
}

// Lines are kept of about the same length, or those who stand in a long one would wait for longer than they must: who sees one
// that is more than twice as long as its own asks for a part of it. What is sent comes by the inbox.
void worker::even_out() noexcept {
  constexpr std::uint32_t too_few_to_bother = 32;
  if (others() == 0 || !pool_.is_stealing()) return;
  ready_line& theirs = any_other().ready_;
  if (theirs.size_approx() > 2 * ready_.size() + too_few_to_bother) (void)theirs.ask_by_the_way(name_);
}

// What others have left for this worker.
void worker::take_in_mail() noexcept {
  if (!inbox_.empty_approx()) add_all(inbox_.drain());
}

// Of what they have left for all.
void worker::take_in_share(std::size_t most) noexcept {
  if (pool_.global_.empty()) return;
  auto taken = pool_.global_.try_take(most);
  if (taken.left_some) (void)pool_.idle_.after_push();
  add_all(std::move(taken.items));
}

// -- What does not go the usual way: looked at only once there was something ------------------------------------------

void worker::push_aside(runnable ready, task& woken) noexcept {
  if (forces_migration && woken.way.is_usual()) {
    const std::size_t next = (std::size_t{index_} + 1) % pool_.workers_.size();
    return pool_.workers_[next]->leave_for_it_alone(ready);
  }
  if (woken.way.is_pinned() && woken.on->pinned_to == this) return own_.push_back(ready);
  pool_.push_aside(ready, woken);
}

void worker::leave_for_it_alone(runnable something) noexcept {
  own_box_.push(something);
  pool_.idle_.call(index_);
}

runnable worker::take_own() noexcept {
  if (!own_box_.empty_approx()) own_.append(own_box_.drain());
  return own_.pop_front();
}

runnable worker::take_from(global_queue& lane) noexcept {
  // relaxed: as in pick().
  if (!looks_aside_.load(std::memory_order_relaxed) || lane.empty()) return {};
  return lane.try_take(1).items.pop_front();
}

// Before all others, but not for ever: what is its own every other time, what is urgent so often in a row.
runnable worker::pick_aside() noexcept {
  if (pool_.is_forked()) pool::fail_in_child();
  if (pool_.is_driver_done()) return {runnable::kind::leave, this};
  own_turn_ = !own_turn_;
  if (own_turn_) {
    if (const runnable own = take_own()) return own;
  }
  const bool may = urgent_in_a_row_ < most_urgent_in_a_row;
  const runnable next = may ? take_from(pool_.urgent_) : runnable();
  urgent_in_a_row_ = next ? urgent_in_a_row_ + 1 : 0;
  return sampled_apart(next);
}

// What has become ready meanwhile: often what belongs to this worker, sometimes what belongs to others.
void worker::take_in_events() noexcept {
  constexpr std::size_t at_once = 64;
  constexpr std::uint32_t all_every = 8;
  std::array<runnable, at_once> room;
  ready_batch ready(room);
  if (++polls_ % all_every == 0) {
    pool_.loop_.poll(ready);
  } else {
    pool_.loop_.poll_of(index_, ready);
  }
  if (const std::uint32_t shared = pool_.sort_in(ready, ready_)) (void)pool_.idle_.after_push(shared);
}

// Takes in what others have left.
bool worker::refill() noexcept {
  constexpr std::size_t share = 16;
  take_in_mail();
  if (ready_.size() == 0) take_in_share(share);
  return ready_.size() != 0;
}

void worker::add_all(run_batch&& some) noexcept {
  const auto count = static_cast<std::uint32_t>(some.size());
  if (count == 0) return;
  ready_.push(std::move(some));
  if (count > 1) (void)pool_.idle_.after_push(count - 1);
}

void worker::answer() noexcept {
  if (tasks.asked()) tasks.answer_between();
  if (!ready_.asked()) return;
  // One that has let its children go first goes on here, where it is about to spawn more of them.
  ready_line::parcel sent = ready_.answer(children_first_ != 0 ? 1 : 0);
  const auto count = static_cast<std::uint32_t>(sent.items.size());
  if (count == 0) return;
  pool_.workers_[static_cast<std::size_t>(sent.to) - 1]->inbox_.push(std::move(sent.items));
  (void)pool_.idle_.after_push(count);
}

bool worker::has_work_approx() const noexcept {
  return tasks.size_approx() != 0 || ready_.size_approx() != 0 || !inbox_.empty_after_barrier();
}

// -- Looking for work elsewhere ---------------------------------------------------------------------------------------

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
  for (bool searching = beds.try_search(index_);;) {
    if (searching) {
      if (const runnable found = search()) {
        beds.found_work(index_);
        return found;
      }
    }
    home_->flush();
    if (!reserve_.empty()) pool_.stacks_.give_batch(reserve_);  // others may need them
    if (pool_.census_.is_last_one_out(pool_.rows())) pool_.tell_who_drains();
    if (const runnable leave = leave_if_asked()) {
      if (searching) beds.found_work(index_);
      return leave;
    }
    const time_point chores = pool_.caretaker_.begin(std::exchange(has_run, false), clock_.now());
    const time_point until = std::min(chores, pool_.drive_until_);
    const idle_end end = beds.sleep(index_, until, host);
    if (chores != never) {
      const bool has_come = end == idle_end::deadline && clock_.now() >= chores;
      has_run = !do_chore(pool_.caretaker_.end(has_come));
    }
    if (end == idle_end::closed) return {};
    searching = true;
    if (const runnable found = pick()) {
      beds.found_work(index_);
      return found;
    }
  }
}

// Whether there is anything that it could run or take.
bool worker::sees_work() const noexcept {
  if (!pool_.global_.empty() || pool_.has_work_in_lanes()) return true;
  const bool steals = pool_.is_stealing();
  return std::any_of(pool_.workers_.begin(), pool_.workers_.end(), [&](const auto& each) {
    return steals || each.get() == this ? each->has_work_approx() : each->has_mail_approx();
  });
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
      pool_.mark_parked(go_on);
      while (go_on() && pool_.stacks_.cool(warm_stacks, at_once) == at_once) {
      }
      break;
    case chore::trim: pool_.trim_marked(go_on); break;
  }
  return is_undisturbed;
}

// To look at somebody who is busy costs it a cache line each time. So a searcher that sees work and does not get it, because
// it is not worth the price now or somebody else is at it, looks again after longer and longer pauses.
runnable worker::search() noexcept {
  if (others() == 0) return {};
  if (!pool_.is_stealing()) return take_mail_of_others();
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
    pauses = saw_work ? std::min(2 * pauses, longest_pause) : 4 * shortest_pause;
    for (int i = 0; i < pauses; ++i) default_platform::pause();
  }
  return {};
}

// Whoever is woken for something that was left for another takes it: the other may sleep on. That is no stealing.
runnable worker::take_mail_of_others() noexcept {
  for (const auto& each : pool_.workers_) {
    if (each->inbox_.empty_approx()) continue;
    add_all(each->inbox_.drain());
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
  return any_other();
}

std::uint32_t worker::others() const noexcept {
  return static_cast<std::uint32_t>(pool_.workers_.size()) - 1;
}

worker& worker::other(std::uint32_t i) const noexcept { return *pool_.workers_[i < index_ ? i : i + 1]; }

// All of it lies in the cache of another processor: the first few are fetched at once, and each further one while those before
// it run (pick).
runnable worker::pop_loot(std::uint32_t count) noexcept {
  for (std::uint32_t i = 0; i < std::min(count, prefetch_distance); ++i) prefetch_task(tasks.guess(i));
  return tasks.pop();
}

runnable worker::rob(worker& victim, bool& saw_work) noexcept {
  const auto stop = [this] { return pool_.idle_.is_shut_down() || !inbox_.empty_approx(); };
  if (victim.tasks.size_approx() != 0) {
    const rob_result got = thief_.rob(victim.tasks, notes_[victim.index_], tasks, stop);
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

// -- Its thread ----------------------------------------------------------------------------------------------------

void worker::run_thread() noexcept {
  run_worker(*this);
  give_all_stacks_back();
  home_->flush();
}

// -- Stacks -----------------------------------------------------------------------------------------------------------

fiber& worker::take_spare() noexcept {
  WEFT_CHECK(spare_ != nullptr, "WO2: a worker has run out of stacks");
  if constexpr (tasks_change_stacks) return take_oldest_spare();
  fiber& taken = *std::exchange(spare_, spare_->next);
  --spare_count_;
  identify_loop(taken, native);
  return taken;
}

fiber& worker::take_oldest_spare() noexcept {
  fiber** link = &spare_;
  while ((*link)->next != nullptr) link = &(*link)->next;
  fiber& taken = **link;
  *link = nullptr;
  --spare_count_;
  identify_loop(taken, native);
  return taken;
}

bool worker::begins_elsewhere(runnable picked) noexcept {
  if (was_handed_ || picked.what() == runnable::kind::fiber) return false;
  while (spare_count_ < stacks_in_turn) {
    fiber* const made = try_make_fiber();
    if (made == nullptr) return false;
    keep_spare(*made);
  }
  return true;
}

void worker::keep_spare(fiber& unused) noexcept {
  WEFT_ASSERT(unused.running == nullptr, "FI1: a stack is kept while a task stands on it");
  if (spare_count_ >= most_spare) return unmake(unused);
  unused.next = spare_;
  spare_ = &unused;
  ++spare_count_;
}

bool worker::try_keep_another() noexcept {
  fiber* const made = try_make_fiber();
  if (made != nullptr) keep_spare(*made);
  return made != nullptr;
}

// At the top of its stack, and what is below it is the loop's.
fiber* worker::try_make_fiber(stack_class of) noexcept {
  const result<stack_slot*> slot = of == usual_stack() ? take_usual_stack() : pool_.stacks_.take(of);
  if (!slot) return nullptr;
  auto* const made = new ((*slot)->high() - fiber::room()) fiber;
  made->slot = *slot;
  (*slot)->owner.store(&whoever_runs, std::memory_order_relaxed);  // relaxed: read by who runs on it
  constexpr std::size_t reserve = std::size_t{32} << 10U;
  made->watermark = reinterpret_cast<std::byte*>((*slot)->low) + std::min(reserve, (*slot)->size() / 4);
  make_context(*made, (*slot)->low, (*slot)->size() - fiber::room(), &fiber_entry, made,
               context_identity::given);
  return made;
}

// Several at a time: all workers take from the same place. The more of them, the more it takes without giving any back.
result<stack_slot*> worker::take_usual_stack() noexcept {
  if (reserve_.empty()) {
    if (const result<void> got = pool_.stacks_.take_batch(usual_stack(), next_reserve_, reserve_); !got)
      return got.error();
    next_reserve_ = std::min(2 * next_reserve_, most_reserve);
  }
  return reserve_.try_pop();
}

void worker::give_all_stacks_back() noexcept {
  while (spare_ != nullptr) unmake(take_spare());
  pool_.stacks_.give_batch(reserve_);
}

stack_class worker::usual_stack() const noexcept { return pool_.options_.stack; }

void worker::unmake(fiber& unused) noexcept {
  stack_slot& slot = *unused.slot;
  clear_identity(unused);  // it is a worker's
  forget_context(unused);
  const bool is_usual = !unused.is_for_one;
  unused.~fiber();
  if (!is_usual) return pool_.stacks_.give(slot);
  next_reserve_ = 1;
  reserve_.push(slot);
  if (reserve_.size() > most_reserve) pool_.stacks_.give_batch(reserve_);
}

void worker::do_duty() noexcept {
  const duty what = std::exchange(duty_, duty::nothing);
  void* const with = duty_with_;
  switch (what) {
    case duty::nothing: return;
    case duty::park: {
      task& left = *static_cast<task*>(with);
      if (left.claim.complete_park() == park_outcome::must_requeue) push_ready(left, true);
      return;
    }
    case duty::leave_line: return ready_.leave();
    case duty::requeue_behind: children_first_ = pool::most_waiting / 2; [[fallthrough]];
    case duty::requeue: return push_ready(*static_cast<task*>(with), false);
    case duty::keep: return keep_spare(*static_cast<fiber*>(with));
    case duty::unmake: return unmake(*static_cast<fiber*>(with));
    case duty::abandon: return abandon(*this, *static_cast<fiber*>(with));
  }
}

}  // namespace weft::impl
