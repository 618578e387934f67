// SPDX-License-Identifier: Apache-2.0
//
// processors — how many processors this process may really use: those of its affinity mask, and as much of their time as the
// control groups allow that it is in, from its own up to the root of what it can see.
//
// Both may change while the process runs. All is read anew each time; that takes a few dozen microseconds.
//
// Thread safety: any thread.
#pragma once

#include <cstdint>
#include <limits>
#include <string_view>
#include <sys/types.h>

namespace weft::impl {

struct processor_limits {
  static constexpr double no_quota = std::numeric_limits<double>::infinity();

  std::uint32_t allowed = 1;  ///< processors in the affinity mask
  double quota = no_quota;    ///< as many processors' time as the tightest control group gives

  /// How many threads can run at a time and be useful: at least one, and a part of a processor counts as one.
  [[nodiscard]] std::uint32_t effective() const noexcept;

  friend bool operator==(const processor_limits&, const processor_limits&) noexcept = default;
};

/// What holds now for a thread of this process, 0 for the calling one. What cannot be read, or makes no sense, limits nothing. Tests
/// put a tree of files of their own under `root`.
[[nodiscard]] processor_limits read_processor_limits(pid_t thread = 0, std::string_view root = {}) noexcept;

}  // namespace weft::impl
