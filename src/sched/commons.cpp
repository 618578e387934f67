// SPDX-License-Identifier: Apache-2.0

#include "sched/commons.hpp"

#include "arch/shadow_stack.hpp"
#include "base/report.hpp"
#include "sched/debug_map.hpp"
#include "sched/overflow_fate.hpp"
#include "sched/pool.hpp"
#include "sched/task_name.hpp"
#include "stack/overflow.hpp"
#include "stack/usage.hpp"
#include "sys/thread_calls.hpp"

#include <algorithm>
#include <cstdlib>
#include <deque>
#include <functional>
#include <limits>
#include <memory>
#include <new>
#include <thread>

namespace weft::impl {

commons::commons(const commons_options& how)
    : forked_party([](forked_party& self) noexcept { static_cast<commons&>(self).note_fork(); }),
      options_(how),
      barriers_(default_platform::barriers()),
      // A stack that is given back while there is work to do keeps its memory; see worker::do_chore().
      stacks_({.warm_limit = std::numeric_limits<std::size_t>::max()}),
      records_({.owner = this}),
      farewell_(barriers_),
      sysmon_(*this, barriers_),
      blocking_(how.blocking_threads, std::chrono::seconds(1), sysmon_),
      random_(how.seed) {}

commons::~commons() {
  remove_runtime(*this);
  check_contexts();
  sysmon_.stop();
  blocking_.stop();
  farewell_.await_guests();
  while (abandoned_ != nullptr) {
    fiber& gone = *std::exchange(abandoned_, abandoned_->next);
    stack_slot& slot = *gone.slot;
    forget_context(gone);
    stacks_.give(slot);
  }
  for (strangers& each : strangers_) {
    if (each.home != nullptr) records_.move_out(*std::exchange(each.home, nullptr));
  }
  acquire_edge(this);
  check_handles();
}

void commons::check_contexts() noexcept {
  if (pools_.empty()) return;
  text_line line;
  line << "a runtime was destroyed before its execution context '" << pools_.front().options().name
       << "'; destroy the context first";
  report(line);
  std::abort();
}

// Nobody can make use of a record whose runtime is gone.
void commons::check_handles() const noexcept {
  records_.for_each_live([](const task& each, record_handle) {
    text_line line;
    line << "a runtime was destroyed before the handle of ";
    append_task(line, each);
    line << "; join the task, or let go of its handle, before";
    report(line);
    std::abort();
  });
}

result<void> commons::start() noexcept {
  if (shadow_stack_active()) return errc::shadow_stack_active;  // threads have what their maker has
  if (result<void> installed = install_overflow_handler(); !installed) return installed;
  set_report_subject(&append_running_task);
  set_overflow_policy(&decide_on_overflow);
  begin_to_watch_locks();
  prepare_thread_calls();
  for (strangers& each : strangers_) {
    const result<record_slab::home*> home = records_.move_in();
    if (!home) return home.error();
    each.home = *home;
  }
  if (options_.dumps_on_quit) {
    if (result<void> begun = quit_dump_.try_begin(); !begun) return begun;
  }
  add_runtime(*this);
  return {};
}

// -- In a forked child --------------------------------------------------------------------------------------------------------

// The only thread there is may be a worker, in the middle of a task. Whatever that task does next with weft leads to a path
// where this is looked at: a push is not quiet any more, and a pick looks into the lanes first.
void commons::note_fork() noexcept {
  is_forked_ = true;
  if (worker* const here = worker_here()) {
    here->tasks.disturb();
    here->expect_own();
  }
}

void commons::fail_in_child() noexcept {
  text_line line;
  line << "a task went on in a forked child, where its runtime has no workers: after fork() in a task "
          "nothing may follow but exec "
          "or _exit";
  report(line);
  std::abort();
}

// -- Records ------------------------------------------------------------------------------------------------------------------

commons::strangers& commons::strangers_here() noexcept {
  return strangers_[std::hash<std::thread::id>()(std::this_thread::get_id()) / 64 % stranger_homes];
}

result<task*> commons::new_task_of_stranger() noexcept {
  if (is_forked_) return errc::forked;
  strangers& mine = strangers_here();
  const scoped_hold hold(mine.lock);
  return mine.home->allocate();
}

void commons::discard(task& blank) noexcept {
  drop_extras(blank);
  if (is_forked_) return;  // its locks may be held by threads that are not here
  const runtime_section in;
  if (worker* const here = worker_here()) return here->discard_record(blank);
  strangers& mine = strangers_here();
  const scoped_hold hold(mine.lock);
  mine.home->discard(blank);
}

void commons::release_of_stranger(task& done) noexcept {
  if (is_forked_) return;
  strangers& mine = strangers_here();
  const scoped_hold hold(mine.lock);
  mine.home->free(done);
}

void commons::delete_extras(task& ended) noexcept {
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

// -- All tasks ----------------------------------------------------------------------------------------------------------------

// A record may die while it is looked at; then what was read is thrown away.
std::vector<task_info> commons::list() const {
  std::vector<task_info> all;
  records_.for_each_live([&](const task& each, record_handle life) {
    task_info found = describe(each, life);
    if (records_.resolve(life) == &each) all.push_back(std::move(found));
  });
  return all;
}

task_info commons::describe(const task& one, record_handle life) const {
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

namespace {

// A record may die under our eyes, and begin another life. But its waits are numbered through all its lives: so if the
// wait that was seen first still stands when it is claimed, what was read in between is that of the same life. [WC-who]
template <class IsMeant>
void end_wait_if(task& waiting, IsMeant&& is_meant) noexcept {
  for (wait_word seen = waiting.claim.word(); seen.is_claimable() && !seen.is_shielded();
       seen = waiting.claim.word()) {
    if (!is_meant(waiting)) return;
    const claim_outcome outcome = waiting.claim.try_claim_seen(seen, wake_cause::cancelled);
    if (outcome == claim_outcome::won) pool::make_runnable(waiting, false);
    if (outcome != claim_outcome::lost) return;
  }
}

}  // namespace

void commons::wake_cancelled(std::uintptr_t owner) noexcept {
  records_.for_each_live([owner](const task& each, record_handle) {
    end_wait_if(const_cast<task&>(each),
                [owner](const task& waiting) { return waiting.handle.owner() == owner; });
  });
}

void commons::wake_cancelled_in(context_id home) noexcept {
  records_.for_each_live([home](const task& each, record_handle) {
    end_wait_if(const_cast<task&>(each),
                [home](const task& waiting) { return is_within(waiting.goes().home(), home); });
  });
}

void commons::cancel_all() noexcept {
  {
    const scoped_hold hold(pools_lock_);
    is_stopping_ = true;
    for (pool& each : pools_) each.raise_stop();
  }
  cancel_flag::settle(barriers_);
  records_.for_each_live([](const task& each, record_handle) {
    end_wait_if(const_cast<task&>(each), [](const task& /*any*/) { return true; });
  });
}

void commons::trim_held(task& held) noexcept {
  fiber& on = *held.on;
  if (held.has(task_mark::measured)) (void)measure_depth(*on.slot, on.lowest_in_use());
  // A kernel that refuses (locked memory) leaves the stack as it is.
  (void)trim_below(*on.slot, on.lowest_in_use());
  if (held.claim.complete_hold() == park_outcome::must_requeue) pool::make_runnable(held, false);
}

void commons::keep_abandoned(fiber& gone) noexcept {
  const scoped_hold hold(abandoned_lock_);
  gone.next = abandoned_;
  abandoned_ = &gone;
}

// -- Contexts, and the end of all -----------------------------------------------------------------------------------------------

bool commons::try_add(pool& made) noexcept {
  const scoped_hold hold(pools_lock_);
  // A task may still need one when strangers are turned away: others wait for it.
  if (is_closed_ && worker_here() == nullptr) return false;
  pools_.push_back(made);
  if (first_ == nullptr) {
    first_ = &made;
    fill_debug_map(*this, made);
  }
  if (is_closed_) made.close(turned_away::outsiders);
  if (is_stopping_) made.raise_stop();
  return true;
}

sysmon_sight commons::look_after_all(time_point now) noexcept {
  sysmon_sight worst = sysmon_sight::nothing_runs;
  bool is_overloaded = false;
  {
    const scoped_hold hold(pools_lock_);  // while it is held, no context goes
    for (pool& each : pools_) {
      worst = std::max(worst, each.look_after(now));
      is_overloaded = is_overloaded || each.is_overloaded_anew();
    }
  }
  if (is_overloaded) tell_of_overload();
  return worst;
}

bool commons::leave_notes() noexcept {
  const scoped_hold hold(pools_lock_);
  bool is_unchanged = true;
  for (pool& each : pools_) is_unchanged = each.leave_notes() && is_unchanged;
  return is_unchanged;
}

// Without the lock, so that whoever is called may look around.
void commons::tell_of_overload() noexcept {
  struct call {
    explicit call(pool& of)
        : in_it(of.guests()), hook(of.options().on_overload), what{of.options().name, of.queue_age()} {}

    farewell::visit in_it;  // and so the context is there until the hook has returned. [PO-visit]
    std::shared_ptr<const overload_hook> hook;
    overload what;
  };
  std::deque<call> calls;  // a visit stays where it is
  try {
    const scoped_hold hold(pools_lock_);
    for (pool& each : pools_) {
      if (each.is_overloaded_anew()) calls.emplace_back(each);
      each.forget_overload();
    }
  } catch (const std::bad_alloc&) {  // the next time
  }
  for (const call& each : calls) each.hook->call(each.what);
}

void commons::follow_processors(std::uint32_t usable) noexcept {
  const scoped_hold hold(pools_lock_);
  for (pool& each : pools_) each.follow_processors(usable);
}

std::uint64_t commons::next_seed() noexcept {
  const scoped_hold hold(pools_lock_);
  return random_();
}

void commons::remove(pool& gone) noexcept {
  const scoped_hold hold(pools_lock_);
  pools_.erase(gone);
}

void commons::close() noexcept {
  {
    const scoped_hold hold(pools_lock_);
    is_closed_ = true;
    for (pool& each : pools_) each.close(turned_away::outsiders);
  }
  census::settle(barriers_);
}

bool commons::drain(time_point deadline) noexcept {
  WEFT_CHECK(worker_here() == nullptr,
             "a runtime is shut down or destroyed by one of its own tasks, which would wait for itself");
  return farewell_.await(*this, deadline);
}

bool commons::is_over_now() noexcept {
  close();
  return is_quiet();
}

// Over all contexts: all ends first, then all beginnings, as of one census. A context that comes or goes meanwhile waits for the
// lock; whoever makes it is alive.
bool commons::is_quiet() noexcept {
  const scoped_hold hold(pools_lock_);
  std::uint64_t ended = 0;
  std::uint64_t begun = 0;
  for (const pool& each : pools_) ended += each.ended();
  for (const pool& each : pools_) begun += each.begun();
  return begun == ended;
}

bool commons::runs_on_caller() const noexcept { return first_->options().runs_on_caller; }

bool commons::wait_on_thread(parker& mine, time_point deadline) noexcept {
  return first_->wait_on_thread(mine, deadline);
}

void commons::tell_if_over() noexcept {
  if (is_quiet()) farewell_.tell();
}

}  // namespace weft::impl
