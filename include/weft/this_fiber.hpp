// SPDX-License-Identifier: Apache-2.0
//
// this_fiber — what a task can say about itself, and how it gives way to others.
#pragma once

#include <weft/config.hpp>

#include <cstdint>

namespace weft::this_fiber {

/// Lets others run first. On a plain thread: as std::this_thread::yield().
///
/// Cancellation point: yes.
WEFT_EXPORT void yield();

/// The number of the running task; main's is 0. Zero on a plain thread, too.
[[nodiscard]] WEFT_EXPORT std::uint64_t id() noexcept;

/// Whether the running task was asked to stop.
[[nodiscard]] WEFT_EXPORT bool is_cancelled() noexcept;

}  // namespace weft::this_fiber
