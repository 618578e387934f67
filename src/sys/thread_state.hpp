// SPDX-License-Identifier: Apache-2.0
//
// thread_state — whether a thread of this process computes, or waits in the kernel.
//
// Thread safety: any thread.
#pragma once

#include <cstdint>
#include <string_view>
#include <sys/types.h>

namespace weft::impl {

enum class thread_state : std::uint8_t {
  computing,  ///< on a processor, or ready for one
  waiting,    ///< in the kernel, for something
  unknown,    ///< it is gone, or the system does not say (no /proc)
};

/// The number of the calling thread, as the kernel knows it.
[[nodiscard]] pid_t this_thread_number() noexcept;

/// What a thread is doing at this moment. Takes some microseconds.
[[nodiscard]] thread_state look_at_thread(pid_t number) noexcept;

/// The same out of what /proc says in `stat`. The name in it, which may hold anything, is in parentheses.
[[nodiscard]] thread_state parse_thread_state(std::string_view stat) noexcept;

}  // namespace weft::impl
