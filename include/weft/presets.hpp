// SPDX-License-Identifier: Apache-2.0
//
// presets — runtimes that behave as other schedulers do: to compare with them, or to come from them.
//
//     weft::run(serve, weft::presets::cc());
//
// Each is weft's own defaults with those of the other in their place. What any of them leaves open is as usual. The number of workers is
// that of the processors when it is called; cc() gets more where there are more of them later.
#pragma once

#include <weft/config.hpp>
#include <weft/runtime_options.hpp>

#include <cstdint>

namespace weft {

/// How many processors this process may use now: those of its affinity mask, or fewer where a control group gives it less of their time;
/// at least 1. As many workers a runtime has if nothing else is said.
[[nodiscard]] WEFT_EXPORT std::uint32_t usable_processors();

namespace presets {

/// Lune: one queue for all workers, which look into it every millisecond; one processor is left to a thread that wakes sleepers, and
/// that looks up every 10 ms.
[[nodiscard]] WEFT_EXPORT runtime_options lune();

/// Loom: a worker for every second processor, which spins for long before it sleeps.
[[nodiscard]] WEFT_EXPORT runtime_options loom();

/// Janus: a worker for each processor, stacks of 8 KiB, random victims, four attempts.
[[nodiscard]] WEFT_EXPORT runtime_options janus();

/// Concurrent-C: a worker for each processor, up to twice as many as soon as some are stuck for 250 us while work waits; tasks go to them
/// in turn.
[[nodiscard]] WEFT_EXPORT runtime_options cc();

/// Crystal: one worker at first, more when there is work for them, one for each processor at most; none beyond.
[[nodiscard]] WEFT_EXPORT runtime_options crystal();

}  // namespace presets
}  // namespace weft
