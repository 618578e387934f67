// SPDX-License-Identifier: Apache-2.0
//
// timer_wheel — up to millions of sleepers, each with a deadline; hands back those whose deadline has passed.
//
// Most timers are timeouts and are cancelled before they fire. So putting one in and taking it out cost a few
// instructions, however many there are, and order is made only when time comes near: time is cut into ticks of 16 us,
// and the number of a tick is written in digits of six bits. A timer waits in the level of the highest digit in which
// its tick differs from the present one, in the slot of that digit's value. When time enters a slot of a higher level,
// the timers in it agree with the present in one digit more and move down. The levels reach over all of time, so there
// is no deadline that does not fit.
//
// The clock is the caller's: time moves by expire() alone. The links lie in the timers, so nothing here allocates, fails
// or waits.
//
// Thread safety: none; a wheel and the timers in it belong to one thread, or to the lock that guards them.
// Invariants:   TW1  where a timer is follows from its deadline: among the due if that is not after now_, else in the
//                    slot slot_of(tick_of(deadline)); and tick_ is the tick of now_
//               TW2  a slot's bit in occupied_ is set exactly while a timer is in it
//               TW3  a slot's `earliest` lies within the slot's stretch of time, and no timer in it is earlier; where it
//                    is_exact, a timer in it has that deadline
//               TW4  a timer that is pending is not destroyed, nor is a wheel that is not empty
// Why it works: README.md, "Timers"
#pragma once

#include "base/clock.hpp"
#include "base/intrusive_list.hpp"

#include <weft/detail/assert.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace weft::impl {

struct timer_tag {};

/// One timer; what is to happen when it fires is for who derives from it. is_linked() says whether it is pending.
class timer_node : public list_node<timer_tag> {
 public:
  /// The deadline it was last inserted with.
  [[nodiscard]] time_point deadline() const noexcept { return deadline_; }

 private:
  friend class timer_wheel;
  time_point deadline_;
};

class timer_wheel {
 public:
  /// Timers fire in the order of these stretches of time, and to the nanosecond never early.
  static constexpr duration tick{1 << 14};

  /// A wheel whose present is `start`.
  // Not inlined: in a loop that makes a wheel and empties it, g++ 12 takes the first link of a list, which the constructor
  // has just set, to be the same in all turns of the inner loop.
  [[gnu::noinline]] explicit timer_wheel(time_point start) noexcept
      : now_(std::min(start, last_moment)), tick_(tick_of(now_)) {}
  timer_wheel(const timer_wheel&) = delete;
  timer_wheel& operator=(const timer_wheel&) = delete;
  ~timer_wheel() { WEFT_ASSERT(empty(), "TW4: a wheel was destroyed with timers still pending"); }

