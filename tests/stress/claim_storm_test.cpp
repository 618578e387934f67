// SPDX-License-Identifier: Apache-2.0
//
// Wakers, timers and cancellers compete for the waits of one fiber (a thread here, whose switch is a pause): exactly one
// ends each wait, exactly one makes the fiber runnable, and it sees what the winner did.

#include "base/rng.hpp"
#include "event/parker.hpp"
#include "sched/cancel_flag.hpp"
#include "sched/claim_word.hpp"
#include "support/scale.hpp"
#include "support/seed.hpp"

#include <array>
#include <atomic>
#include <gtest/gtest.h>
#include <thread>
#include <vector>

namespace weft::impl {
namespace {

constexpr std::array causes{wake_cause::ready, wake_cause::timed_out, wake_cause::cancelled};

struct contested_fiber {
  wait_claim claim;
  parker stack;                            // where the thread waits while the "fiber" is off its stack
  std::atomic<std::uint64_t> epoch{0};     // of the wait that has been published last
  std::atomic<std::uint64_t> enqueued{0};  // how often somebody made it runnable
  std::array<std::uint64_t, 3> gifts{};    // by cause: what a claimer wrote before it claimed
  std::uint64_t registers = 0;             // written before the switch, read by who makes it runnable
  std::atomic<bool> over{false};

