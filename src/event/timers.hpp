// SPDX-License-Identifier: Apache-2.0
//
// timers — a wheel for each worker behind a small lock, and what is due in any of them.
//
// A worker puts its timers into its own wheel, so that the lock is nearly always free. Anybody may take out what is due: the
// one that sits in the event loop, and workers that are busy, between two pieces of work.
//
// Thread safety: any thread.
// Invariants:   TM1  a shard's `next` is not after any deadline in its wheel, whenever its lock is free
//               TM2  a timer fires or is cancelled under the lock of its shard: who has removed it may destroy it
#pragma once

#include "base/cache_line.hpp"
#include "event/event_loop.hpp"
#include "event/timer_wheel.hpp"
#include "sys/platform.hpp"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace weft::impl {

class timers {
 public:
  /// What a timer makes runnable when it fires; nothing if its wait has ended otherwise. Called under a lock: it does
  /// nothing but that. Afterwards the timer may be gone.
  using fire_function = runnable (*)(timer_node& due) noexcept;

  timers(std::size_t shards, time_point now, fire_function fire) : fire_(fire) {
    shards_.reserve(shards);
    for (std::size_t i = 0; i < shards; ++i) shards_.push_back(std::make_unique<shard>(now));
  }

  [[nodiscard]] std::size_t shards() const noexcept { return shards_.size(); }

  /// Makes the timer pending.
  void insert(std::size_t into, timer_node& timer, time_point deadline) noexcept {
    shard& s = *shards_[into];
    const scoped_hold hold(s.lock);
    s.wheel.insert(timer, deadline);
    if (deadline < s.next_approx()) s.set_next(deadline);
  }

  /// Takes the timer out if it has not fired. When this returns, nobody touches it any more.
  void remove(std::size_t from, timer_node& timer) noexcept {
    shard& s = *shards_[from];
    const scoped_hold hold(s.lock);
    if (timer.is_linked()) s.wheel.cancel(timer);
    // Whoever sleeps until that deadline wakes up once in vain: cheaper than to tell it each time.
  }

  /// No deadline is earlier, in no shard. After the fence of the alarm: none that was put in before.
  [[nodiscard]] time_point earliest() const noexcept {
    time_point found = never;
    for (const auto& each : shards_) found = std::min(found, each->next_approx());
    return found;
  }
  /// The same of one shard.
  [[nodiscard]] time_point earliest_of(std::size_t one) const noexcept { return shards_[one]->next_approx(); }

  /// Fires what is due, as far as there is room for what becomes runnable.
  void expire(time_point now, ready_batch& ready) noexcept {
    for (std::size_t i = 0; i < shards_.size() && !ready.full(); ++i) expire_of(i, now, ready);
  }
  void expire_of(std::size_t one, time_point now, ready_batch& ready) noexcept {
    shard& s = *shards_[one];
    if (s.next_approx() > now) return;
    const scoped_hold hold(s.lock);
    const auto fire = [&](timer_node& due) {
      if (const runnable woken = fire_(due)) ready.push(woken);
    };
    while (!ready.full() && s.wheel.expire(now, fire, ready.room_left()) > 0) {
    }
    s.set_next(s.wheel.next_deadline_bound());
  }

 private:
  struct alignas(contended_bytes) shard {
    explicit shard(time_point now) noexcept : wheel(now) {}

    // relaxed: a hint, which the fences of the alarm make good; the wheel itself is behind the lock.
    [[nodiscard]] time_point next_approx() const noexcept {
      return time_point(duration(next.load(std::memory_order_relaxed)));
    }
    void set_next(time_point to) noexcept {
      next.store(to.time_since_epoch().count(), std::memory_order_relaxed);
    }

    std::atomic<std::int64_t> next{never.time_since_epoch().count()};
    default_platform::mutex lock;
    timer_wheel wheel;
  };

  const fire_function fire_;
  std::vector<std::unique_ptr<shard>> shards_;
};

}  // namespace weft::impl
