// SPDX-License-Identifier: Apache-2.0
//
// backoff — how to wait a little while there is nothing to do, without burning a core or being late when there is.
//
// For loops of threads that look for work, or try again what another thread was faster at. Each fruitless round ends in
// snooze(), which does a little more for the others each time; finding something ends in reset():
//
//     weft::backoff pause;
//     while (running) {
//       if (find_something_to_do()) {
//         pause.reset();
//       } else {
//         pause.snooze();
//       }
//     }
//
// weft::backoff goes through four phases by counting: it spins, spins longer, yields, sleeps. weft::exponential_backoff
// goes by time: each wait is twice as long as the one before. Whoever can be woken by those he waits for should do so
// once is_sleeping() or is_exhausted() says that it takes long; these two are for what remains.
//
// They wait by holding up the thread. In a fiber, wait by the means of fibers.
#pragma once

#include <weft/detail/assert.hpp>
#include <weft/detail/atomics.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <thread>
#include <utility>

namespace weft {

/// How patient a backoff is: a choice between being quick and being kind.
enum class backoff_mode : std::uint8_t {
  low_latency,   ///< spins and yields for long, then sleeps 100 us at a time
  balanced,      ///< sleeps 1 ms at a time, after 128 rounds: the default
  power_saving,  ///< sleeps 10 ms at a time, after 32 rounds
};

/// What the next snooze() does.
enum class backoff_phase : std::uint8_t {
  spinning,        ///< one pause instruction: something is expected at any moment
  multi_spinning,  ///< several of them: easier on the other half of the core, and on the memory that is looked at
  yielding,        ///< lets other threads of this core run, if there are any
  sleeping,        ///< gives the core away for a fixed time
};

/// After how many rounds each phase ends, counted from the last reset(), and how long the last one sleeps. A phase
/// whose limit is not above that of the phase before is left out.
struct backoff_limits {
  std::uint32_t spin;              ///< rounds until it spins longer
  std::uint32_t multi_spin;        ///< rounds until it yields
  std::uint32_t sleep_limit;       ///< rounds until it sleeps
  std::chrono::nanoseconds sleep;  ///< how long it sleeps each time

  /// The limits that a mode stands for.
  [[nodiscard]] static constexpr backoff_limits of(backoff_mode mode) noexcept {
    switch (mode) {
      case backoff_mode::low_latency: return {64, 128, 512, std::chrono::microseconds(100)};
      case backoff_mode::balanced: return {32, 64, 128, std::chrono::milliseconds(1)};
      case backoff_mode::power_saving: break;
    }
    return {8, 16, 32, std::chrono::milliseconds(10)};
  }

  /// Two are equal if all their limits are.
  [[nodiscard]] friend constexpr bool operator==(const backoff_limits&,
                                                 const backoff_limits&) noexcept = default;
};

namespace detail {

/// What the backoffs of this file do to a thread. Tests put something in its place that counts.
struct thread_waiter {
  static void pause() noexcept { std_atomics::pause(); }
  static void yield() noexcept { std::this_thread::yield(); }
  static void sleep_for(std::chrono::nanoseconds time) { std::this_thread::sleep_for(time); }

  /// Waits about as long as asked. The kernel needs 60 us to let a thread sleep for one, so short waits are spun.
  static void wait_for(std::chrono::nanoseconds time) {
    using clock = std::chrono::steady_clock;
    constexpr std::chrono::microseconds worth_a_sleep(50);
    if (time >= worth_a_sleep) {
      sleep_for(time);
      return;
    }
    const clock::time_point until = clock::now() + time;
    while (clock::now() < until) pause();
  }
};

}  // namespace detail

/// Waits by counting rounds, in four phases. See the top of this file; weft::backoff is the one to use.
///
/// Thread safety: none; each thread has its own.
template <class Waiter = detail::thread_waiter>
class basic_backoff {
 public:
  /// How many pauses a round of the second phase takes.
  static constexpr int multi_spin_pauses = 4;