  void make_runnable(std::uint64_t of_wait) {
    EXPECT_EQ(registers, of_wait) << "who makes it runnable sees it off its stack";
    enqueued.fetch_add(1, std::memory_order_relaxed);
    stack.unpark();
  }
};

void pause_for(std::uint32_t turns) {
  for (std::uint32_t i = 0; i < turns; ++i) std_atomics::pause();
}

// One that competes for each wait once, and then tries the ticket of the wait before as well.
void compete(contested_fiber& fiber, std::size_t who, std::atomic<std::uint64_t>& wins, xoshiro256ss random) {
  std::uint64_t last = 0;
  while (!fiber.over.load(std::memory_order_acquire)) {
    const std::uint64_t epoch = fiber.epoch.load(std::memory_order_acquire);
    if (epoch == last) {
      std::this_thread::yield();
      continue;
    }
    EXPECT_EQ(fiber.claim.try_claim({epoch - 1}, causes[who]), claim_outcome::lost)
        << "of a wait that is over";
    pause_for(random.below(60));
    fiber.gifts[who] = epoch;
    switch (fiber.claim.try_claim({epoch}, causes[who])) {
      case claim_outcome::lost: break;
      case claim_outcome::won: fiber.make_runnable(epoch); [[fallthrough]];
      case claim_outcome::won_early: wins.fetch_add(1, std::memory_order_relaxed); break;
    }
    last = epoch;
  }
}

TEST(ClaimStorm, ExactlyOneEndsEachWait) {
  xoshiro256ss random(testing::test_seed());
  const std::uint64_t waits =
      testing::storm_length{.usual = 100'000, .slow = 10'000, .long_run = 14'000'000}.now();
  contested_fiber fiber;
  std::atomic<std::uint64_t> wins{0};
  std::vector<std::thread> claimers;
  for (std::size_t who = 0; who < causes.size(); ++who)
    claimers.emplace_back([&, who, mine = random.split()] { compete(fiber, who, wins, mine); });

  std::uint64_t parked = 0;
  std::uint64_t requeued = 0;
  std::uint64_t disarmed = 0;
  std::array<std::uint64_t, 3> by_cause{};
  for (std::uint64_t i = 0; i < waits; ++i) {
    const wait_ticket ticket = fiber.claim.arm();
    fiber.epoch.store(ticket.epoch, std::memory_order_release);
    pause_for(random.below(100));
    if (random.below(8) == 0) {
      if (fiber.claim.try_disarm() == disarm_outcome::disarmed) {
        ++disarmed;
        continue;
      }
    } else {
      fiber.registers = ticket.epoch;
      if (fiber.claim.complete_park() == park_outcome::parked) {
        ++parked;
        fiber.stack.park();
      } else {
        ++requeued;
      }
    }
    const wake_cause cause = fiber.claim.finish();
    const auto who = static_cast<std::size_t>(cause) - 1;
    ++by_cause[who];
    ASSERT_EQ(fiber.gifts[who], ticket.epoch) << "what the winner did is visible";
  }
  fiber.over.store(true, std::memory_order_release);
  for (std::thread& t : claimers) t.join();
  EXPECT_EQ(wins, waits - disarmed) << "exactly one for each wait that was not disarmed";
  EXPECT_EQ(fiber.enqueued, parked) << "exactly one made each parked fiber runnable";
  std::printf("%llu parked, %llu claimed early, %llu disarmed; by waker, timer, canceller: %llu %llu %llu\n",
              static_cast<unsigned long long>(parked), static_cast<unsigned long long>(requeued),
              static_cast<unsigned long long>(disarmed), static_cast<unsigned long long>(by_cause[0]),
              static_cast<unsigned long long>(by_cause[1]), static_cast<unsigned long long>(by_cause[2]));
}

// Fibers begin waits that nobody else would end, at the moment in which they are cancelled: many at a time, for one
// heavy barrier, as a scope does it.
void race_cancellation(barrier_kind kind) {
  xoshiro256ss random(testing::test_seed());
  const std::uint64_t rounds = testing::storm_length{.usual = 500, .slow = 100, .long_run = 50'000}.now();
  struct fiber {
    wait_claim claim;
    cancel_flag flag;
    std::uint64_t enqueued = 0;  // by the canceller
  };
  constexpr std::size_t many = 500;  // so that the canceller comes in the middle
  struct scope {
    std::array<fiber, many> fibers;
    parker ended;  // where the fibers wait until all are cancelled
  };
  std::uint64_t saw = 0;
  std::uint64_t parked = 0;
  for (std::uint64_t i = 0; i < rounds; ++i) {
    scope s;
    std::thread canceller([&s, kind, pauses = random.below(1000)] {
      pause_for(pauses);
      for (fiber& f : s.fibers) f.flag.request();
      cancel_flag::settle(kind);
      for (fiber& f : s.fibers) {
        f.enqueued += f.claim.try_claim_standing(wake_cause::cancelled) == claim_outcome::won ? 1U : 0U;
      }
      s.ended.unpark();
    });
    std::array<bool, many> is_parked{};
    for (std::size_t n = 0; n < s.fibers.size(); ++n) {
      fiber& f = s.fibers[n];
      (void)f.claim.arm();
      if (f.flag.requested_after_arming(kind)) {
        ++saw;
        if (f.claim.try_disarm() == disarm_outcome::claimed) {
          EXPECT_EQ(f.claim.finish(), wake_cause::cancelled);
        }
        continue;
      }
      is_parked[n] = f.claim.complete_park() == park_outcome::parked;
      if (!is_parked[n]) {
        EXPECT_EQ(f.claim.finish(), wake_cause::cancelled);
      }
      pause_for(random.below(40));
    }
    s.ended.park();
    for (std::size_t n = 0; n < s.fibers.size(); ++n) {
      ASSERT_EQ(s.fibers[n].enqueued, is_parked[n] ? 1U : 0U) << "cancelled, and told by nobody";
      if (is_parked[n]) {
        EXPECT_EQ(s.fibers[n].claim.finish(), wake_cause::cancelled);
      }
      parked += is_parked[n] ? 1U : 0U;
    }
    canceller.join();
  }
  std::printf("%llu saw the request by themselves, %llu were parked\n", static_cast<unsigned long long>(saw),
              static_cast<unsigned long long>(parked));
}

TEST(ClaimStorm, ACancellationIsNeverOverlooked) { race_cancellation(std_atomics::barriers()); }
TEST(ClaimStorm, ACancellationIsNeverOverlookedWithFences) { race_cancellation(barrier_kind::symmetric); }

}  // namespace
}  // namespace weft::impl
