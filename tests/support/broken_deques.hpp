// SPDX-License-Identifier: Apache-2.0
//
// broken_deques — the worker's deque with one fault each, for tests, models and storms that must find it.
#pragma once

#include "queue/work_deque.hpp"

#include <cstdint>

namespace weft::testing {

struct owner_without_barrier : impl::work_deque_rules {
  static constexpr bool owner_has_barrier = false;
};

struct thief_without_barrier : impl::work_deque_rules {
  static constexpr bool thief_has_barrier = false;
};

/// The slots of a claim are taken for free as soon as they are claimed.
struct reuses_claimed_slots : impl::work_deque_rules {
  [[nodiscard]] static constexpr std::uint32_t reusable_before(impl::top_word top) noexcept {
    return top.end();
  }
};

}  // namespace weft::testing