  /// Starts in the first phase of a mode.
  explicit constexpr basic_backoff(backoff_mode mode = backoff_mode::balanced,
                                   Waiter waiter = Waiter()) noexcept
      : limits_(backoff_limits::of(mode)), waiter_(std::move(waiter)) {}

  /// Starts in the first phase, with limits of one's own.
  explicit constexpr basic_backoff(const backoff_limits& limits, Waiter waiter = Waiter()) noexcept
      : limits_(limits), waiter_(std::move(waiter)) {}

  /// Waits one round, the way phase() says.
  void snooze() {
    switch (phase()) {
      case backoff_phase::spinning: waiter_.pause(); break;
      case backoff_phase::multi_spinning:
        for (int i = 0; i < multi_spin_pauses; ++i) waiter_.pause();
        break;
      case backoff_phase::yielding: waiter_.yield(); break;
      case backoff_phase::sleeping:
        waiter_.sleep_for(limits_.sleep);
        return;  // the last phase counts no more
    }
    ++rounds_;
  }

  /// What the next snooze() does.
  [[nodiscard]] constexpr backoff_phase phase() const noexcept {
    if (rounds_ < limits_.spin) return backoff_phase::spinning;
    if (rounds_ < limits_.multi_spin) return backoff_phase::multi_spinning;
    if (rounds_ < limits_.sleep_limit) return backoff_phase::yielding;
    return backoff_phase::sleeping;
  }

  /// Whether the next snooze() sleeps: a good moment to wait by being woken instead.
  [[nodiscard]] constexpr bool is_sleeping() const noexcept { return phase() == backoff_phase::sleeping; }

  /// Begins anew: something was found.
  constexpr void reset() noexcept { rounds_ = 0; }

  /// The limits it goes by.
  [[nodiscard]] constexpr const backoff_limits& limits() const noexcept { return limits_; }

 private:
  backoff_limits limits_;
  std::uint32_t rounds_ = 0;
  [[no_unique_address]] Waiter waiter_;
};

/// Waits by counting rounds, in four phases.
using backoff = basic_backoff<>;

/// Waits twice as long each time. See the top of this file; weft::exponential_backoff is the one to use.
///
/// Thread safety: none; each thread has its own.
template <class Waiter = detail::thread_waiter>
class basic_exponential_backoff {
 public:
  /// The first wait and the longest one, unless asked otherwise.
  static constexpr std::chrono::nanoseconds default_first = std::chrono::microseconds(1);
  /// As default_first.
  static constexpr std::chrono::nanoseconds default_longest = std::chrono::milliseconds(1);

  /// Waits for `first` the first time, and never for more than `longest`; both are above zero.
  explicit constexpr basic_exponential_backoff(std::chrono::nanoseconds first = default_first,
                                               std::chrono::nanoseconds longest = default_longest,
                                               Waiter waiter = Waiter()) noexcept
      : first_(std::min(first, longest)), longest_(longest), next_(first_), waiter_(std::move(waiter)) {
    WEFT_CHECK(first.count() > 0 && longest.count() > 0,
               "an exponential_backoff whose first or longest wait is not above zero would never wait");
  }

  /// Waits for next(), and doubles it.
  void snooze() {
    waiter_.wait_for(next_);
    exhausted_ = next_ == longest_;
    next_ = next_ > longest_ / 2 ? longest_ : next_ * 2;
  }

  /// How long the next snooze() waits.
  [[nodiscard]] constexpr std::chrono::nanoseconds next() const noexcept { return next_; }

  /// Whether the longest wait was in vain: time to park.
  [[nodiscard]] constexpr bool is_exhausted() const noexcept { return exhausted_; }

  /// Begins anew: something was found.
  constexpr void reset() noexcept {
    next_ = first_;
    exhausted_ = false;
  }

 private:
  std::chrono::nanoseconds first_;
  std::chrono::nanoseconds longest_;
  std::chrono::nanoseconds next_;
  bool exhausted_ = false;
  [[no_unique_address]] Waiter waiter_;
};

/// Waits 1 us, then twice as long each time, up to 1 ms.
using exponential_backoff = basic_exponential_backoff<>;

}  // namespace weft
