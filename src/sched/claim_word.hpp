// SPDX-License-Identifier: Apache-2.0
//
// claim_word — one wait, one word: whoever wins it makes the fiber runnable, and nobody else does.
//
// A fiber that waits can be ended in its wait by a waker, a timer and a canceller at once. All of them try to claim the
// one word of that wait; the winner's reason is why it ended. The fiber is to be seen before it has left its stack, so
// the word also says whether it has: a claim that comes too early leaves the waking to the step after the switch.
//
//              arm                complete_park            running        on its stack, not waiting
//     running ------> armed --------------------> parked   armed          published, still on its stack
//       ^  ^           | |                          |      parked         off its stack: it may be resumed
//       |  '-- disarm -' | try_claim                | try_claim
//       |                v                          v
//       '-- finish -- claimed_early              claimed --- finish ---> running
//
// Somebody may hold a parked fiber for a moment, to do something with its stack: it puts the word back to armed, and parks it
// again. Who claims it meanwhile leaves the waking to that step, as to the one after the switch.
//
// Each wait has an epoch; a ticket names it. A timer that is late holds the ticket of a wait that is over, and loses.
//
// Ordering: what a winner did before try_claim() is visible to the fiber after finish(). What the fiber did before
//           complete_park() is visible to who wins the parked fiber, and may resume it.
//
// Thread safety: arm(), try_disarm(), finish() by the fiber; complete_park() by the thread that has left its stack;
//                try_claim() by anyone with a ticket or who keeps the fiber alive.
// Invariants:   WC1  exactly one claim wins a wait, unless the fiber disarms it
//               WC2  `parked` and `claimed` only while the fiber is off its stack
//               WC3  whoever wins in `armed` leaves the fiber alone: the step after the switch makes it runnable
#pragma once

#include "sys/platform.hpp"

#include <weft/detail/assert.hpp>

#include <cstdint>

namespace weft::impl {

/// What ended a wait.
enum class wake_cause : std::uint8_t {
  none,       ///< nothing yet
  ready,      ///< what was waited for has come
  timed_out,  ///< the deadline has come
  cancelled,  ///< the fiber was asked to stop
};

/// Whether a wait may be ended because the fiber was asked to stop.
enum class wait_kind : std::uint8_t { cancellable, shielded };

/// Who owns the fiber's stack, and who makes it runnable.
enum class wait_state : std::uint8_t { running, armed, parked, claimed_early, claimed };

/// Names one wait of one fiber.
struct wait_ticket {
  std::uint64_t epoch = 0;
};

/// What whoever tried to claim owes.
enum class claim_outcome : std::uint8_t {
  lost,       ///< nothing: the wait has ended otherwise, or is over
  won_early,  ///< nothing: the fiber is still on its stack; the step after its switch makes it runnable
  won,        ///< the fiber must be made runnable
};

/// What the step after the switch owes.
enum class park_outcome : std::uint8_t {
  parked,        ///< nothing: it may already run elsewhere
  must_requeue,  ///< the fiber must be made runnable: it was claimed before it was off its stack
};

/// What a fiber that wants to go on without waiting may do.
enum class disarm_outcome : std::uint8_t {
  disarmed,  ///< go on
  claimed,   ///< go on, but not before finish(): the wait was ended by somebody
};

/// The word taken apart: bits 0..2 state, 3..7 cause, 8 marked, 9 trimmed, 10 shielded, 11..63 epoch.
class wait_word {
 public:
  constexpr explicit wait_word(std::uint64_t bits) noexcept : bits_(bits) {}
  constexpr wait_word(std::uint64_t epoch, wait_state state, wake_cause cause = wake_cause::none) noexcept
      : bits_(epoch << epoch_shift | static_cast<std::uint64_t>(cause) << cause_shift |
              static_cast<std::uint64_t>(state)) {}

  /// A wait that begins.
  [[nodiscard]] static constexpr wait_word armed(std::uint64_t epoch, wait_kind kind) noexcept {
    const wait_word open(epoch, wait_state::armed);
    return kind == wait_kind::shielded ? wait_word(open.bits_ | shield_bit) : open;
  }

