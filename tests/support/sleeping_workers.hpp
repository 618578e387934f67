// SPDX-License-Identifier: Apache-2.0
//
// sleeping_workers — waits until the workers of a runtime have nothing to do, and sleep.
#pragma once

#include "sched/runtime_core.hpp"

#include <weft/runtime.hpp>

#include <cstdint>
#include <thread>

namespace weft::testing {

/// Returns when all workers but so many are asleep, and nobody looks for work.
inline void await_sleep(runtime& of, std::uint32_t awake = 0) {
  const impl::idle& beds = detail::context_of(of)->beds();
  const std::uint32_t all = of.workers();
  const auto are_asleep = [&] {
    if (beds.counts_approx() != impl::idle_counts{.sleeping = all - awake}) return false;
    std::uint32_t asleep = 0;
    for (std::uint32_t worker = 0; worker < all; ++worker) asleep += beds.is_asleep_approx(worker) ? 1U : 0U;
    return asleep == all - awake;
  };
  while (!are_asleep()) std::this_thread::yield();
}

}  // namespace weft::testing
