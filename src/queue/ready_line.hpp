// SPDX-License-Identifier: Apache-2.0
//
// ready_line — a worker's line of what may go on: first in, first out, but for one that may jump the queue.
//
// Its owner puts in and takes out at every switch, so it pays for nothing but plain loads and stores. Others may have
// the oldest half, in two ways:
//
//   - They ask. The owner, when it comes by, sends them some. Nobody but the owner touches the line then.
//   - They seize it when the owner does not come by, because it is at something long: they bolt the door, pass a heavy
//     barrier, and if the owner is not inside then, it stays outside until they are done.
//
// One place is before all others: what was woken last and will find its data still warm. It may be used so many times in
// a row and no more; after that, once for each of the others that had its turn, so that those who wake each other at most
// double the time that all others wait. Who may not jump goes to the end.
//
// Thread safety: the owner's part by the owner; ask(), withdraw(), seize() by anyone with a thief_id of its own.
// Invariants:   RL1  the line is touched by the owner while it is inside, or by whoever has bolted the door and found
//                    nobody inside; never by both
//               RL2  size_ is how many there are, and is written before the line is left
//               RL3  at most one stands at the door
// Protocol:     README.md, "The ready line"
#pragma once

#include "base/cache_line.hpp"
#include "queue/run_batch.hpp"
#include "queue/top_word.hpp"
#include "sys/platform.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace weft::impl {

/// What makes the protocol hold. A test that wants to see it break derives from this and changes one line.
struct ready_line_rules {
  // [RL-race] Either the owner sees the bolt, or who has bolted sees the owner inside.
  static constexpr bool owner_has_barrier = true;
  static constexpr bool visitor_has_barrier = true;
  // [RL-left] Who finds the owner gone finds what it left.
  static constexpr std::memory_order leave = std::memory_order_release;
  static constexpr std::memory_order find_gone = std::memory_order_acquire;
  // [RL-open] Who finds the door open finds what the last visitor left.
  static constexpr std::memory_order open = std::memory_order_release;
  static constexpr std::memory_order find_open = std::memory_order_acquire;
};

struct ready_line_options {
  std::uint32_t most = 64;           ///< no more leave together
  std::uint32_t most_in_a_row = 16;  ///< so often the first place is used before the others get their turn
};

template <sleeping_platform Platform, class Rules = ready_line_rules>
class basic_ready_line {
 public:
  using batch = basic_run_batch<Platform>;
  using options = ready_line_options;

  /// What is to be sent to somebody who asks.
  struct parcel {
    batch items;
    thief_id to{};
  };

  explicit basic_ready_line(barrier_kind barriers, const options& how = {}) noexcept
      : options_(how), barriers_(barriers) {}
  basic_ready_line(const basic_ready_line&) = delete;
  basic_ready_line& operator=(const basic_ready_line&) = delete;
  ~basic_ready_line() { WEFT_ASSERT(!first_, "RL2: a line was destroyed with somebody in it"); }

  // -- The owner ----------------------------------------------------------------------------------------------------

  /// Puts one at the end.
  void push(runnable added) noexcept {
    const inside hold(*this);
    line_.push_back(added);
    set_size(size() + 1);
  }

  /// Puts all of them at the end, in their order.
  void push(batch&& added) noexcept {
    if (added.empty()) return;
    const inside hold(*this);
    set_size(size() + static_cast<std::uint32_t>(added.size()));
    line_.append(std::move(added));
  }

  /// Puts one before all others; whoever stood there goes to the end.
  void push_first(runnable added) noexcept {
    const inside hold(*this);
    if (first_) line_.push_back(first_);
    first_ = added;
    set_size(size() + 1);
  }

  /// Takes the one whose turn it is; nothing where there is none.
  [[nodiscard]] runnable pop() noexcept {
    if (size() == 0) return {};  // only others make it smaller behind the owner's back
    const inside hold(*this);
    return take_one(1);
  }

  /// The same while the line takes turns with something else. Its time is doubled already: no further jump is earned.
  [[nodiscard]] runnable pop_in_turn() noexcept {
    if (size() == 0) return {};
    const inside hold(*this);
    return take_one(0);
  }

