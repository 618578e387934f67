// SPDX-License-Identifier: Apache-2.0
//
// broken_waits — claims and completions with one fault each, for tests and models that must find it.
#pragma once

#include "sched/claim_word.hpp"
#include "sched/completion.hpp"

#include <cstdint>

namespace weft::testing {

struct claims_without_comparing : impl::claim_rules {
  template <class Word>
  [[nodiscard]] static bool claim(Word& word, std::uint64_t& /*seen*/, std::uint64_t claimed) noexcept {
    (void)word.exchange(claimed, std::memory_order_acq_rel);
    return true;
  }
};

struct parks_without_a_look : impl::claim_rules {
  template <class Word>
  [[nodiscard]] static bool park(Word& word, std::uint64_t& /*armed*/, std::uint64_t parked) noexcept {
    word.store(parked, std::memory_order_release);
    return true;
  }
};

struct takes_any_ticket : impl::claim_rules {
  static constexpr bool checks_epoch = false;
};

/// Touches the record once more after the end, when the waiter may have freed it (CO2).
struct looks_back : impl::completion_rules {
  template <class Word>
  [[nodiscard]] static std::uintptr_t end(Word& word, std::uintptr_t done) noexcept {
    const std::uintptr_t before = completion_rules::end(word, done);
    return word.load(std::memory_order_relaxed) == done ? before : 0;
  }
};

}  // namespace weft::testing