  [[nodiscard]] constexpr std::uint64_t bits() const noexcept { return bits_; }
  [[nodiscard]] constexpr wait_state state() const noexcept {
    return static_cast<wait_state>(bits_ & state_mask);
  }
  [[nodiscard]] constexpr wake_cause cause() const noexcept {
    return static_cast<wake_cause>(bits_ >> cause_shift & cause_mask);
  }
  /// Wraps after 2^53 waits of one fiber.
  [[nodiscard]] constexpr std::uint64_t epoch() const noexcept { return bits_ >> epoch_shift; }

  [[nodiscard]] constexpr bool is_claimable() const noexcept {
    return state() == wait_state::armed || state() == wait_state::parked;
  }
  [[nodiscard]] constexpr bool is_claimed() const noexcept {
    return state() == wait_state::claimed_early || state() == wait_state::claimed;
  }
  [[nodiscard]] constexpr bool is_shielded() const noexcept { return (bits_ & shield_bit) != 0; }

  /// The same wait, off its stack.
  [[nodiscard]] constexpr wait_word parked() const noexcept {
    return wait_word((bits_ & ~state_mask) | static_cast<std::uint64_t>(wait_state::parked));
  }
  /// A wait that somebody has seen, who will come again; and one that was held once.
  [[nodiscard]] constexpr wait_word marked() const noexcept { return wait_word(bits_ | marked_bit); }
  [[nodiscard]] constexpr wait_word trimmed() const noexcept { return wait_word(bits_ | trimmed_bit); }
  [[nodiscard]] constexpr bool is_marked() const noexcept { return (bits_ & marked_bit) != 0; }
  [[nodiscard]] constexpr bool is_trimmed() const noexcept { return (bits_ & trimmed_bit) != 0; }
  /// The same wait, claimed.
  [[nodiscard]] constexpr wait_word claimed_by(wake_cause cause) const noexcept {
    const wait_word claimed(
        epoch(), state() == wait_state::armed ? wait_state::claimed_early : wait_state::claimed, cause);
    return wait_word(claimed.bits_ | (bits_ & shield_bit));
  }

 private:
  static constexpr std::uint64_t state_mask = 7;
  static constexpr unsigned cause_shift = 3;
  static constexpr std::uint64_t cause_mask = 0x1f;
  static constexpr std::uint64_t marked_bit = std::uint64_t{1} << 8U;
  static constexpr std::uint64_t trimmed_bit = std::uint64_t{1} << 9U;
  static constexpr std::uint64_t shield_bit = std::uint64_t{1} << 10U;
  static constexpr unsigned epoch_shift = 11;

  std::uint64_t bits_;
};
static_assert(wait_word(5, wait_state::parked).claimed_by(wake_cause::timed_out).cause() ==
              wake_cause::timed_out);
static_assert(wait_word(5, wait_state::armed).claimed_by(wake_cause::ready).epoch() == 5);

/// What makes the protocol hold. A test that wants to see it break derives from this and changes one line.
struct claim_rules {
  /// A ticket is good for its own wait only.
  static constexpr bool checks_epoch = true;

  /// A claim is one compare-exchange, not a load and a store.
  template <class Word>
  [[nodiscard]] static bool claim(Word& word, std::uint64_t& seen, std::uint64_t claimed) noexcept {
    // release: what was done for the fiber is visible to it. [WC-claim] pairs with acquire in finish()
    // acquire: a fiber that is off its stack has left its registers. [WC-park] pairs with release in park()
    return word.compare_exchange_weak(seen, claimed, std::memory_order_acq_rel, std::memory_order_relaxed);
  }

  /// Whether a claim came too early is seen after the switch.
  template <class Word>
  [[nodiscard]] static bool park(Word& word, std::uint64_t& armed, std::uint64_t parked) noexcept {
    // release: whoever claims it now finds its registers. [WC-park] pairs with acquire in claim()
    return word.compare_exchange_strong(armed, parked, std::memory_order_release, std::memory_order_relaxed);
  }
};

template <class Platform, class Rules = claim_rules>
class basic_wait_claim {
 public:
  // -- The fiber --------------------------------------------------------------------------------------------------

