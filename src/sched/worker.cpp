// SPDX-License-Identifier: Apache-2.0

#include "sched/worker.hpp"

#include "sched/identity.hpp"
#include "sched/loop.hpp"
#include "sched/overflow_fate.hpp"
#include "sched/pool.hpp"
#include "sys/thread_state.hpp"

#include <algorithm>
#include <array>

namespace weft::impl {
namespace {

// A task is worth moving sooner than a bare word: the one who gives it away is spared all of what it costs to run it, and its record
// is told ahead on both ways. docs/decisions/0008 has the figures.
constexpr thief_habits habits{.word_price = std::chrono::nanoseconds(10)};

// How often what is oldest is looked for: then a task is counted as well, to be measured or not, so that it costs nothing in
// between. Who wants to measure many has that more often.
std::uint32_t picks_between_oldest(const commons_options& how) noexcept {
  constexpr std::uint32_t most = 61;
  return how.measure_stack_every == 0 ? most : std::min(most, how.measure_stack_every);
}

// What a worker looks at after a push that is to tell nobody of it.
const detail::std_atomics::atomic<std::uint32_t> nobody_is_idle{0};

}  // namespace

worker::worker(pool& of, std::uint16_t index, census::row& row, xoshiro256ss random)
    : detail::worker_front(of.barriers(),
                           of.options().wake_on_spawn ? uncounted(of.idle_.word()) : nobody_is_idle),
      alone_in(of.workers().capacity() == 1 ? &of : nullptr),
      pool_(of),
      all_(of.all()),
      spawns_into_(of.options().spawns_into != nullptr ? *of.options().spawns_into : of),
      index_(index),
      name_(static_cast<thief_id>(index + 1)),
      row_(row),
      oldest_every_(picks_between_oldest(of.all().options())),
      measures_(of.all().options().measure_stack_every / oldest_every_),
      random_(random),
      thief_(name_, clock_, habits),
      notes_(of.workers().capacity()),
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
  const bool is_tick = until_oldest() == 0;
  if (is_tick && !fibers_turn_ && ready_.size() != 0) {
    // After the fiber: what is oldest takes a turn of the fresh tasks, and not one of its own.
    set_until_oldest(1);
  } else if (is_tick) {
    const std::uint32_t goes_on_at = take_look_request();
    if (goes_on_at != 0) look_around();
    if (goes_on_at > 1) {
      // Not the oldest task: after each that takes long that would unfold whole trees of them.
      set_until_oldest(goes_on_at - 1);
    } else {
      set_until_oldest(oldest_every_);
      next = pick_oldest();
      fibers_turn_ = false;
    }
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
  constexpr std::uint32_t all_every = 8;
  take_in_events(++polls_ % all_every == 0);
  if (polls_ % patient_every == 0) {
    if (const runnable next = take_from(pool_.patient_)) return next;
  }
  take_in_what_came();
  even_out();
  return tasks.pop_oldest();
}

// 0: there is none. Otherwise how many picks are left until the oldest has its turn, as if nobody had asked.
std::uint32_t worker::take_look_request() noexcept {
  if (looks_then_.load(std::memory_order_relaxed) == 0) return 0;
  return looks_then_.exchange(0, std::memory_order_relaxed);
}

void worker::look_around() noexcept {
  all_.sysmon_.note_awake();  // which may have gone to sleep while this worker was blocked
  take_in_events(true);
  take_in_what_came();
}

// Into the line, all of it or this worker's share: one at a time would keep the last of many waiting for very long.
void worker::take_in_what_came() noexcept {
  constexpr std::size_t at_once = 256;
  take_in_mail();
  take_in_share(std::max<std::size_t>(1, at_once / pool_.crew_.size()));
}

// Lines are kept of about the same length, or those who stand in a long one would wait for longer than they must: who sees one
// that is more than twice as long as its own asks for a part of it. What is sent comes by the inbox.
void worker::even_out() noexcept {
  constexpr std::uint32_t too_few_to_bother = 32;
  if (others() == 0 || !pool_.is_stealing()) return;
  ready_line& theirs = other(next_line_++ % others()).ready_;  // not by chance, which is for thieves alone
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
  if (forces_migration && woken.goes() == mine_) {
    std::size_t next = index_;
    do {
      next = (next + 1) % pool_.crew_.size();
    } while (next != index_ && pool_.crew_[next].thread_number() == 0);
    return pool_.crew_[next].leave_for_it_alone(ready);
  }
  if (woken.goes().is_pinned() && woken.on->pinned_to == this) return own_.push_back(ready);
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
  if (all_.is_forked()) commons::fail_in_child();
  if (pool_.is_driver_done()) return {runnable::kind::leave, this};
  if (pool_.is_arranged()) return left_half_or_leave();
  if (!WEFT_LIKELY(!must_go_.load(std::memory_order_relaxed)) && !is_needed_by_some()) return go_or_finish();
  own_turn_ = !own_turn_;
  if (own_turn_) {
    if (const runnable own = take_own()) return own;
  }
  const bool may = urgent_in_a_row_ < most_urgent_in_a_row;
  const runnable next = may ? take_from(pool_.urgent_) : runnable();
  urgent_in_a_row_ = next ? urgent_in_a_row_ + 1 : 0;
  return sampled_apart(next);
}

// For one that runs what it was given. Second halves of joins lie in its deque, and nobody comes for them.
runnable worker::left_half_or_leave() noexcept {
  const runnable half = tasks.pop();
  return half ? half : runnable(runnable::kind::leave, this);
}

// What has become ready meanwhile: often what belongs to this worker, sometimes what belongs to others.
void worker::take_in_events(bool of_all) noexcept {
  constexpr std::size_t at_once = 64;
  std::array<runnable, at_once> room;
  ready_batch ready(room);
  if (of_all) {
    pool_.loop_.poll(ready);
  } else {
    pool_.loop_.poll_of(pool_.loop_.shard_of(index_), ready);
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
  pool_.crew_[static_cast<std::size_t>(sent.to) - 1].inbox_.push(std::move(sent.items));
  (void)pool_.idle_.after_push(count);
}

// As often as sysmon would ask.
bool worker::is_time_to_give_way() noexcept {
  const time_point now = clock_.now();
  if (now < gives_way_at_) return false;
  gives_way_at_ = now + all_.options().look_every;
  return true;
}

bool worker::has_work_approx() const noexcept {
  return tasks.size_approx() != 0 || ready_.size_approx() != 0 || !inbox_.empty_after_barrier();
}

// -- Its thread ----------------------------------------------------------------------------------------------------

result<void> worker::furnish() noexcept {
  if (home_ == nullptr) {
    const result<record_slab::home*> home = all_.records_.move_in();
    if (!home) return home.error();
    home_ = *home;
  }
  usual_ = pool_.usual();
  mine_ = pool_.is_arranged() ? route() : usual_;
  while (spare_count_ < 2) {
    fiber* const first = try_make_fiber();
    if (first == nullptr) return errc::out_of_stacks;
    keep_spare(*first);
  }
  if (pool_.options_.runs_on_caller || pool_.is_arranged()) {
    expect_own();  // and sees there when to stop
    gives_way_unasked_ = true;
    ask_to_yield();
    return {};
  }
  return faults_.reserve();
}

void worker::unfurnish() noexcept {
  if (current_worker() != this)
    faults_.remove();  // where it was not installed; its thread does so after that
  give_all_stacks_back();
  if (home_ == nullptr) return;
  home_->flush();
  all_.records_.move_out(*std::exchange(home_, nullptr));
}

void worker::run_thread() noexcept {
  if (std::exchange(was_called_, false)) {
    pool_.idle_.come(index_);
    pool_.idle_.found_work(index_);  // and looks for it, now
  } else {
    pool_.idle_.appear(index_);
  }
  thread_number_.store(this_thread_number(), std::memory_order_relaxed);  // relaxed: for those who look
  all_.sysmon_.note_awake();
  for (;;) {
    run_worker(*this);
    if (pool_.idle_.is_shut_down()) break;
    pool_.tell_if_last_one_out();  // as whoever goes to sleep does
    hand_over_fibers();            // the one that it has just left may be among them
    if (pool_.idle_.try_go(index_)) break;
  }
  thread_number_.store(0, std::memory_order_relaxed);
  // Whoever goes may have sat in the event loop, and does not come back to sit down: so another does, or sysmon looks after it.
  if (!pool_.idle_.is_shut_down()) {
    pool_.wake_for_events();
    all_.sysmon_.note_awake();
  }
  unfurnish();
}

void worker::run_given(runnable ready) noexcept {
  thread_number_.store(this_thread_number(), std::memory_order_relaxed);  // relaxed: for those who look
  hand_over(ready);
  run_worker(*this);
  thread_number_.store(0, std::memory_order_relaxed);
}

// -- One that is asked to go ----------------------------------------------------------------------------------------

void worker::ask_to_go(bool go) noexcept {
  if (forces_migration) return;  // to each of them something comes that is for it alone
  must_go_.store(go,
                 std::memory_order_relaxed);  // relaxed: obeyed late; the nudge shows it to one that sleeps
  if (!go) return;
  looks_aside_.store(true, std::memory_order_relaxed);
  pool_.idle_.nudge(index_);
}

// Second halves of joins cannot lie in any other queue: those it runs, one after the other. All else it leaves to the others.
runnable worker::go_or_finish() noexcept {
  if (const runnable half = hand_over_tasks()) return half;
  hand_over_fibers();
  return {runnable::kind::leave, this};
}

runnable worker::hand_over_tasks() noexcept {
  run_batch left;
  runnable next = tasks.pop();
  for (; next && next.what() != runnable::kind::join; next = tasks.pop()) left.push_front(next);
  const auto count = static_cast<std::uint32_t>(left.size());
  if (count == 0) return next;
  pool_.global_.push(std::move(left));
  (void)pool_.idle_.after_push(count);
  return next;
}

void worker::hand_over_fibers() noexcept {
  run_batch left = inbox_.drain();
  while (const runnable next = ready_.pop()) left.push_back(next);
  const auto count = static_cast<std::uint32_t>(left.size());
  if (count == 0) return;
  pool_.global_.push(std::move(left));
  (void)pool_.idle_.after_push(count);
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
  const result<stack_slot*> slot = of == usual_stack() ? take_usual_stack() : all_.stacks_.take(of);
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
    if (const result<void> got = all_.stacks_.take_batch(usual_stack(), next_reserve_, reserve_); !got)
      return got.error();
    next_reserve_ = std::min(2 * next_reserve_, most_reserve);
  }
  return reserve_.try_pop();
}

void worker::give_all_stacks_back() noexcept {
  while (spare_ != nullptr) unmake(take_spare());
  all_.stacks_.give_batch(reserve_);
}

stack_class worker::usual_stack() const noexcept { return all_.options_.stack; }

void worker::unmake(fiber& unused) noexcept {
  stack_slot& slot = *unused.slot;
  clear_identity(unused);  // it is a worker's
  forget_context(unused);
  const bool is_usual = !unused.is_for_one;
  unused.~fiber();
  if (!is_usual) return all_.stacks_.give(slot);
  next_reserve_ = 1;
  reserve_.push(slot);
  if (reserve_.size() > most_reserve) all_.stacks_.give_batch(reserve_);
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
    case duty::move_out:
      pool::make_runnable(*static_cast<task*>(with),
                          false);  // it is another pool's by now, which has counted it in
      return row_.end();
  }
}

}  // namespace weft::impl
