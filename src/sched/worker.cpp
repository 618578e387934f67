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
    : detail::worker_front(of.barriers(), uncounted(of.idle_.word())),
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
