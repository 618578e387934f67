// SPDX-License-Identifier: Apache-2.0
//
// worker_progress — how far a worker has come: if two looks show the same, it has done nothing in between but run one task.
//
// All of it is there anyway: nothing is written for this.
//
// Thread safety: as for any value.
#pragma once

#include <cstdint>

namespace weft::impl {

struct worker_progress {
  std::uint64_t ended = 0;    // tasks
  std::uint32_t picks = 0;    // changes with each pick
  std::uint32_t waiting = 0;  // in its deque: changes with joins
  std::uint32_t rounds = 0;   // of searching

  friend bool operator==(const worker_progress&, const worker_progress&) noexcept = default;
};

}  // namespace weft::impl
