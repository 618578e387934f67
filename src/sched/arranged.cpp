// SPDX-License-Identifier: Apache-2.0
//
// What a pool does for a context whose face says itself when and where its tasks run: a custom one, whose tasks threads of the user's
// run one at a time, or one that wraps another, whose workers run them.
//
// A wrapped task is in two pools, or in more: in the wrapper, where it belongs, and in the one that is wrapped. It is counted in each, so
// that none of them ends before it. It leaves them from the outside in: the wrappers when it ends or goes elsewhere, by itself; the
// innermost as any task does, by the row of the worker that it ends on.

#include "base/report.hpp"
#include "sched/custom_access.hpp"
#include "sched/identity.hpp"
#include "sched/loop.hpp"
#include "sched/pool.hpp"
#include "stack/overflow.hpp"

#include <cstdlib>

namespace weft::impl {

// -- Ready ------------------------------------------------------------------------------------------------------------------

// Who is handed the task may run it, and it may be the last that its pool has waited for: so the caller is a guest there. [PO-visit]
void pool::give_to_its_context(runnable ready, task& whose) noexcept {
  pool& home = *find_context(whose.goes().home());
  const farewell::visit in_home(home.farewell_.guests());
  home.hand_to_face(ready, whose);
}

void pool::hand_to_face(runnable ready, task& whose) noexcept {
  release_edge(whose.record_edge());  // as in make_runnable()
  enqueue(*face_, whose, ready.what() == runnable::kind::task);
}

void pool::accept(runnable ready, task& whose) noexcept {
  if (is_arranged()) return hand_to_face(ready, whose);
  const priority lane = whose.goes().lane();
  if (lane == priority::normal) {
    global_.push(ready);
  } else {
    put_in_lane(ready, lane);
  }
  (void)idle_.after_push();
}

// -- Being in it ----------------------------------------------------------------------------------------------------------------

std::optional<std::uint64_t> pool::try_enter(bool is_outsider) noexcept {
  const task* const self = current_task();
  if (inner() != nullptr && self != nullptr && self->goes().home() == id()) {
    enter_as_member(nullptr);
    return 1;
  }
  std::optional<std::uint64_t> number = census_.try_begin(is_outsider);
  if (number && inner() != nullptr && !inner()->try_enter(is_outsider)) {
    census_.end_as_stranger();
    number.reset();
  }
  if (number) return number;
  farewell_.tell();  // who may have counted us in
  all_.tell();
  return number;
}

// A task that is in it makes another, which may come for as long as that lives.
void pool::enter_as_member(const pool* up_to) noexcept {
  for (pool* each = this; each != up_to; each = each->inner()) each->census_.begin_as_member();
}

void pool::place_child(task& fresh) noexcept {
  // The worker's row has counted it in here already.
  if (!WEFT_LIKELY(!fresh.has(task_mark::wrapped))) fresh.home().enter_as_member(this);
  place(fresh);
}

// The same by one who may have left it by now. Those around which it is are entered as well, up to one. Returns which of them ends, and
// lets nobody in; or null.
const pool* pool::try_enter_up_to(const pool& up_to) noexcept {
  for (pool* each = this; each != &up_to; each = each->inner()) {
    if (each->census_.try_begin(false)) continue;
    each->farewell_.tell();  // who may have counted us in
    for (pool* done = this; done != each; done = done->inner()) {
      done->census_.end_as_stranger();
      done->farewell_.tell();
    }
    return each;
  }
  return nullptr;
}

// The maker waits for what was made, and so is in its wrappers for as long; unless it has left them meanwhile. So they are looked for among
// those that are there; and those that end let nobody in any more, since the maker may have been the last. Then it runs outside of them,
// where nobody would find it who asks all of them to stop: so it is asked here, if they are.
bool pool::enter_wrapper_of(const task& maker, task& made) noexcept {
  const context_id wanted = maker.goes().home();
  const pool& runs = made.home();
  pool* wrapper = nullptr;
  std::optional<farewell::visit> in_it;  // and so it stays, with those that it wraps
  maker.all().for_each_context([&](pool& each) {
    if (each.id() != wanted || each.inner() == nullptr || !is_within(wanted, runs.id())) return;
    wrapper = &each;
    in_it.emplace(each.farewell_.guests());
  });
  if (wrapper == nullptr) return false;
  const pool* const ending = wrapper->try_enter_up_to(runs);
  if (ending == nullptr) {
    made.belong_to(wrapper->usual(), true);
    return false;
  }
  maker.all().tell();  // who may have counted us in
  if (ending->options().cancels_leftovers) return true;
  for (const pool* each = wrapper; each != &runs; each = each->inner()) {
    if (each->stop_of_wrapped().requested()) return true;
  }
  return false;
}

void pool::leave_wrapper(task& leaving) noexcept {
  pool& wrapper = leaving.home();
  const farewell::visit in_it(wrapper.farewell_.guests());
  if (!is_join_arm(leaving)) note_leave(*wrapper.face_, leaving);  // which it has not been shown either
  const pool& inner = *wrapper.inner();
  leaving.belong_to(inner.usual(), inner.inner() != nullptr);
  wrapper.census_.end_as_stranger();
  wrapper.tell_if_last_one_out();
}

bool is_asked_by_wrapper(const task& wrapped) noexcept {
  for (const pool* each = &wrapped.home(); each != nullptr; each = each->inner()) {
    if (each->stop_of_wrapped().requested()) return true;
  }
  return false;
}

// Another pool that must live for as long. (The first of a runtime does in any case.)
pool* pool::used() const noexcept {
  pool* const other = options_.inner != nullptr ? options_.inner : options_.spawns_into;
  return other == all_.first() && options_.inner == nullptr ? nullptr : other;
}

void pool::check_users() const noexcept {
  if (users_.load(std::memory_order_relaxed) == 0) return;
  text_line line;
  line << "execution context '" << options_.name
       << "' was destroyed before one that wraps it, or that spawns into it; destroy that first";
  report(line);
  std::abort();
}

bool pool::is_left() noexcept {
  if (!is_over_now()) return false;
  farewell_.await_guests();  // [PO-visit]
  return true;
}

// -- Threads that run its tasks -----------------------------------------------------------------------------------------------

result<std::uint32_t> pool::take_place() noexcept {
  const scoped_hold hold(resize_lock_);
  for (std::uint32_t i = 0; i < limit(); ++i) {
    if (is_taken_[i]) continue;
    if (result<void> furnished = crew_.furnish(i); !furnished) return furnished.error();
    is_taken_[i] = true;
    places_taken_.fetch_add(1, std::memory_order_relaxed);
    return i;
  }
  return errc::would_block;
}

void pool::give_place(std::uint32_t place) noexcept {
  const scoped_hold hold(resize_lock_);
  is_taken_[place] = false;
  places_taken_.fetch_sub(1, std::memory_order_relaxed);
}

void pool::run_one(std::uint32_t place, runnable ready) noexcept {
  worker& self = crew_[place];
  begin_worker();
  WEFT_CHECK(attach(self).has_value(), "this thread cannot carry fibers: a hardware shadow stack is active");
  self.run_given(ready);
  detach(self);
  end_worker();
  acquire_edge(this);
  tell_if_last_one_out();
}

}  // namespace weft::impl
