// SPDX-License-Identifier: Apache-2.0

#include "sched/held_locks.hpp"

#include "base/report.hpp"
#include "sched/loop.hpp"
#include "sched/task_name.hpp"
#include "sched/worker.hpp"
#include "sys/backtrace.hpp"
#ifdef WEFT_CHECKS_LOCKS
#include "sys/lock_hooks.hpp"
#endif

#include <algorithm>
#include <atomic>
#include <execinfo.h>
#include <utility>

namespace weft::impl {

void held_locks::note(const void* lock, const task& by) noexcept {
  if (count_ == most) return;
  held_lock& made = locks_[count_];
  made.lock = lock;
  made.by = &by;
  made.call_count =
      static_cast<std::size_t>(std::max(0, ::backtrace(made.calls.data(), held_lock::most_calls)));
  ++count_;
}

void held_locks::forget(const void* lock, const task& by) noexcept {
  for (std::size_t i = count_; i-- != 0;) {
    if (locks_[i].lock != lock || locks_[i].by != &by) continue;
    std::move(locks_.begin() + static_cast<std::ptrdiff_t>(i) + 1,
              locks_.begin() + static_cast<std::ptrdiff_t>(count_),
              locks_.begin() + static_cast<std::ptrdiff_t>(i));
    --count_;
    return;
  }
}

const held_lock* held_locks::take_one_of(const task& by) noexcept {
  for (std::size_t i = 0; i < count_; ++i) {
    if (locks_[i].by != &by) continue;
    taken_ = locks_[i];
    forget(taken_.lock, by);
    return &taken_;
  }
  return nullptr;
}

#ifdef WEFT_CHECKS_LOCKS
namespace {

// The task that runs here, and whose list to write to; nothing on a plain thread, and in what a worker does between tasks.
struct holder {
  worker* here = nullptr;
  const task* self = nullptr;
};
holder find_holder() noexcept {
  worker* const here = current_worker();
  if (here == nullptr || here->current == &here->native || here->is_between_stacks()) return {};
  return {here, running_fiber(*here).running};
}

// What is called to note a lock takes locks itself.
class once_at_a_time {
 public:
  explicit once_at_a_time(worker& of) noexcept
      : flag_(of.is_noting_lock), is_first_(!std::exchange(flag_, true)) {}
  once_at_a_time(const once_at_a_time&) = delete;
  once_at_a_time& operator=(const once_at_a_time&) = delete;
  ~once_at_a_time() {
    if (is_first_) flag_ = false;
  }
  [[nodiscard]] bool is_first() const noexcept { return is_first_; }

 private:
  bool& flag_;
  const bool is_first_;
};

void note_taken(const void* lock) noexcept {
  const holder by = find_holder();
  if (by.self == nullptr) return;
  const once_at_a_time alone(*by.here);
  if (alone.is_first()) by.here->locks.note(lock, *by.self);
}

void note_given_back(const void* lock) noexcept {
  const holder by = find_holder();
  if (by.self == nullptr) return;
  const once_at_a_time alone(*by.here);
  if (alone.is_first()) by.here->locks.forget(lock, *by.self);
}

constinit const lock_watcher watcher{.taken = &note_taken, .given_back = &note_given_back};

// A place is reported once. Of very many places some are reported again.
bool is_new_place(const held_lock& held) noexcept {
  static constinit std::array<std::atomic<const void*>, 64> known{};
  constexpr std::size_t own_frames = 2;  // those of the hook
  const void* const place = held.call_count > own_frames ? held.calls[own_frames] : held.lock;
  for (std::atomic<const void*>& each : known) {
    const void* found = nullptr;
    // relaxed: the word guards nothing but itself.
    if (each.compare_exchange_strong(found, place, std::memory_order_relaxed)) return true;
    if (found == place) return false;
  }
  return true;
}

}  // namespace

void begin_to_watch_locks() noexcept {
  prepare_backtrace();
  watch_locks(watcher);
}

void report_held_locks(const task& self) noexcept {
  worker& here = *current_worker();
  const once_at_a_time alone(here);
  while (const held_lock* const held = here.locks.take_one_of(self)) {
    if (!is_new_place(*held)) continue;
    text_line line;
    append_task(line, self);
    line << " waits while it holds a lock of the system's (a std::mutex or the like)";
    report(line);
    report(text_line()
           << "  whoever else wants it blocks a whole worker, maybe the one that would let this task go on");
    report(text_line() << "  give it back before the wait; it was taken here:");
    report_calls(held->taken_at());
    report(text_line() << "  and the wait is here:");
    report_backtrace();
  }
}

#else

void begin_to_watch_locks() noexcept {}
void report_held_locks(const task& /*self*/) noexcept {}

#endif

}  // namespace weft::impl
