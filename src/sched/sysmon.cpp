// SPDX-License-Identifier: Apache-2.0

#include "sched/sysmon.hpp"

#include "sched/commons.hpp"
#include "sched/pace.hpp"
#include "sys/processors.hpp"
#include "sys/thread_state.hpp"

#include <chrono>
#include <utility>

namespace weft::impl {

result<void> sysmon::start() noexcept {
  const scoped_hold hold(start_lock_);
  if (thread_.joinable()) return {};
  const auto body = [](void* raw) { static_cast<sysmon*>(raw)->run(); };
  result<default_platform::thread> started =
      default_platform::thread::start(body, this, {.name = "weft-sysmon"});
  if (!started) return started.error();
  thread_ = std::move(*started);
  is_started_.store(true, std::memory_order_relaxed);
  return {};
}

void sysmon::stop() noexcept {
  if (!thread_.joinable()) return;
  is_stopping_.store(true, std::memory_order_relaxed);  // relaxed: the call shows it
  call();
  thread_.join();
}

// A quota, or the processors that this process may use, may change while it runs.
void sysmon::follow_processors(time_point now) noexcept {
  constexpr duration read_every = std::chrono::seconds(1);
  if (now < read_processors_at_) return;
  read_processors_at_ = now + read_every;
  all_.follow_processors(read_processor_limits().effective());  // each time: some contexts are new
}

void sysmon::run() noexcept {
  thread_number_.store(this_thread_number(), std::memory_order_relaxed);
  const system_clock clock;
  pace steps(all_.options().look_every);
  while (!is_stopping_.load(std::memory_order_relaxed)) {
    const time_point now = clock.now();
    follow_processors(now);
    const duration rest = steps.after(all_.look_after_all(now));
    if (rest != duration::max()) {
      (void)bed_.park_until(now + rest);
      continue;
    }
    is_asleep_.store(true, std::memory_order_relaxed);
    default_platform::heavy_barrier(barriers_);  // [SM-sleep]
    if (all_.look_after_all(clock.now()) == sysmon_sight::nothing_runs && all_.leave_notes()) bed_.park();
    is_asleep_.store(false, std::memory_order_relaxed);
  }
}

}  // namespace weft::impl