  /// How many timers are pending, those included that are due but have not fired.
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }

  /// Makes the timer pending. Any deadline will do: one that has passed is due at once and fires in the next expire();
  /// `never` waits to be cancelled.
  void insert(timer_node& timer, time_point deadline) noexcept {
    WEFT_ASSERT(!timer.is_linked(), "TW1: the timer is pending already");
    timer.deadline_ = deadline;
    ++size_;
    if (deadline <= now_) {
      due_.push_back(timer);
    } else {
      put(timer);
    }
  }

  /// Takes out a timer that is pending in this wheel: it will not fire.
  void cancel(timer_node& timer) noexcept {
    WEFT_ASSERT(timer.is_linked(), "TW1: a timer was cancelled that is not pending");
    --size_;
    if (timer.deadline_ <= now_) {
      due_.erase(timer);
      return;
    }
    const std::size_t at = slot_of(tick_of(timer.deadline_));
    slot& s = slots_[at];
    WEFT_ASSERT(is_occupied(at), "TW2: a timer lies in a slot whose bit is not set");
    WEFT_ASSERT(s.earliest <= timer.deadline_, "TW3: a timer is earlier than the earliest of its slot");
    s.nodes.erase(timer);
    if (s.nodes.empty()) {
      clear_bit(at);
    } else if (timer.deadline_ == s.earliest) {
      s.is_exact = false;
    }
  }

  /// Moves time on to `now` and calls fire(timer) for each timer whose deadline is not after it, but for no more than
  /// `most`; the others stay due for the next call. A `now` before that of an earlier call counts as the latter.
  ///
  /// A timer is out of the wheel before fire gets it, which may insert it again, destroy it, and insert and cancel any
  /// other; fire does not throw and does not call expire(). What it inserts fires in a later call, even if it is due, so
  /// that a call always comes to an end; what it cancels does not fire.
  ///
  /// Order:     by the tick of the deadline, or of the time of insertion if the deadline had passed by then; within a
  ///            tick unspecified.
  /// Takes:     a few steps for each timer that fires or is reached by a cascade, of which each timer sees at most one
  ///            per level in its life; a search through the present tick if something in it is due and something not.
  ///            `most` bounds the calls of fire, not the cascades.
  /// Returns:   how many have fired.
  template <std::invocable<timer_node&> F>
  std::size_t expire(time_point now, F&& fire,
                     std::size_t most = std::numeric_limits<std::size_t>::max()) noexcept {
    advance(now);
    timer_node end;  // what becomes due from here on stands behind it
    due_.push_back(end);
    std::size_t fired = 0;
    for (; fired < most && &due_.front() != &end; ++fired) {
      timer_node& timer = due_.front();
      due_.erase(timer);
      --size_;
      fire(timer);  // afterwards the timer may be gone
    }
    due_.erase(end);
    return fired;
  }

  /// Until when one may sleep: no deadline is earlier. time_point::min() if a timer is due already, and within fire; `never`
  /// if none is pending. Otherwise it is later than the time of the last expire(); and it is exact if the earliest
  /// deadline lies in the lowest level, or if no timer was cancelled that was earlier.
  ///
  /// Who sleeps until then and calls expire(), again and again, sees the earliest timer fire after as many calls as there
  /// are levels, or sooner: a call that fires nothing has taken it to a lower level.
  ///
  /// Takes:     a few steps; where the earliest timer of the next tick was cancelled, once a search through that tick.
  [[nodiscard]] time_point next_deadline_bound() const noexcept {
    if (!due_.empty()) return time_point::min();
    const std::size_t first = first_occupied();
    if (first == no_slot) return never;
    slot& s = slots_[first];
    if (is_lowest(first) && !s.is_exact) find_earliest(s);
    return s.earliest;
  }

 private:
  using tick_number = std::uint64_t;

  static constexpr unsigned tick_bits = 14;
  static constexpr unsigned digit_bits = 6;
  static constexpr unsigned slots_per_level = 1U << digit_bits;
  static constexpr unsigned levels = (64 - tick_bits + digit_bits - 1) / digit_bits;
  static constexpr std::size_t no_slot = std::size_t{levels} * slots_per_level;
  static_assert(tick.count() == 1 << tick_bits);

  // Time goes no further, so that `never` always lies ahead.
  static constexpr time_point last_moment = never - duration(1);

  struct slot {
    intrusive_list<timer_node, timer_tag> nodes;
    time_point earliest{};  // means nothing while there are no timers (TW3)
    bool is_exact = false;
  };

  // Counted from the beginning of time, so that the order of the numbers is that of time.
  static constexpr tick_number tick_of(time_point t) noexcept {
    return (static_cast<std::uint64_t>(t.time_since_epoch().count()) ^ (std::uint64_t{1} << 63U)) >>
           tick_bits;
  }

  // Slots are numbered level by level, the lowest first. Two times in one tick always share a slot.
  [[nodiscard]] std::size_t slot_of(tick_number t) const noexcept {
    const auto leading = static_cast<unsigned>(std::countl_zero((t ^ tick_) | 1U));
    const unsigned level = (63U - leading) / digit_bits;
    return std::size_t{level} * slots_per_level + ((t >> (level * digit_bits)) & (slots_per_level - 1));
  }

  static constexpr bool is_lowest(std::size_t at) noexcept { return at < slots_per_level; }

  // The first tick of a slot: that of the present in the higher digits, the slot's own digit, and zeros.
  [[nodiscard]] tick_number start_of(std::size_t at) const noexcept {
    const auto shift = static_cast<unsigned>(at / slots_per_level) * digit_bits;
    const tick_number higher = tick_ >> (shift + digit_bits) << (shift + digit_bits);
    return higher | tick_number{at % slots_per_level} << shift;
  }

  // Where the earliest timer is that is not due. The timers of a level are all earlier than those of the next, and none
  // lies in a slot before the present digit: so it is in the lowest level that has any, where the lowest bit says.
  [[nodiscard]] std::size_t first_occupied() const noexcept {
    for (std::size_t level = 0; level < levels; ++level) {
      if (occupied_[level] != 0)
        return level * slots_per_level + static_cast<unsigned>(std::countr_zero(occupied_[level]));
    }
    return no_slot;
  }

  static constexpr std::uint64_t bit_of(std::size_t at) noexcept {
    return std::uint64_t{1} << (at % slots_per_level);
  }
  void set_bit(std::size_t at) noexcept { occupied_[at / slots_per_level] |= bit_of(at); }
  void clear_bit(std::size_t at) noexcept { occupied_[at / slots_per_level] &= ~bit_of(at); }
  [[nodiscard]] bool is_occupied(std::size_t at) const noexcept {
    return (occupied_[at / slots_per_level] & bit_of(at)) != 0;
  }

  void put(timer_node& timer) noexcept {
    const std::size_t at = slot_of(tick_of(timer.deadline_));
    slot& s = slots_[at];
    WEFT_ASSERT(is_occupied(at) == !s.nodes.empty(),
                "TW2: the bit of a slot does not say whether it is empty");
    if (s.nodes.empty() || timer.deadline_ <= s.earliest) {
      s.earliest = timer.deadline_;
      s.is_exact = true;
    }
    s.nodes.push_back(timer);
    set_bit(at);
  }

  // Enters the slots up to the present one by one, the earliest first, so that what they hold becomes due in order.
  void advance(time_point now) noexcept {
    if (now <= now_) return;  // all that is due stands among the due already (TW1)
    now_ = std::min(now, last_moment);
    const tick_number present = tick_of(now_);
    for (;;) {
      const std::size_t first = first_occupied();
      if (first == no_slot || start_of(first) > present) break;
      tick_ = start_of(first);
      if (!is_lowest(first)) {
        cascade(first);
      } else if (tick_ < present) {
        due_.splice_back(slots_[first].nodes);
        clear_bit(first);
      } else {
        sift(first);
        break;
      }
    }
    tick_ = present;  // nobody's slot changes by that: who is left lies behind it, in the same highest digit
  }

  // Time has entered a slot of a higher level: what is in it moves down.
  void cascade(std::size_t from) noexcept {
    intrusive_list<timer_node, timer_tag> moved;
    moved.splice_back(slots_[from].nodes);
    clear_bit(from);
    const auto move_down = [&](timer_node* timer) {
      if (timer == nullptr) return;
      WEFT_ASSERT(slot_of(tick_of(timer->deadline_)) / slots_per_level < from / slots_per_level,
                  "TW1: a cascade does not lead down");
      put(*timer);
    };
    // From both ends: each timer says where the next lies, and of a million none is in the cache; so two are waited for at a time.
    while (!moved.empty()) {
      timer_node* const one = moved.try_pop_front();
      timer_node* const other = moved.try_pop_back();
      move_down(one);
      move_down(other);
    }
  }

  // Time has entered a tick but not left it: some timers in it may be due, others not.
  void sift(std::size_t at) noexcept {
    slot& s = slots_[at];
    if (s.earliest > now_) return;
    time_point rest = never;
    for (auto it = s.nodes.begin(); it != s.nodes.end();) {
      timer_node& timer = *it++;
      if (timer.deadline_ <= now_) {
        s.nodes.erase(timer);
        due_.push_back(timer);
      } else {
        rest = std::min(rest, timer.deadline_);
      }
    }
    s.earliest = rest;
    s.is_exact = true;
    if (s.nodes.empty()) clear_bit(at);
  }

  // Whoever has the earliest deadline there can be ends the search: of many with one deadline, the first.
  static void find_earliest(slot& s) noexcept {
    time_point found = never;
    for (const timer_node& timer : s.nodes) {
      WEFT_ASSERT(timer.deadline_ >= s.earliest, "TW3: a timer is earlier than the earliest of its slot");
      found = std::min(found, timer.deadline_);
      if (found == s.earliest) break;
    }
    s.earliest = found;
    s.is_exact = true;
  }

  time_point now_;                                // the latest time that expire() was told
  tick_number tick_;                              // its tick; lags behind only within advance() (TW1)
  std::size_t size_ = 0;                          // in the slots and among the due
  std::array<std::uint64_t, levels> occupied_{};  // a bit for each slot (TW2)
  intrusive_list<timer_node, timer_tag> due_;     // in the order in which they will fire
  mutable std::array<slot, no_slot> slots_;  // mutable: next_deadline_bound() keeps what it had to search for
};

static_assert(sizeof(timer_node) <= 24, "a timer is two links and a deadline");

}  // namespace weft::impl
