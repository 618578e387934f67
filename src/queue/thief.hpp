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

/// How an attempt to rob somebody ended.
enum class rob_outcome : std::uint8_t {
  taken,       ///< some came
  empty,       ///< the victim seemed to have nothing
  occupied,    ///< another thief stands there
  left_alone,  ///< there may be something, but moving it does not seem worth the price
  in_vain,  ///< asked or claimed, and got nothing: revoked, put aside, told to stop, or no memory to put it
};

struct rob_result {
  rob_outcome outcome;
  std::uint32_t count = 0;  ///< how many came
};

/// What a thief remembers of one victim; it has one of these for each.
class victim_notes {
 private:
  template <class, class, clock_source>
  friend class basic_thief;

  bool poor_ = false;  // its last loot was not worth the price
  // The last look at it since it was found poor.
  bool looked_ = false;
  std::uint32_t next_index_ = 0;
  time_point looked_at_{};
  duration look_every_{};
  // Another thief that was in the way.
  top_word obstacle_;
  time_point obstacle_since_{};
  // Attempts without an answer and without a claim; and how many of them there shall be before the next claim.
  std::uint32_t unclaimed_ = 0;
  std::uint32_t unclaimed_wanted_ = 0;
};

template <class Platform, class Deque, clock_source Clock>
class basic_thief {
 public:
  basic_thief(thief_id id, const Clock& clock, const thief_habits& habits = {}) noexcept
      : id_(id), clock_(&clock), habits_(habits) {}

  /// Tries to move work from the victim to the caller's own deque. Gives up at once where it does not seem worth the
  /// price or another thief is there, and soon after stop() says true; takes at most about `answer_after`. The notes are
  /// those on this victim, and stay where they are.
  template <class Stop>
  rob_result rob(Deque& victim, victim_notes& notes, Deque& into, Stop&& stop) noexcept {
    const time_point now = clock_->now();
    judge_last_loot(now);
    if (notes.poor_ && !seems_worth_it_again(victim, notes, now)) return {rob_outcome::left_alone};
    if (!ask(victim, notes, now)) return {rob_outcome::occupied};
    const top_word answer = watch(victim, now + habits_.answer_after, stop);
    if (answer.by() != id_) {
      if (answer.is_settled()) judge(notes, true);  // granted and revoked before this thief could see it
      return {rob_outcome::in_vain};                // or put aside by another
    }
    const rob_result got =
        answer.is_claimed() ? take(answer, victim, notes, into) : claim(victim, notes, into, stop());
    if (got.count > 0) loot_ = {&notes, got.count, clock_->now()};
    return got;
  }

 private:
  struct loot {
    victim_notes* from = nullptr;  // null: judged already
    std::uint32_t count = 0;
    time_point at{};
  };

  void judge_last_loot(time_point now) noexcept {
    if (const loot last = std::exchange(loot_, {}); last.from != nullptr)
      judge(*last.from, now - last.at < habits_.loot_price + last.count * habits_.word_price);
  }

  void judge(victim_notes& notes, bool is_poor) noexcept {
    notes.look_every_ =
        is_poor && notes.poor_ ? std::min(2 * notes.look_every_, habits_.look_last) : habits_.look_first;
    notes.looked_ = false;
    notes.poor_ = is_poor;
  }

  // Looks at a poor victim, but not too often.
  [[nodiscard]] bool seems_worth_it_again(const Deque& victim, victim_notes& notes, time_point now) noexcept {
    if (notes.looked_ && now - notes.looked_at_ < notes.look_every_) return false;
    const std::uint32_t there = victim.size_approx();
    const std::uint32_t index = std::exchange(notes.next_index_, victim.next_index_approx());
    const time_point before = std::exchange(notes.looked_at_, now);
    const bool looked_before = std::exchange(notes.looked_, true);
    if (there >= habits_.rich) return true;
    if (!looked_before || there == 0) return false;
    const std::uint32_t moved = index_gap(index, notes.next_index_);
    return moved * habits_.word_price < now - before;
  }

  [[nodiscard]] bool ask(Deque& victim, victim_notes& notes, time_point now) noexcept {
    const top_word word = victim.at_door();
    if (word.is_settled()) return victim.ask(id_);
    if (notes.obstacle_ != word) {
      notes.obstacle_ = word;
      notes.obstacle_since_ = now;
    }
    return now - notes.obstacle_since_ >= habits_.broken_after && victim.ask(id_, word);
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

  [[nodiscard]] rob_result take(top_word granted, Deque& victim, victim_notes& notes, Deque& into) noexcept {
    const std::uint32_t count = victim.take(granted, into);
    if (count > 0) return {rob_outcome::taken, count};
    judge(notes, true);  // revoked: the victim did the rest in less time than it takes to copy
    return {rob_outcome::in_vain};
  }

  // Loses patience, unless claims have given nothing lately.
  [[nodiscard]] rob_result claim(Deque& victim, victim_notes& notes, Deque& into, bool stopped) noexcept {
    const bool is_empty = victim.size_approx() == 0;
    if (stopped || is_empty || notes.unclaimed_ < notes.unclaimed_wanted_) {
      if (!stopped && !is_empty) ++notes.unclaimed_;
      victim.withdraw(id_);
      return {is_empty ? rob_outcome::empty : rob_outcome::in_vain};
    }
    const std::uint32_t count = victim.steal(id_, into);
    notes.unclaimed_ = 0;
    notes.unclaimed_wanted_ =
        count > 0 ? 0 : std::min(habits_.most_unclaimed, 2 * notes.unclaimed_wanted_ + 1);
    return count > 0 ? rob_result{rob_outcome::taken, count} : rob_result{rob_outcome::in_vain};
  }

  thief_id id_;
  const Clock* clock_;
  thief_habits habits_;
  loot loot_;  // the last, until it is judged
};

}  // namespace weft::impl
