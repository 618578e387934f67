// SPDX-License-Identifier: Apache-2.0
//
// process_memory — how much memory this process has, and how much the machine has left.
#pragma once

#include <cstddef>
#include <optional>

namespace weft::impl {

struct process_memory {
  std::size_t resident_bytes = 0;    // VmRSS
  std::size_t page_table_bytes = 0;  // VmPTE
  std::size_t mappings = 0;          // lines of /proc/self/maps
};

/// Reads /proc; what it cannot read stays zero. Not for hot paths.
[[nodiscard]] process_memory process_memory_now() noexcept;

/// What the kernel thinks new work can have without swapping (MemAvailable).
[[nodiscard]] std::optional<std::size_t> available_memory_bytes() noexcept;

}  // namespace weft::impl
