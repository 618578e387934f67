// SPDX-License-Identifier: Apache-2.0
//
// A wheel beside a map that keeps the same timers in order: chance does something to both, and they must agree on what
// fires, on how many are left and on how long one may sleep.

#include "base/rng.hpp"
#include "event/timer_wheel.hpp"
#include "support/ledger.hpp"
#include "support/scale.hpp"
#include "support/seed.hpp"

#include <algorithm>
#include <array>
#include <gtest/gtest.h>
#include <iterator>
#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace weft::impl {
namespace {

constexpr time_point last_moment = never - duration(1);
constexpr int levels = 9;
constexpr std::size_t everything = std::numeric_limits<std::size_t>::max();

constexpr std::int64_t tick_of(time_point t) { return t.time_since_epoch().count() >> 14; }

class paired_wheel {
 public:
  explicit paired_wheel(std::uint64_t seed) : sleepers_(1000), random_(seed) {
    for (sleeper& each : sleepers_) idle_.push_back(&each);
  }

  /// The life of one wheel, from a start anywhere in time. Returns how many operations it consisted of.
  std::uint64_t live() {
    now_ = std::min(some_start(), last_moment);
    scale_ = random_.below(56);
    wheel_.emplace(now_);
    std::uint64_t operations = 0;
    while (operations < 10'000 && now_ < last_moment && faults.faults() == 0) {
      operations += do_something();
      compare();
    }
    if (random_.below(2) == 0) expire(never, everything);
    while (!pending_.empty()) cancel(*pending_.back());
    compare();
    wheel_.reset();
    return operations;
  }

  testing::ledger faults;

 private:
  struct sleeper : timer_node {
    std::multimap<time_point, sleeper*>::iterator entry;
    std::size_t index = 0;       // in pending_
    std::uint64_t inserted = 0;  // within which call of expire(), or 0
    std::int64_t turn = 0;       // the tick that decides when it fires
  };

  std::uint64_t do_something() {
    const std::uint32_t choice = random_.below(16);
    if (choice < 8) {
      insert_any();
    } else if (choice < 12) {
      cancel_any();
    } else if (choice < 15) {
      expire(some_time(), random_.below(4) == 0 ? random_.below(8) : everything);
    } else {
      return sleep_until_something_fires();
    }
    return 1;
  }

  // Any number of bits up to 63 is equally likely, but for so many fewer.
  duration some_wait(unsigned fewer) {
    return duration(static_cast<std::int64_t>(random_() >> (1 + fewer + random_.below(63 - fewer))));
  }

  time_point some_start() {
    const std::array<time_point, 4> edges = {time_point::min(), time_point(), last_moment - duration(1 << 20),
                                             time_point(duration(-1))};
    if (random_.below(2) == 0) return edges[random_.below(4)];
    return time_point(duration(static_cast<std::int64_t>(random_())));
  }

  time_point some_time() {
    if (random_.below(16) == 0) return saturating_add(now_, -some_wait(0));
    return saturating_add(now_, some_wait(scale_));
  }

  time_point some_deadline() {
    const std::uint32_t choice = random_.below(64);
    if (choice == 0) return never;
    if (choice == 1) return time_point::min();
    if (choice < 4) return saturating_add(now_, -some_wait(0));
    if (choice < 8 && !oracle_.empty()) return oracle_.begin()->first;  // the same as another's
    return saturating_add(now_, some_wait(choice < 36 ? 0 : scale_));
  }

  void insert_any() {
    if (idle_.empty()) return;
    sleeper& who = *idle_.back();
    idle_.pop_back();
    const time_point deadline = some_deadline();
    who.entry = oracle_.emplace(deadline, &who);
    who.index = pending_.size();
    who.inserted = is_firing_ ? call_ : 0;
    who.turn = tick_of(std::max(deadline, now_));
    pending_.push_back(&who);
    wheel_->insert(who, deadline);
  }

  void cancel_any() {
    if (!pending_.empty()) cancel(*pending_[random_.below(static_cast<std::uint32_t>(pending_.size()))]);
  }

  void cancel(sleeper& who) {
    if (is_firing_ && who.deadline() <= now_ && who.inserted != call_) --due_;
    wheel_->cancel(who);
    faults.check(!who.is_linked(), "a cancelled timer is still linked");
    forget(who);
  }

