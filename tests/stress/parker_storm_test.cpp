// SPDX-License-Identifier: Apache-2.0
//
// Threads that park and are unparked as fast as they can, alone and around the one seat of an event loop: no token is
// lost, what its giver did is visible, and never do two sit.

#include "base/rng.hpp"
#include "event/futex_loop.hpp"
#include "event/parker.hpp"
#include "support/scale.hpp"
#include "support/seed.hpp"
#include "sys/clock.hpp"

#include <array>
#include <atomic>
#include <gtest/gtest.h>
#include <memory>
#include <thread>
#include <vector>

namespace weft::impl {
namespace {

// What a backend keeps to itself, unprotected but for the seat.
class fragile_loop final : public event_loop {
 public:
  loop_end wait(time_point deadline, ready_batch& ready) noexcept override {
    ++visits_;
    const loop_end end = inner_.wait(deadline, ready);
    ++visits_;
    return end;
  }
  void poll(ready_batch& /*ready*/) noexcept override { visits_ += 2; }
  void interrupt() noexcept override { inner_.interrupt(); }

  [[nodiscard]] std::uint64_t visits() const noexcept { return visits_; }

 private:
  futex_loop inner_;
  std::uint64_t visits_ = 0;  // plain: ThreadSanitizer sees if two sit
};

void park(parker& p, time_point deadline = never) {
  std::array<runnable, 4> room;
  ready_batch ready(room);
  while (p.park_until(deadline, ready) != park_end::notified) {
  }
}

// Two threads hand a plain number to and fro: each turn is one token.
void play_ping_pong(parker& a, parker& b, std::uint64_t turns) {
  std::uint64_t ball = 0;
  std::thread other([&] {
    for (std::uint64_t i = 0; i < turns; ++i) {
      park(b);
      EXPECT_EQ(ball, 2 * i + 1);
      ++ball;
      a.unpark();
    }
  });
  for (std::uint64_t i = 0; i < turns; ++i) {
    ++ball;
    b.unpark();
    park(a);
    EXPECT_EQ(ball, 2 * i + 2);
  }
  other.join();
}

TEST(ParkerStorm, PingPong) {
  const std::uint64_t turns =
      testing::storm_length{.usual = 50'000, .slow = 3'000, .long_run = 2'000'000}.now();
  parker a;
  parker b;
  play_ping_pong(a, b, turns);
}

TEST(ParkerStorm, PingPongAroundOneSeat) {
  const std::uint64_t turns =
      testing::storm_length{.usual = 50'000, .slow = 3'000, .long_run = 2'000'000}.now();
  fragile_loop loop;
  event_seat seat(loop);
  parker a(seat);
  parker b(seat);
  play_ping_pong(a, b, turns);
}

// Many give tokens to one, which may merge; what they announced before must be found.
TEST(ParkerStorm, NoTokenIsLostAmongMany) {
  xoshiro256ss random(testing::test_seed());
  const std::uint64_t each =
      testing::storm_length{.usual = 100'000, .slow = 10'000, .long_run = 20'000'000}.now();
  constexpr std::uint64_t givers = 3;
  fragile_loop loop;
  event_seat seat(loop);
  parker taker(seat);
  std::atomic<std::uint64_t> announced{0};
  std::vector<std::thread> threads;
  for (std::uint64_t g = 0; g < givers; ++g) {
    threads.emplace_back([&, mine = random.split()]() mutable {
      for (std::uint64_t i = 0; i < each; ++i) {
        announced.fetch_add(1, std::memory_order_relaxed);
        taker.unpark();
        if (mine.below(64) == 0) std::this_thread::yield();
      }
    });
  }
  std::atomic<bool> all_found{false};
  std::thread reader([&] {
    for (std::uint64_t found = 0; found < givers * each;) {
      park(taker);
      found += announced.exchange(0, std::memory_order_relaxed);
    }
    all_found.store(true, std::memory_order_release);
  });
  for (std::thread& t : threads) t.join();
  while (!all_found.load(std::memory_order_acquire)) {
    // Whoever sleeps with something announced, and nobody left to wake it, sleeps forever.
    const bool lost = taker.is_asleep_approx() && announced.load() > 0;
    EXPECT_FALSE(lost) << "a token was lost";
    if (lost) taker.unpark();
    std::this_thread::yield();
  }
  reader.join();
}

// Workers sleep with and without deadlines, in the seat or not; others poll in between, and all are woken at random.
TEST(ParkerStorm, NeverDoTwoSit) {
  xoshiro256ss random(testing::test_seed());
  const std::uint64_t each =
      testing::storm_length{.usual = 20'000, .slow = 1'000, .long_run = 2'000'000}.now();
  constexpr std::size_t threads = 4;
  fragile_loop loop;
  event_seat seat(loop);
  std::vector<std::unique_ptr<parker>> parkers;
  for (std::size_t i = 0; i < threads; ++i) parkers.push_back(std::make_unique<parker>(seat));
  std::vector<std::thread> running;
  for (std::size_t me = 0; me < threads; ++me) {
    running.emplace_back([&, me, mine = random.split()]() mutable {
      std::array<runnable, 4> room;
      for (std::uint64_t i = 0; i < each; ++i) {
        parkers[mine.below(threads)]->unpark();
        ready_batch ready(room);
        if (mine.below(4) == 0) (void)seat.try_poll(ready);
        (void)parkers[me]->park_until(system_clock().now() + std::chrono::microseconds(mine.below(20)),
                                      ready);
      }
    });
  }
  for (std::thread& t : running) t.join();
  EXPECT_TRUE(seat.try_sit());
  EXPECT_EQ(loop.visits() % 2, 0U);
}

}  // namespace
}  // namespace weft::impl
