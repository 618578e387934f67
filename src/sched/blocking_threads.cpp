// SPDX-License-Identifier: Apache-2.0

#include "sched/blocking_threads.hpp"

#include "sched/failure.hpp"
#include "sched/loop.hpp"
#include "sched/pool.hpp"
#include "sched/wait.hpp"

#include <algorithm>
#include <new>
#include <utility>

namespace weft::impl {

// All under the lock: what is put to those that wait is seen by a thread that is busy now (BT2).
bool blocking_threads::try_begin(blocking_job& job) noexcept {
  const scoped_hold hold(lock_);
  if (host* const free = idle_.try_pop_back()) {  // who has been idle for the shortest time
    free->given = &job;
    count_begun();
    free->bed.unpark();
    return true;
  }
  // Not behind those that are there: what they do may wait for this one.
  if (counts_.threads < most_) return try_start(job);
  waiting_.push_back(job);
  return true;
}

void blocking_threads::count_begun() noexcept {
  ++counts_.busy;
  ++counts_.begun;
  counts_.most_busy = std::max(counts_.most_busy, counts_.busy);
}

bool blocking_threads::try_start(blocking_job& first) noexcept {
  try {
    auto made = std::make_unique<host>(*this);
    host& started = *made;
    started.given = &first;
    sweep_ended();
    hosts_.reserve(hosts_.size() + 1);
    result<default_platform::thread> thread =
        default_platform::thread::start(&run, &started, {.name = "weft-blocking"});
    if (!thread) return false;
    started.thread = std::move(*thread);
    hosts_.push_back(std::move(made));
    ++counts_.threads;
    count_begun();
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  }
}

void blocking_threads::sweep_ended() noexcept {
  std::erase_if(hosts_,
                [](std::unique_ptr<host>& each) { return each->has_ended && each->thread.try_join(); });
}

void blocking_threads::run(void* raw) {
  auto& self = *static_cast<host*>(raw);
  thread_place::of_thread(self.of.leader_.thread_number())
      .apply();  // whoever has started it may be bound to less
  blocking_job* job = std::exchange(self.given, nullptr);
  while (job != nullptr) {
    job->call->run(*job->call);
    job->done(*job);
    job = self.of.next(self);
  }
}

// What is to be done next; null where this thread has nothing to do any more.
blocking_job* blocking_threads::next(host& mine) noexcept {
  {
    const scoped_hold hold(lock_);
    if (blocking_job* const job = waiting_.try_pop_front()) {
      ++counts_.begun;
      return job;
    }
    --counts_.busy;
    if (is_stopping_) return end(mine);
    idle_.push_back(mine);
  }
  (void)mine.bed.park_until(default_platform::clock().now() + linger_);
  const scoped_hold hold(lock_);
  if (mine.given != nullptr) return std::exchange(mine.given, nullptr);
  if (mine.is_linked()) idle_.erase(mine);
  return end(mine);
}

blocking_job* blocking_threads::end(host& mine) noexcept {
  mine.has_ended = true;
  --counts_.threads;
  return nullptr;
}

blocking_counts blocking_threads::counts() const noexcept {
  const scoped_hold hold(lock_);
  blocking_counts now = counts_;
  now.waiting = waiting_.size();
  return now;
}

void blocking_threads::stop() noexcept {
  std::vector<std::unique_ptr<host>> left;
  {
    const scoped_hold hold(lock_);
    is_stopping_ = true;
    while (host* const each = idle_.try_pop_front()) each->bed.unpark();
    left = std::move(hosts_);
  }
  for (const std::unique_ptr<host>& each : left) each->thread.join();
}

namespace {

/// One that a task waits for.
struct awaited_job : blocking_job {
  task* waiting = nullptr;
  wait_ticket ticket;
};

// A task that must not wait, or that has its thread to itself, may as well block it.
bool runs_here(const task* self, const worker* here) noexcept {
  return self == nullptr || self->no_suspend != 0 || here->of().options().spawns_into != nullptr ||
         here->of().options().runs_on_caller;
}

}  // namespace
}  // namespace weft::impl

namespace weft {

void detail::run_blocking(blocking_call& call) noexcept {
  impl::task* const self = impl::current_task();
  impl::worker* const here = impl::current_worker();
  if (impl::runs_here(self, here)) return call.run(call);
  impl::commons& all = here->all();
  if (all.is_forked()) impl::commons::fail_in_child();
  impl::one_wait wait(*self, impl::wait_kind::shielded);
  self->note_reason("blocking()");
  impl::awaited_job job;
  job.call = &call;
  job.waiting = self;
  job.ticket = wait.ticket();
  job.done = [](impl::blocking_job& done) noexcept {
    const auto& mine = static_cast<impl::awaited_job&>(done);
    impl::pool::end_wait(*mine.waiting, mine.ticket);
  };
  if (!all.blocking().try_begin(job)) {
    (void)wait.abandon();
    return call.run(call);
  }
  (void)wait.leave();
}

}  // namespace weft
