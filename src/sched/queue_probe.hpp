// SPDX-License-Identifier: Apache-2.0
//
// queue_probe — how long whatever comes to a context waits until it runs: something that runs nothing is put into the queue, and comes
// out at its turn.
//
// Sent by sysmon, from time to time and only while there is work, so that nothing else pays for it. While it is on its way, what waits
// has waited at least for as long: so a context that stands still is seen, too.
//
// Thread safety: arrive() by the worker that takes it out; the rest by sysmon, and age() by anyone.
// Invariants:   QP1  it is in one queue at most
#pragma once

#include "base/clock.hpp"
#include "base/runnable.hpp"
#include "sys/platform.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>

namespace weft::impl {

class queue_probe : public run_link<default_platform> {
 public:
  static constexpr duration sent_every = std::chrono::milliseconds(5);

  /// Whether it is time to send it.
  [[nodiscard]] bool is_due(time_point now) const noexcept { return is_home() && now >= next_; }
  /// What to put into the queue.
  [[nodiscard]] runnable send(time_point now) noexcept {
    next_ = now + sent_every;
    sent_.store(to_word(now), std::memory_order_relaxed);  // relaxed: the queue orders it
    return as_runnable();
  }
  /// There is nothing beside it that could wait: what comes now has not waited yet.
  void begin_anew(time_point now) noexcept {
    last_.store(0, std::memory_order_relaxed);
    std::int64_t sent = sent_.load(std::memory_order_relaxed);
    // Unless it arrives just now.
    if (sent != nowhere) (void)sent_.compare_exchange_strong(sent, to_word(now), std::memory_order_relaxed);
  }
  [[nodiscard]] runnable as_runnable() noexcept {
    return {runnable::kind::probe, static_cast<run_link<default_platform>*>(this)};
  }

  [[nodiscard]] static queue_probe& in(runnable taken) noexcept {
    return static_cast<queue_probe&>(run_link<default_platform>::of(taken));
  }
  /// It has come out.
  void arrive(time_point now) noexcept {
    last_.store(to_word(now) - sent_.load(std::memory_order_relaxed), std::memory_order_relaxed);
    sent_.store(nowhere,
                std::memory_order_release);  // [QP-home] pairs with is_home(): it is out of the queue
  }

  /// How long it has taken the last time, or has been on its way by now.
  [[nodiscard]] duration age(time_point now) const noexcept {
    const std::int64_t sent = sent_.load(std::memory_order_relaxed);
    const std::int64_t last = last_.load(std::memory_order_relaxed);
    return duration(sent == nowhere ? last : std::max(last, to_word(now) - sent));
  }

  [[nodiscard]] bool is_home() const noexcept {
    return sent_.load(std::memory_order_acquire) == nowhere;  // [QP-home]
  }

 private:
  static constexpr std::int64_t nowhere = -1;
  [[nodiscard]] static std::int64_t to_word(time_point at) noexcept { return at.time_since_epoch().count(); }

  std::atomic<std::int64_t> sent_{nowhere};
  std::atomic<std::int64_t> last_{0};
  time_point next_ = time_point::min();
};

}  // namespace weft::impl