  /// Takes the one whose turn it is and puts another at the end instead. The owner stays inside until it calls leave(), so that
  /// nobody gets the other before: it may still be on its stack. Nothing, and outside, where there is none, or one of another kind,
  /// or one that may jump.
  [[nodiscard]] runnable exchange(runnable added) noexcept {
    if (!WEFT_LIKELY(size() != 0)) return {};
    enter();
    if (!WEFT_LIKELY(!first_ && !line_.empty() && line_.first().what() == added.what())) {
      leave();
      return {};
    }
    earn(1);
    return line_.rotate(added);  // RL2: as many as before
  }
  void leave() noexcept { inside_.store(0, Rules::leave); }  // [RL-left] pairs with seize()

  /// How many there are. Others may take some at any time.
  [[nodiscard]] std::uint32_t size() const noexcept {
    return size_.load(std::memory_order_relaxed);  // relaxed: exact inside, a guess outside
  }

  /// Whether somebody waits at the door. One load, to be made between two pieces of work.
  [[nodiscard]] bool asked() const noexcept {
    return door_.load(std::memory_order_relaxed) != 0;  // relaxed: seen late, answered late
  }

  /// Takes out what is to be sent to who asks: the oldest half, leaving at least `keep`. Nothing where nobody asks, or
  /// there is too little: then it goes on asking.
  [[nodiscard]] parcel answer(std::uint32_t keep) noexcept {
    std::uint32_t seen = door_.load(std::memory_order_relaxed);  // relaxed: the exchange decides
    if (seen == 0 || is_bolted(seen) || size() <= keep) return {};
    const inside hold(*this);
    const std::uint32_t count = share(keep);
    if (count == 0) return {};
    // relaxed: what is sent travels by the inbox that it is sent to.
    const bool ours =
        door_.compare_exchange_strong(seen, 0, std::memory_order_relaxed, std::memory_order_relaxed);
    if (!ours) return {};
    return {take_out(count), static_cast<thief_id>(seen & ~by_the_way)};
  }

  // -- Others -------------------------------------------------------------------------------------------------------

  /// How many there seem to be. After a heavy barrier: no fewer than were pushed before it and not taken.
  [[nodiscard]] std::uint32_t size_approx() const noexcept { return size(); }

  /// Stands at the door. Returns false if somebody else does, in earnest.
  [[nodiscard]] bool ask(thief_id who) noexcept {
    WEFT_CHECK(who != thief_id{}, "who asks has a name; zero is nobody's");
    std::uint32_t seen = door_.load(std::memory_order_relaxed);  // relaxed: the exchange decides
    if (seen != 0 && !is_by_the_way(seen)) return false;
    // relaxed: an owner that sees it late answers late.
    return door_.compare_exchange_strong(seen, static_cast<std::uint32_t>(who), std::memory_order_relaxed,
                                         std::memory_order_relaxed);
  }

  /// The same by one that has enough to do, does not wait for an answer, and gives way to who asks in earnest.
  [[nodiscard]] bool ask_by_the_way(thief_id who) noexcept {
    WEFT_CHECK(who != thief_id{}, "who asks has a name; zero is nobody's");
    std::uint32_t nobody = 0;
    // relaxed: as in ask().
    return door_.compare_exchange_strong(nobody, static_cast<std::uint32_t>(who) | by_the_way,
                                         std::memory_order_relaxed, std::memory_order_relaxed);
  }

  /// Whether who has asked is still waiting: if not, it has been sent something.
  [[nodiscard]] bool is_waiting(thief_id who) const noexcept {
    return door_.load(std::memory_order_relaxed) == static_cast<std::uint32_t>(who);  // relaxed: a guess
  }

  /// Leaves. Returns false if it has been sent something meanwhile.
  [[nodiscard]] bool withdraw(thief_id who) noexcept {
    auto seen = static_cast<std::uint32_t>(who);
    // relaxed: nothing was handed over.
    return door_.compare_exchange_strong(seen, 0, std::memory_order_relaxed, std::memory_order_relaxed);
  }

