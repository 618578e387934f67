// SPDX-License-Identifier: Apache-2.0
//
// stop_sign — the request that all tasks of a pool stop, and how it meets a task that is just being begun.
//
// It stays up. Who stops all finds the tasks by a walk over their records, and a walk takes time: while it looks at one record,
// a task behind its back may begin another and end. So whoever begins a task looks at the sign:
//
//     who begins a task                          who stops all
//       publish its record, push it;               sign.put_up(kind);
//       the push ends with a light barrier         walk: ask each task
//       if (sign.is_up()) ask it                   cancel_flag::settle(kind); walk: end their waits
//
// [PO-spawn] Either who begins a task sees the sign, or the walk sees the task. So one walk is enough, whoever dies during it.
//
// Thread safety: any thread.
#pragma once

#include "sys/platform.hpp"

#include <cstdint>

namespace weft::impl {

/// What makes the protocol hold. A test that wants to see it break derives from this and changes one line.
struct stop_rules {
  static constexpr bool stopper_has_barrier = true;
};

template <class Platform, class Rules = stop_rules>
class basic_stop_sign {
 public:
  /// Before the walk.
  void put_up(barrier_kind kind) noexcept {
    flag_.store(1, std::memory_order_relaxed);  // relaxed: the barrier orders it
    if constexpr (Rules::stopper_has_barrier) Platform::heavy_barrier(kind);  // [PO-spawn]
  }

  /// For who has published a task and passed a light barrier since. [PO-spawn]
  [[nodiscard]] bool is_up() const noexcept {
    return flag_.load(std::memory_order_relaxed) != 0;  // relaxed: the barrier orders it
  }

 private:
  typename Platform::template atomic<std::uint32_t> flag_{0};
};

using stop_sign = basic_stop_sign<default_platform>;

}  // namespace weft::impl
