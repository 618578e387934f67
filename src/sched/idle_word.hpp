// SPDX-License-Identifier: Apache-2.0
//
// idle_word — how many workers search and how many sleep, in one word, and what each of its changes obliges to.
//
// The word answers the question that follows every push: must I do something? It is calm when not: nobody sleeps, or
// whoever searches is in debt already, that is, bound to look again; and nobody is hungry. That answer is kept as
// bits of the word, so that it takes one load and one test.
//
// README.md has the words (searching, drowsy, sleeping, debt) and the proof. The transitions here are arithmetic:
// basic_idle applies each with one compare-exchange.
//
// Thread safety: as for any value.
// Invariants:   IW1  in debt only while somebody searches
//               IW2  alert exactly when somebody sleeps, nobody is in debt, and it is not closed
#pragma once

#include <weft/detail/assert.hpp>
#include <weft/detail/worker_front.hpp>

#include <cstdint>

namespace weft::impl {

/// What makes the protocol hold. A test that wants to see it break derives from this and changes one line.
struct idle_rules {
  /// The pusher passes a light barrier between push and look.
  static constexpr bool barrier_after_push = true;
  /// So does a worker that has delivered what the event loop gave it.
  static constexpr bool barrier_after_delivery = true;
  /// A pusher that finds somebody searching wakes nobody.
  static constexpr bool pusher_relies_on_searchers = true;
  /// It leaves a debt instead.
  static constexpr bool pusher_leaves_debt = true;
  /// A worker that goes to sleep while another searches leaves a debt.
  static constexpr bool sleeper_leaves_debt = true;
  /// The last searcher passes a heavy barrier before its last look.
  static constexpr bool barrier_before_last_look = true;
  /// The last searcher looks once more before it sleeps.
  static constexpr bool last_look = true;
  /// The last searcher, finding work, pays its debt by waking another.
  static constexpr bool finder_pays = true;
  /// A worker that is called, and whose bit was won, waits for the token of whoever has won it.
  static constexpr bool called_awaits_winner = true;
  /// A worker that is called gets up by itself.
  static constexpr bool callers_win_no_bit = true;
  /// Whoever enrolls a worker that is not there looks for work that it could be called for.
  static constexpr bool enroller_looks = true;
};

/// What whoever has pushed owes.
enum class push_duty : std::uint8_t { nothing, wake_one };
/// What a worker that has announced its sleep does next.
enum class announce_duty : std::uint8_t { sleep, last_look };
/// What a drowsy worker does after its last look.
enum class drowsy_duty : std::uint8_t { sleep, leave_bed };
/// What a searcher that has found work, or leaves, owes.
enum class found_duty : std::uint8_t { nothing, wake_one };

/// The word taken apart.
struct idle_counts {
  std::uint32_t searching = 0;  ///< looking for work, or about to: woken and on their way, or drowsy
  std::uint32_t sleeping = 0;   ///< asleep and not yet promised to be woken, or drowsy
  std::uint32_t hungry = 0;     ///< searchers who would be given work rather than take it
  bool debt = false;            ///< somebody relies on those who search
  bool closed = false;          ///< nobody sleeps any more

  friend constexpr bool operator==(const idle_counts&, const idle_counts&) noexcept = default;

  [[nodiscard]] constexpr bool alert() const noexcept { return sleeping > 0 && !debt && !closed; }

  /// A push of some items, which found the word alert.
  template <class Rules>
  [[nodiscard]] constexpr push_duty push(std::uint32_t items) noexcept {
    WEFT_ASSERT(alert(), "IW2: nobody is to be told of a push");
    if (searching > 0 && Rules::pusher_relies_on_searchers) {
      debt = Rules::pusher_leaves_debt;
      return push_duty::nothing;
    }
    promise_one();
    debt = items > 1;  // the one who is woken takes one
    return push_duty::wake_one;
  }

  /// A worker goes to bed. Nobody else searching, it becomes the last searcher, if it was not, and is drowsy.
  template <class Rules>
  [[nodiscard]] constexpr announce_duty announce(bool searches) noexcept {
    ++sleeping;
    const std::uint32_t others = searching - (searches ? 1 : 0);
    if (others == 0) {
      searching = 1;
      debt = false;
      return announce_duty::last_look;
    }
    searching = others;
    debt = debt || Rules::sleeper_leaves_debt;
    return announce_duty::sleep;
  }

  /// A worker that is not there can be called from now on. Returns whether whoever does this must look around, since nobody
  /// searches.
  template <class Rules>
  [[nodiscard]] constexpr announce_duty enroll() noexcept {
    ++sleeping;
    if (searching == 0) return announce_duty::last_look;
    debt = debt || Rules::sleeper_leaves_debt;
    return announce_duty::sleep;
  }

