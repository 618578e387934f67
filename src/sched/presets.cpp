// SPDX-License-Identifier: Apache-2.0

#include "sys/processors.hpp"

#include <weft/presets.hpp>

#include <algorithm>
#include <chrono>

namespace weft {
namespace {

constexpr std::uint32_t most_workers = 256;

std::uint32_t workers(std::uint32_t wished) { return std::clamp(wished, 1U, most_workers); }

}  // namespace

std::uint32_t usable_processors() { return impl::read_processor_limits().effective(); }

namespace presets {

runtime_options lune() {
  return {.workers = workers(usable_processors() - 1),
          .fresh = placement::shared,
          .steal = false,
          .idle_poll = std::chrono::milliseconds(1),
          .timers = timer_mode::own_thread,
          .timer_idle_cap = std::chrono::milliseconds(10),
          .autoscale = {.is_on = false}};
}

runtime_options loom() {
  return {.workers = workers(usable_processors() / 2),
          .backoff = backoff_mode::low_latency,
          .autoscale = {.is_on = false}};
}

runtime_options janus() {
  constexpr std::size_t stack = std::size_t{8} << 10U;
  return {.workers = workers(usable_processors()),
          .stack_bytes = stack,
          .victims = victim_order::random,
          .steal_attempts = 4,
          .autoscale = {.is_on = false}};
}

// All of them at first. The second number is left open, so that a single one is not taken for a wish that tasks take turns.
runtime_options cc() {
  return {.workers = {workers(usable_processors()), 0},
          .fresh = placement::round_robin,
          .autoscale = {.growth = 0.5,
                        .most = 2.0,
                        .stuck_after = std::chrono::microseconds(250),
                        .busy_after = std::chrono::nanoseconds(0)}};
}

runtime_options crystal() {
  return {.workers = {1, workers(usable_processors())}, .autoscale = {.is_on = false}};
}

}  // namespace presets
}  // namespace weft
