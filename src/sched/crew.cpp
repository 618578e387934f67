// SPDX-License-Identifier: Apache-2.0

#include "sched/crew.hpp"

#include "sched/identity.hpp"
#include "sched/pool.hpp"
#include "stack/overflow.hpp"

#include <weft/error.hpp>

#include <new>
#include <utility>

namespace weft::impl {

crew::crew(pool& of, std::uint32_t capacity, std::uint32_t limit, std::uint64_t seed)
    : pool_(of), rows_(capacity), places_(capacity), limit_(limit), random_(seed) {
  leaving_.reserve(capacity);
}

crew::~crew() = default;

result<void> crew::furnish(std::uint32_t i) noexcept {
  const scoped_hold hold(lock_);
  return furnish_locked(i);
}

// The places are filled in order, so that those below size() have workers (CW1).
result<void> crew::furnish_locked(std::uint32_t i) noexcept {
  const unwatched_section in;
  for (std::uint32_t next = size(); next <= i; ++next) {
    try {
      places_[next].who =
          std::make_unique<worker>(pool_, static_cast<std::uint16_t>(next), rows_[next], random_.split());
    } catch (const std::bad_alloc&) {
      return errc::out_of_memory;
    }
    if (asks_to_stop_) places_[next].who->stop.request();
    size_.store(next + 1, std::memory_order_release);  // [CW-size] pairs with size(): the worker is whole
  }
  return places_[i].who->furnish();
}

result<void> crew::start_called(std::uint32_t i) noexcept {
  const scoped_hold hold(lock_);
  WEFT_CHECK(places_[i].state == presence::listed, "CW2: a worker was called that is there, or cannot be");
  return start_locked(i, true);
}

result<bool> crew::start_unlisted(std::uint32_t i) noexcept {
  const scoped_hold hold(lock_);
  if (places_[i].state != presence::unlisted) return false;
  if (i >= limit() && pool_.takes_turns()) return false;  // since the caller has looked
  if (result<void> started = start_locked(i, false); !started) return started.error();
  return true;
}

result<void> crew::start_locked(std::uint32_t i, bool was_called) noexcept {
  if (is_stopped_) return errc::shut_down;
  place& there = places_[i];
  // The one before has nothing to do with the worker any more, but may be destroying what tasks have left in thread-local variables: and
  // that is no business of ours to wait for, with a lock.
  if (!there.thread.try_join()) set_aside(std::move(there.thread));
  if (result<void> furnished = furnish_locked(i); !furnished) return furnished;
  {
    const unwatched_section in;
    there.who->prepare(was_called);
  }
  result<default_platform::thread> started = default_platform::thread::start(&run, there.who.get());
  if (!started) {
    const unwatched_section in;
    there.who->unfurnish();
    return started.error();
  }
  there.thread = std::move(*started);
  there.state = presence::there;
  there_.fetch_add(1, std::memory_order_relaxed);  // relaxed: a number
  return {};
}

void crew::set_aside(default_platform::thread&& ending) noexcept {
  std::erase_if(leaving_, [](default_platform::thread& each) { return each.try_join(); });
  if (leaving_.size() == leaving_.capacity()) {
    leaving_.back().join();
    leaving_.pop_back();
  }
  leaving_.push_back(std::move(ending));
}

bool crew::try_list(std::uint32_t i) noexcept {
  const scoped_hold hold(lock_);
  if (places_[i].state != presence::unlisted) return false;
  places_[i].state = presence::listed;
  return true;
}

void crew::unlist(std::uint32_t i) noexcept {
  const scoped_hold hold(lock_);
  places_[i].state = presence::unlisted;
}

bool crew::is_there(std::uint32_t i) noexcept {
  const scoped_hold hold(lock_);
  return places_[i].state == presence::there;
}

void crew::set_limit(std::uint32_t workers) noexcept {
  const scoped_hold hold(lock_);
  const std::uint32_t before = limit();
  limit_.store(workers, std::memory_order_relaxed);
  // Where there shall be fewer, those that sysmon has added go as well; otherwise they do by themselves.
  const std::uint32_t asked = workers < before ? size() : workers;
  for (std::uint32_t i = 0; i < asked; ++i) {
    if (places_[i].state == presence::there) places_[i].who->ask_to_go(i >= workers);
  }
}

void crew::run(void* raw) {
  auto& self = *static_cast<worker*>(raw);
  self.of().bring_to_place();
  begin_worker();
  WEFT_CHECK(self.faults().install().has_value(), "a worker is started that was not furnished");
  WEFT_CHECK(attach(self).has_value(), "this thread cannot carry fibers: a hardware shadow stack is active");
  self.run_thread();
  detach(self);
  end_worker();
  self.faults().remove();
  acquire_edge(&self.of());  // thread-local objects of the tasks that were here go with the thread
  self.of().note_end(self);
}

bool crew::note_end(worker& gone) noexcept {
  const scoped_hold hold(lock_);
  place& left = places_[gone.index()];
  left.state = gone.index() < limit() && !is_stopped_ ? presence::listed : presence::unlisted;
  there_.fetch_sub(1, std::memory_order_relaxed);
  unjoined_.fetch_add(1, std::memory_order_relaxed);
  return left.state == presence::listed;
}

void crew::sweep() noexcept {
  if (unjoined_.load(std::memory_order_relaxed) == 0) return;
  const scoped_hold hold(lock_);
  std::erase_if(leaving_, [](default_platform::thread& each) { return each.try_join(); });
  auto left = static_cast<std::uint32_t>(leaving_.size());
  for (place& each : places_) {
    if (each.state != presence::there && !each.thread.try_join()) ++left;
  }
  unjoined_.store(left, std::memory_order_relaxed);
}

void crew::raise_stop() noexcept {
  const scoped_hold hold(lock_);
  asks_to_stop_ = true;
  for (worker& each : *this) each.stop.request();
}

void crew::stop() noexcept {
  {
    const scoped_hold hold(lock_);
    is_stopped_ = true;
  }
  for (place& each : places_) {
    if (each.thread.joinable()) each.thread.join();
    if (each.who != nullptr) each.who->unfurnish();
  }
  for (default_platform::thread& each : leaving_) each.join();
}

}  // namespace weft::impl
