// SPDX-License-Identifier: Apache-2.0
//
// The ways of moving work that were tried. A scheme is a deque, what its owner does after a push and between two tasks,
// and what a worker does that has nothing.
#pragma once

#include "base/clock.hpp"
#include "queue/thief.hpp"
#include "queue/work_deque.hpp"

#include <weft/detail/chase_lev.hpp>

#include <cstdint>

namespace weft::bench::stealing {

using impl::runnable;

/// weft's deque, as all schemes but the single steals use it.
struct batched_deque {
  impl::work_deque deque{impl::default_platform::barriers()};

  void push(runnable r) { (void)deque.push(r); }
  [[nodiscard]] runnable pop() { return deque.pop(); }
  [[nodiscard]] bool pop_if(runnable r) { return deque.pop_if(r); }
  /// Something that will be popped soon, to prefetch.
  [[nodiscard]] const void* coming() const { return deque.guess(8).address(); }
};

/// The owner never answers.
struct silent_owner : batched_deque {
  void after_push() {}
  void between() {}
};

/// The owner answers whoever asks.
struct answering_owner : batched_deque {
  void after_push() {
    if (deque.asked()) deque.answer_after_push();
  }
  void between() {
    if (deque.asked()) deque.answer_between();
  }
};

/// What weft does: asks, and claims when nobody answers.
struct ask_then_claim {
  using deque = answering_owner;

  explicit ask_then_claim(int number)
      : thief(impl::thief_id{static_cast<std::uint16_t>(number + 1)}, clock) {}

  template <class Stop>
  std::uint32_t rob(deque& victim, deque& into, Stop&& stop) {
    const std::uint32_t count = thief.rob(victim.deque, about_victim, into.deque, stop).count;
    if (count == 0) impl::default_platform::pause();
    return count;
  }

  impl::system_clock clock;
  impl::basic_thief<impl::default_platform, impl::work_deque, impl::system_clock> thief;
  impl::victim_notes about_victim;
};

/// Asks until it is answered.
struct ask_only {
  using deque = answering_owner;

  explicit ask_only(int number) : id{static_cast<std::uint16_t>(number + 1)} {}

  template <class Stop>
  std::uint32_t rob(deque& victim, deque& into, Stop&& stop) {
    if (!victim.deque.ask(id)) return 0;
    for (;;) {
      const impl::top_word word = victim.deque.at_door();
      if (word.by() != id) return 0;
      if (word.is_claimed()) return victim.deque.take(word, into.deque);
      if (stop()) break;
      impl::default_platform::pause();
    }
    victim.deque.withdraw(id);
    return 0;
  }

  impl::thief_id id;
};

/// Claims n whenever there seems to be something.
struct claim_only {
  using deque = silent_owner;

  explicit claim_only(int number) : id{static_cast<std::uint16_t>(number + 1)} {}

  template <class Stop>
  std::uint32_t rob(deque& victim, deque& into, Stop&& /*stop*/) {
    const std::uint32_t count = victim.deque.steal(id, into.deque);
    if (count == 0) impl::default_platform::pause();
    return count;
  }

  impl::thief_id id;
};

/// Takes one at a time from the deque of Chase and Lev. Orders say who pays for the barriers.
template <class Orders>
struct single_steals {
  struct deque {
    detail::chase_lev<std::uintptr_t, impl::default_platform, Orders> words{256};

    void push(runnable r) { (void)words.try_push(r.word()); }
    [[nodiscard]] runnable pop() { return runnable::from_word(words.pop().value_or(0)); }
    [[nodiscard]] const void* coming() const { return nullptr; }
    void after_push() {}
    void between() {}
  };

  explicit single_steals(int /*number*/) {}

  template <class Stop>
  std::uint32_t rob(deque& victim, deque& into, Stop&& /*stop*/) {
    if (const auto stolen = victim.words.steal()) {
      into.push(runnable::from_word(*stolen));
      return 1;
    }
    impl::default_platform::pause();
    return 0;
  }
};

}  // namespace weft::bench::stealing