  /// A drowsy worker has looked once more, and has found something or not.
  template <class Rules>
  [[nodiscard]] constexpr drowsy_duty look(bool found) noexcept {
    const bool wanted = found || debt;
    if (wanted && sleeping > 0) {
      --sleeping;
      debt = true;  // there may be more
      return drowsy_duty::leave_bed;
    }
    // Nothing to get up for; or no sleeper is left to be counted out: then as many have been promised, and search.
    --searching;
    WEFT_ASSERT(!wanted || searching > 0, "IW1: a sleeper's waking is promised, and nobody searches");
    debt = searching > 0 && (debt || Rules::sleeper_leaves_debt);
    return drowsy_duty::sleep;
  }

  /// A sleeper gets up of its own accord, or is to be woken though there is no work. Fails if no sleeper is left to be
  /// counted out, or nobody sleeps any more.
  [[nodiscard]] constexpr bool try_rise() noexcept {
    if (sleeping == 0 || closed) return false;
    promise_one();
    return true;
  }

  /// A searcher leaves for good, though there was something for it: that is for another to do.
  template <class Rules>
  [[nodiscard]] constexpr found_duty leave() noexcept {
    debt = true;
    return find<Rules>();
  }

  /// A searcher has found work. The last one pays the debt by handing its place to a sleeper.
  template <class Rules>
  [[nodiscard]] constexpr found_duty find() noexcept {
    WEFT_ASSERT(searching > 0, "IW1: a worker that does not search has found something");
    --searching;
    if (searching > 0) return found_duty::nothing;
    if (Rules::finder_pays && debt && sleeping > 0) {
      promise_one();
      return found_duty::wake_one;
    }
    debt = false;
    return found_duty::nothing;
  }

 private:
  // From now on a sleeper counts as searching; whoever does this wakes it.
  constexpr void promise_one() noexcept {
    --sleeping;
    ++searching;
  }
};

/// The word itself: 32 bits, of which a push looks at the upper ones.
///
///     bit  0       closed
///     bit  1       debt
///     bits 2..11   searching; a worker that is woken while it goes to bed counts twice for a moment
///     bits 12..20  sleeping
///     bit  21      alert
///     bits 22..31  hungry
class idle_word {
 public:
  /// The most workers that the fields have room for.
  static constexpr std::uint32_t most_workers = 256;
  /// What a hungry worker adds to the word.
  static constexpr std::uint32_t one_hungry = std::uint32_t{1} << 22U;

  constexpr explicit idle_word(std::uint32_t bits) noexcept : bits_(bits) {}
  constexpr explicit idle_word(const idle_counts& c) noexcept
      : bits_((c.closed ? closed_bit : 0) | (c.debt ? debt_bit : 0) | c.searching << searching_shift |
              c.sleeping << sleeping_shift | (c.alert() ? alert_bit : 0) | c.hungry * one_hungry) {
    WEFT_ASSERT(c.searching <= searching_mask && c.sleeping <= most_workers,
                "a count of idle workers has overflowed");
    WEFT_ASSERT(!c.debt || c.searching > 0, "IW1: in debt, and nobody searches");
  }

  [[nodiscard]] constexpr std::uint32_t bits() const noexcept { return bits_; }

  [[nodiscard]] constexpr idle_counts counts() const noexcept {
    return {.searching = bits_ >> searching_shift & searching_mask,
            .sleeping = bits_ >> sleeping_shift & sleeping_mask,
            .hungry = bits_ / one_hungry,
            .debt = (bits_ & debt_bit) != 0,
            .closed = (bits_ & closed_bit) != 0};
  }

  /// Whether a push has nothing to do: neither is anyone to be told, nor is anyone hungry.
  [[nodiscard]] constexpr bool calm() const noexcept { return bits_ < alert_bit; }
  [[nodiscard]] constexpr bool hungry() const noexcept { return bits_ >= one_hungry; }
  [[nodiscard]] constexpr bool closed() const noexcept { return (bits_ & closed_bit) != 0; }

 private:
  static constexpr std::uint32_t closed_bit = 1U << 0U;
  static constexpr std::uint32_t debt_bit = 1U << 1U;
  static constexpr unsigned searching_shift = 2;
  static constexpr std::uint32_t searching_mask = 0x3ff;
  static constexpr unsigned sleeping_shift = 12;
  static constexpr std::uint32_t sleeping_mask = 0x1ff;
  static constexpr std::uint32_t alert_bit = detail::idle_alert;
  static_assert(2 * most_workers <= searching_mask && most_workers <= sleeping_mask);
  static_assert(alert_bit == (sleeping_mask + 1) << sleeping_shift && one_hungry == alert_bit << 1U,
                "what a push looks at lies above everything else");

  std::uint32_t bits_;
};

}  // namespace weft::impl