  void forget(sleeper& who) {
    oracle_.erase(who.entry);
    pending_.back()->index = who.index;
    std::swap(pending_[who.index], pending_.back());
    pending_.pop_back();
    idle_.push_back(&who);
  }

  std::size_t expire(time_point now, std::size_t most) {
    now_ = std::clamp(now, now_, last_moment);
    ++call_;
    due_ = std::distance(oracle_.begin(), oracle_.upper_bound(now_));
    turn_ = std::numeric_limits<std::int64_t>::min();
    is_firing_ = true;
    const std::size_t fired = wheel_->expire(
        now, [&](timer_node& timer) { fire(static_cast<sleeper&>(timer)); }, most);
    is_firing_ = false;
    faults.check(fired <= most, "more timers fired than were asked for");
    faults.check(fired == most || due_ == 0, "a timer that was due did not fire");
    return fired;
  }

  void fire(sleeper& who) {
    faults.check(!who.is_linked(), "a timer fires while it is linked");
    faults.check(who.deadline() <= now_, "a timer fires early");
    faults.check(who.inserted != call_, "a timer fires in the call that inserted it");
    faults.check(who.turn >= turn_, "a timer fires after one of a later tick");
    const bool is_pending = who.index < pending_.size() && pending_[who.index] == &who;
    faults.check(is_pending, "a timer fires that is not pending");
    if (!is_pending) return;
    turn_ = who.turn;
    --due_;
    forget(who);
    const std::uint32_t choice = random_.below(16);
    if (choice < 3) insert_any();  // the one that has just fired
    if (choice == 2 || choice == 3) cancel_any();
  }

  // What a worker does that has nothing else to do.
  std::uint64_t sleep_until_something_fires() {
    if (oracle_.empty() || oracle_.begin()->first == never) return 1;
    std::uint64_t steps = 1;
    while (expire(wheel_->next_deadline_bound(), everything) == 0 && steps <= levels) {
      compare();
      ++steps;
    }
    faults.check(steps <= levels, "it takes more than a step for each level until something fires");
    return steps;
  }

  void compare() {
    faults.check(wheel_->size() == oracle_.size(), "the number of pending timers is wrong");
    faults.check(wheel_->empty() == oracle_.empty(), "the wheel is wrong about being empty");
    const time_point bound = wheel_->next_deadline_bound();
    const time_point earliest = oracle_.empty() ? never : oracle_.begin()->first;
    faults.check(bound <= earliest, "the bound is later than the earliest deadline");
    if (oracle_.empty()) {
      faults.check(bound == never, "there is a bound and nothing is pending");
    } else if (earliest <= now_) {
      faults.check(bound == time_point::min(), "the bound does not say that something is due");
    } else {
      faults.check(bound > now_, "the bound has passed and nothing is due");
      const bool is_near = tick_of(earliest) >> 6 == tick_of(now_) >> 6;
      faults.check(!is_near || bound == earliest, "the bound is not exact in the lowest level");
    }
  }

  std::vector<sleeper> sleepers_;
  std::vector<sleeper*> idle_;
  std::vector<sleeper*> pending_;
  std::multimap<time_point, sleeper*> oracle_;
  std::optional<timer_wheel> wheel_;
  xoshiro256ss random_;
  unsigned scale_ = 0;  // how many bits shorter the waits of this life are
  time_point now_;
  std::uint64_t call_ = 0;
  bool is_firing_ = false;
  std::ptrdiff_t due_ = 0;  // how many have yet to fire in this call
  std::int64_t turn_ = 0;   // of the timer that fired last in this call
};

TEST(TimerWheelOracle, AgreesWithASortedMap) {
  const std::uint64_t all =
      testing::storm_length{.usual = 2'000'000, .slow = 500'000, .long_run = 20'000'000}.now();
  paired_wheel pair(testing::test_seed());
  std::uint64_t done = 0;
  while (done < all && pair.faults.faults() == 0) done += pair.live();
  EXPECT_EQ(pair.faults.faults(), 0) << pair.faults.first();
}

}  // namespace
}  // namespace weft::impl