  /// Begins a wait. From now on it can be claimed by whoever has the ticket, or finds the fiber by itself.
  [[nodiscard]] wait_ticket arm(wait_kind kind = wait_kind::cancellable) noexcept {
    const wait_word before(word_.load(std::memory_order_relaxed));  // relaxed: the fiber's own while it runs
    WEFT_ASSERT(before.state() == wait_state::running, "WC1: a fiber that waits begins to wait");
    const wait_word next = wait_word::armed((before.epoch() + 1) & epoch_mask, kind);
    // The ticket travels by what publishes it; a canceller comes by the barriers of cancel_flag.
    // release: who finds the wait finds whose it is. [WC-who] pairs with word()
    word_.store(next.bits(), std::memory_order_release);
    return {next.epoch()};
  }

  /// Ends the wait before the switch, because the fiber has found by itself what it was to wait for.
  [[nodiscard]] disarm_outcome try_disarm() noexcept {
    const wait_word before = word_approx();  // claimed or not, its epoch and kind are the fiber's own
    const std::uint64_t epoch = before.epoch();
    std::uint64_t seen = armed_of(before).bits();
    // relaxed: nothing was handed over if nobody has claimed, and if somebody has, finish() acquires it.
    const bool disarmed = word_.compare_exchange_strong(seen, wait_word(epoch, wait_state::running).bits(),
                                                        std::memory_order_relaxed, std::memory_order_relaxed);
    WEFT_ASSERT(disarmed || wait_word(seen).state() == wait_state::claimed_early,
                "WC2: disarming what is not armed");
    return disarmed ? disarm_outcome::disarmed : disarm_outcome::claimed;
  }

  /// The fiber goes on. Returns what has ended its wait.
  [[nodiscard]] wake_cause finish() noexcept {
    const wait_word seen(word_.load(std::memory_order_acquire));  // [WC-claim]
    WEFT_ASSERT(seen.is_claimed(), "WC1: a fiber goes on without having been claimed");
    // relaxed: those who come late find a wait that is over, or have the ticket of one.
    word_.store(wait_word(seen.epoch(), wait_state::running).bits(), std::memory_order_relaxed);
    return seen.cause();
  }

  // -- The thread that has left the fiber's stack -----------------------------------------------------------------

  /// The fiber is off its stack, and everything of it is in its record. After this it may run elsewhere: unless it must be
  /// requeued, nothing of it may be touched.
  [[nodiscard]] park_outcome complete_park() noexcept {
    const wait_word armed = armed_of(word_approx());  // the fiber's own, and it has not gone on
    std::uint64_t seen = armed.bits();
    const bool parked = Rules::park(word_, seen, armed.parked().bits());
    WEFT_ASSERT(parked || wait_word(seen).state() == wait_state::claimed_early,
                "WC2: parking what is not armed");
    return parked ? park_outcome::parked : park_outcome::must_requeue;
  }

  // -- Somebody who tidies up ---------------------------------------------------------------------------------------

  /// Marks a wait that was seen parked, unless it is marked or over.
  void mark(wait_word seen) noexcept {
    if (seen.state() != wait_state::parked || seen.is_marked()) return;
    std::uint64_t expected = seen.bits();
    // relaxed: nothing is handed over; and who claims it next acquires what the step after the switch has released, since a
    // read-modify-write does not end what was released before it.
    (void)word_.compare_exchange_strong(expected, seen.marked().bits(), std::memory_order_relaxed,
                                        std::memory_order_relaxed);
  }

  /// Takes a fiber that was seen parked, if it still is in that wait: its stack is the caller's until complete_hold().
  [[nodiscard]] bool try_hold(wait_word seen) noexcept {
    if (seen.state() != wait_state::parked) return false;
    std::uint64_t expected = seen.bits();
    // relaxed: it has left its registers, which was seen when the word was read; and nothing has happened to it since.
    return word_.compare_exchange_strong(expected, armed_of(seen).bits(), std::memory_order_relaxed,
                                         std::memory_order_relaxed);
  }