  /// Takes the oldest half by itself, and leaves: for who has asked and got no answer. Costs a heavy barrier. Nothing comes
  /// if the owner is just inside, or has answered meanwhile.
  [[nodiscard]] batch seize(thief_id who) noexcept {
    auto seen = static_cast<std::uint32_t>(who);
    // acquire: what the visitor before has left. [RL-open]
    const bool bolted = door_.compare_exchange_strong(seen, seen | bolt, std::memory_order_acquire,
                                                      std::memory_order_relaxed);
    if (!bolted) return {};
    if constexpr (Rules::visitor_has_barrier) Platform::heavy_barrier(barriers_);  // [RL-race]
    batch taken;
    if (inside_.load(Rules::find_gone) == 0) taken = take_out(share(0));  // [RL-left]
    door_.store(0, Rules::open);  // [RL-open] pairs with seize() and enter()
    return taken;
  }

 private:
  static constexpr std::uint32_t bolt = 1U << 16U;
  static constexpr std::uint32_t by_the_way = 1U << 15U;
  [[nodiscard]] static constexpr bool is_by_the_way(std::uint32_t door) noexcept {
    return (door & by_the_way) != 0;
  }
  [[nodiscard]] static constexpr bool is_bolted(std::uint32_t door) noexcept { return door >= bolt; }

  /// The owner inside its line, for a scope.
  class inside {
   public:
    explicit inside(basic_ready_line& line) noexcept : line_(line) { line_.enter(); }
    inside(const inside&) = delete;
    inside& operator=(const inside&) = delete;
    ~inside() { line_.leave(); }

   private:
    basic_ready_line& line_;
  };

  void enter() noexcept {
    for (;;) {
      inside_.store(1, std::memory_order_relaxed);  // relaxed: the barrier orders it
      if constexpr (Rules::owner_has_barrier) Platform::light_barrier(barriers_);  // [RL-race]
      if (WEFT_LIKELY(!is_bolted(door_.load(Rules::find_open)))) return;           // [RL-open]
      wait_outside();
    }
  }

  // A visitor is inside, for a few loads and stores; unless it has lost its processor.
  [[gnu::noinline]] void wait_outside() noexcept {
    // [RL-left] Also where nothing was touched this time: the visitor may read this 0 instead of the one before.
    inside_.store(0, Rules::leave);
    constexpr int turns_before_yielding = 64;
    for (int turns = 0; is_bolted(door_.load(std::memory_order_relaxed)); ++turns) {
      if (turns < turns_before_yielding) {
        Platform::pause();
      } else {
        Platform::sleeper::yield();
      }
    }
  }

  // Inside, all of them.
  void set_size(std::uint32_t to) noexcept { size_.store(to, std::memory_order_relaxed); }  // RL2

  [[nodiscard]] runnable take_one(std::uint32_t earned) noexcept {
    if (size() == 0) return {};
    set_size(size() - 1);
    if (line_.empty()) return std::exchange(first_, {});
    if (first_ && jumps_ != 0) {
      --jumps_;
      return std::exchange(first_, {});
    }
    if (first_) line_.push_back(std::exchange(first_, {}));
    earn(earned);
    return line_.pop_front();
  }
  void earn(std::uint32_t jumps) noexcept { jumps_ = std::min(jumps_ + jumps, options_.most_in_a_row); }

  [[nodiscard]] std::uint32_t share(std::uint32_t keep) const noexcept {
    const std::uint32_t there = size();
    return there <= keep ? 0 : std::min({(there + 1) / 2, there - keep, options_.most});
  }

  [[nodiscard]] batch take_out(std::uint32_t count) noexcept {
    set_size(size() - count);
    const std::size_t standing = line_.size();
    batch taken = line_.split_off(count);
    if (count > standing) taken.push_back(std::exchange(first_, {}));
    return taken;
  }

  // Never changes.
  const options options_;
  const barrier_kind barriers_;

  // The owner's, or a visitor's (RL1).
  batch line_;
  runnable first_;
  std::uint32_t jumps_ = options_.most_in_a_row;  // how many more are allowed

  // Written by the owner, read by visitors.
  typename Platform::template atomic<std::uint32_t> inside_{0};
  typename Platform::template atomic<std::uint32_t> size_{0};

  // Written by visitors, read by the owner.
  alignas(contended_bytes) typename Platform::template atomic<std::uint32_t> door_{0};
};

using ready_line = basic_ready_line<default_platform>;

}  // namespace weft::impl
