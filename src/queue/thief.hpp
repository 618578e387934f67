// SPDX-License-Identifier: Apache-2.0
//
// thief — how a worker without work gets some from another: when to ask, how long to wait, when to take by itself.
//
// Moving work has a price, which both sides pay: about 0.4 us, and 25 ns a word, most of it for cache lines that
// change hands. Tasks that are done in less are better left where they are, unless there are very many of them. So a
// thief looks how long its loot has kept it busy. If that was less than the price, it does not ask the same victim
// again, but only looks, now and then, whether it has become rich (then even small tasks are worth it, because the
// victim works on memory and not in its caches) or slow (then the tasks are not small any more). The victim pays one cache
// miss for a look.
//
// A victim that does not answer is in the middle of something long. After some patience the thief claims what it
// wants, for the price of a heavy barrier; if it got nothing for it, it will be more patient next time.
//
// Thread safety: none; belongs to one worker. The deques do the rest.
// Invariants:   TH1  outside of rob() the thief stands at no deque
#pragma once

#include "base/clock.hpp"
#include "queue/top_word.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <utility>

namespace weft::impl {

/// The figures that the behaviour above is made of. docs/decisions/0008 says where they come from.
struct thief_habits {
  /// Waits so long for an answer, then claims.
  duration answer_after = std::chrono::microseconds(20);
  /// What it costs to move anything, and what each word adds.
  duration loot_price = std::chrono::nanoseconds(400);
  duration word_price = std::chrono::nanoseconds(25);
  /// A victim with so many is always worth robbing.
  std::uint32_t rich = 1024;
  /// Looks so soon whether a victim has become worth robbing again, and less often each time it was not, down to this.
  duration look_first = std::chrono::microseconds(2);
  duration look_last = std::chrono::microseconds(8);
  /// Puts another thief aside that has stood in the way for so long without moving.
  duration broken_after = std::chrono::milliseconds(1);
  /// Goes without an answer so many times between two claims, at most, while claims give nothing.
  std::uint32_t most_unclaimed = 31;
};

template <class Platform, class Deque, clock_source Clock>
class basic_thief {
 public:
  basic_thief(thief_id id, const Clock& clock, const thief_habits& habits = {}) noexcept
      : id_(id), clock_(&clock), habits_(habits) {}

  /// Tries to move work from the victim to the caller's own deque. Gives up at once where it does not seem worth the
  /// price or another thief is there, and soon after stop() says true; takes at most about `answer_after`.
  ///
  /// Returns: how many came.
  template <class Stop>
  std::uint32_t rob(Deque& victim, Deque& into, Stop&& stop) noexcept {
    const time_point now = clock_->now();
    judge_last_loot(now);
    if (poor_ == &victim && !seems_worth_it_again(now)) return 0;
    if (!ask(victim, now)) return 0;
    const top_word answer = watch(victim, now + habits_.answer_after, stop);
    if (answer.by() != id_) {
      if (answer.is_settled()) judge(victim, true);  // granted and revoked before this thief could see it
      return 0;                                      // or put aside by another
    }
    const std::uint32_t count =
        answer.is_claimed() ? take(answer, victim, into) : claim(victim, into, stop());
    if (count > 0) loot_ = {&victim, count, clock_->now()};
    return count;
  }

 private:
  struct loot {
    const Deque* from = nullptr;  // null: judged already
    std::uint32_t count = 0;
    time_point at{};
  };
  struct look {
    bool made = false;
    std::uint32_t next_index = 0;
    time_point at{};
  };
  struct obstacle {
    const Deque* at = nullptr;
    top_word word;
    time_point since{};
  };

  void judge_last_loot(time_point now) noexcept {
    if (const loot last = std::exchange(loot_, {}); last.from != nullptr)
      judge(*last.from, now - last.at < habits_.loot_price + last.count * habits_.word_price);
  }

  void judge(const Deque& victim, bool is_poor) noexcept {
    const bool was_poor = poor_ == &victim;
    look_every_ = is_poor && was_poor ? std::min(2 * look_every_, habits_.look_last) : habits_.look_first;
    look_.made = false;
    if (is_poor) {
      poor_ = &victim;
    } else if (was_poor) {
      poor_ = nullptr;
    }
  }

  // Looks at the poor victim, but not too often.
  [[nodiscard]] bool seems_worth_it_again(time_point now) noexcept {
    if (look_.made && now - look_.at < look_every_) return false;
    const std::uint32_t there = poor_->size_approx();
    const look before = std::exchange(look_, {true, poor_->next_index_approx(), now});
    if (there >= habits_.rich) return true;
    const std::int32_t moved = std::abs(index_distance(before.next_index, look_.next_index));
    return before.made && there > 0 && moved * habits_.word_price < now - before.at;
  }

  [[nodiscard]] bool ask(Deque& victim, time_point now) noexcept {
    const top_word word = victim.at_door();
    if (word.is_settled()) return victim.ask(id_);
    if (obstacle_.at != &victim || obstacle_.word != word) obstacle_ = {&victim, word, now};
    return now - obstacle_.since >= habits_.broken_after && victim.ask(id_, word);
  }

  // Watches the word of the victim. Its line is shared as long as nobody writes it, so this disturbs nobody.
  template <class Stop>
  [[nodiscard]] top_word watch(const Deque& victim, time_point until, Stop&& stop) noexcept {
    constexpr int looks_between_clocks = 8;
    for (;;) {
      top_word word;
      for (int i = 0; i < looks_between_clocks; ++i) {
        word = victim.at_door();
        if (!word.is_asked() || word.by() != id_) return word;
        Platform::pause();
      }
      if (stop() || clock_->now() >= until) return word;
    }
  }

  [[nodiscard]] std::uint32_t take(top_word granted, Deque& victim, Deque& into) noexcept {
    const std::uint32_t count = victim.take(granted, into);
    if (count == 0)
      judge(victim, true);  // revoked: the victim did the rest in less time than it takes to copy
    return count;
  }

  // Loses patience, unless claims have given nothing lately.
  [[nodiscard]] std::uint32_t claim(Deque& victim, Deque& into, bool stopped) noexcept {
    const bool wanted = !stopped && victim.size_approx() > 0;
    if (!wanted || unclaimed_ < unclaimed_wanted_) {
      if (wanted) ++unclaimed_;
      victim.withdraw(id_);
      return 0;
    }
    const std::uint32_t count = victim.steal(id_, into);
    unclaimed_ = 0;
    unclaimed_wanted_ = count > 0 ? 0 : std::min(habits_.most_unclaimed, 2 * unclaimed_wanted_ + 1);
    return count;
  }

  thief_id id_;
  const Clock* clock_;
  thief_habits habits_;

  loot loot_;                    // the last, until it is judged
  const Deque* poor_ = nullptr;  // the victim whose loot was not worth the price
  look look_;                    // the last one at it
  duration look_every_{};
  obstacle obstacle_;  // another thief that was in the way
  std::uint32_t unclaimed_ = 0;
  std::uint32_t unclaimed_wanted_ = 0;
};

}  // namespace weft::impl