  /// Gives the fiber back, as one that was tidied up. After this it may run elsewhere, unless it must be requeued: somebody has
  /// claimed it meanwhile.
  [[nodiscard]] park_outcome complete_hold() noexcept {
    return complete_hold_as(
        armed_of(word_approx()).parked().trimmed());  // held: its epoch and kind do not change
  }
  /// The same, as it was seen when it was taken.
  [[nodiscard]] park_outcome complete_hold_as(wait_word before) noexcept {
    std::uint64_t seen = armed_of(before).bits();
    const bool parked = Rules::park(word_, seen, before.bits());
    return parked ? park_outcome::parked : park_outcome::must_requeue;
  }

  // -- Wakers, timers, cancellers ---------------------------------------------------------------------------------

  /// Tries to end the wait that the ticket is for.
  [[nodiscard]] claim_outcome try_claim(wait_ticket ticket, wake_cause cause) noexcept {
    return try_claim_if(
        cause, [ticket](wait_word now) { return now.epoch() == ticket.epoch || !Rules::checks_epoch; });
  }

  /// Tries to end whatever wait stands now, unless it is shielded: for a canceller, which comes to the fiber and not to
  /// one of its waits.
  [[nodiscard]] claim_outcome try_claim_standing(wake_cause cause) noexcept {
    return try_claim_if(cause, [](wait_word now) { return !now.is_shielded(); });
  }

  /// Tries to end whatever wait stands now: for a timer, which is pending within one wait only.
  [[nodiscard]] claim_outcome try_claim_any(wake_cause cause) noexcept {
    return try_claim_if(cause, [](wait_word) { return true; });
  }

  /// Tries to end the wait that was seen, in the state that was seen: for who has looked since whose wait it is.
  [[nodiscard]] claim_outcome try_claim_seen(wait_word now, wake_cause cause) noexcept {
    std::uint64_t seen = now.bits();
    if (!Rules::claim(word_, seen, now.claimed_by(cause).bits())) return claim_outcome::lost;
    return now.state() == wait_state::armed ? claim_outcome::won_early : claim_outcome::won;
  }

  /// The word, for who comes to find out whose wait it is.
  [[nodiscard]] wait_word word() const noexcept {
    return wait_word(word_.load(std::memory_order_acquire));  // [WC-who]
  }

  /// What the word says now. The epoch is the fiber's own to change.
  [[nodiscard]] wait_word word_approx() const noexcept {
    return wait_word(word_.load(std::memory_order_relaxed));  // relaxed: a snapshot
  }

 private:
  static constexpr std::uint64_t epoch_mask = (std::uint64_t{1} << 53U) - 1;

  // How the word looks while the wait that stands, or was claimed, is armed.
  [[nodiscard]] static constexpr wait_word armed_of(wait_word now) noexcept {
    return wait_word::armed(now.epoch(), now.is_shielded() ? wait_kind::shielded : wait_kind::cancellable);
  }

  template <class Meant>
  [[nodiscard]] claim_outcome try_claim_if(wake_cause cause, Meant&& meant) noexcept {
    // relaxed: the exchange decides; and a wait that is seen too late is seen by its own look at the cancel flag.
    std::uint64_t seen = word_.load(std::memory_order_relaxed);
    for (;;) {
      const wait_word now(seen);
      if (!now.is_claimable() || !meant(now)) return claim_outcome::lost;
      if (Rules::claim(word_, seen, now.claimed_by(cause).bits()))
        return now.state() == wait_state::armed ? claim_outcome::won_early : claim_outcome::won;
    }
  }

  typename Platform::template atomic<std::uint64_t> word_{wait_word(0, wait_state::running).bits()};
};

using wait_claim = basic_wait_claim<default_platform>;

}  // namespace weft::impl
