// SPDX-License-Identifier: Apache-2.0
//
// A team of workers that send and receive at random, with outsiders that send and help: every value arrives exactly
// once, and nothing is lost when everything is full.

#include "base/rng.hpp"
#include "support/emulation.hpp"
#include "support/scale.hpp"
#include "support/seed.hpp"

#include <weft/backoff.hpp>
#include <weft/deque_channel.hpp>
#include <weft/detail/mpmc_ring.hpp>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <gtest/gtest.h>
#include <optional>
#include <thread>
#include <type_traits>
#include <vector>

namespace weft {
namespace {

using impl::xoshiro256ss;

// Values a sender and storm; and storms a test.
constexpr std::uint64_t values_each = testing::scaled<std::uint64_t>(300'000, 40'000);
std::uint64_t storm_count() {
  return testing::storm_length{.usual = 300'000, .slow = 40'000, .long_run = 6'000'000}.now() / values_each;
}

// Plain memory: whoever receives a value alone may touch its line. `sent` is written before, `received` after.
struct line {
  std::uint64_t sent = 0;
  std::uint32_t received = 0;
};

class ledger {
 public:
  explicit ledger(std::size_t values) : lines_(values) {}

  void note_sent(std::uint64_t value) { lines_[value].sent = ~value; }

  void note_received(std::uint64_t value) {
    line& l = lines_[value];
    if (l.sent != ~value) unseen_.fetch_add(1, std::memory_order_relaxed);
    ++l.received;
    received_.fetch_add(1, std::memory_order_relaxed);
  }

  [[nodiscard]] bool complete() const { return received_.load(std::memory_order_relaxed) >= lines_.size(); }

  void expect_exactly_once() const {
    EXPECT_EQ(unseen_.load(), 0U) << "receivers did not see what was done before the send";
    std::size_t wrong = 0;
    for (const line& l : lines_) wrong += l.received != 1 ? 1 : 0;
    EXPECT_EQ(wrong, 0U) << "values were lost or doubled";
  }

 private:
  std::vector<line> lines_;
  std::atomic<std::uint64_t> unseen_{0};
  std::atomic<std::uint64_t> received_{0};
};

// Sends its share of values and receives whatever comes. `End` is a worker or the channel itself.
template <class End>
void send_and_receive(End& end, ledger& book, std::uint64_t first, std::uint64_t last, xoshiro256ss random) {
  backoff pause;
  const auto receive_one = [&] {
    const std::optional<std::uint64_t> value = end.try_receive();
    if (value) book.note_received(*value);
    return value.has_value();
  };
  for (std::uint64_t next = first; next < last;) {
    for (std::uint64_t burst = 1 + random.below(20); burst > 0 && next < last; --burst) {
      book.note_sent(next);
      while (!end.try_send(next)) receive_one();  // full: make room
      ++next;
    }
    for (std::uint64_t n = random.below(24); n > 0 && receive_one(); --n) {
    }
  }
  while (!book.complete()) {
    if (receive_one()) {
      pause.reset();
    } else {
      pause.snooze();
    }
  }
}

template <class Barriers>
struct DequeChannelStormTest : ::testing::Test {
  void SetUp() override {
    if (std::is_same_v<Barriers, barriers::symmetric> && !testing::keeps_seq_cst) {
      GTEST_SKIP() << "the emulator does not keep sequential consistency";
    }
  }
};
using both_kinds = ::testing::Types<barriers::asymmetric, barriers::symmetric>;
TYPED_TEST_SUITE(DequeChannelStormTest, both_kinds);

// Small queues, so that everything overflows, fills up and runs dry all the time.
TYPED_TEST(DequeChannelStormTest, EveryValueArrivesExactlyOnce) {
  xoshiro256ss random(testing::test_seed());
  for (std::uint64_t left = storm_count(); left > 0; --left) {
    for (const std::size_t team : {std::size_t{1}, std::size_t{3}}) {
      deque_channel<std::uint64_t, TypeParam> channel(
          team, {.local_capacity = 8, .global_capacity = 16, .global_interval = 7});
      ledger book((team + 1) * values_each);
      std::vector<std::thread> threads;
      for (std::size_t i = 0; i < team; ++i) {
        threads.emplace_back([&, i, mine = random.split()] {
          send_and_receive(channel.worker_at(i), book, i * values_each, (i + 1) * values_each, mine);
        });
      }
      send_and_receive(channel, book, team * values_each, (team + 1) * values_each, random.split());
      for (std::thread& t : threads) t.join();
      book.expect_exactly_once();
      EXPECT_EQ(channel.size_approx(), 0U);
    }
  }
}

// The global queue alone, as small as it can be: senders and receivers are always at each other's heels.
TEST(MpmcRingStorm, EveryItemArrivesExactlyOnce) {
  constexpr std::uint64_t senders = 2;
  for (std::uint64_t left = storm_count(); left > 0; --left) {
    for (const std::size_t capacity : {std::size_t{2}, std::size_t{64}}) {
      detail::mpmc_ring<std::uint64_t, detail::std_atomics> ring(capacity);
      ledger book(senders * values_each);
      std::vector<std::thread> threads;
      for (std::uint64_t s = 0; s < senders; ++s) {
        threads.emplace_back([&, s] {
          for (std::uint64_t i = s * values_each; i < (s + 1) * values_each; ++i) {
            book.note_sent(i);
            while (!ring.try_push(i)) std::this_thread::yield();
          }
        });
        threads.emplace_back([&] {
          std::vector<std::uint64_t> newest(senders, 0);
          while (!book.complete()) {
            const std::optional<std::uint64_t> got = ring.try_pop();
            if (!got) {
              std::this_thread::yield();
              continue;
            }
            book.note_received(*got);
            std::uint64_t& before = newest[*got / values_each];
            EXPECT_GE(*got, before) << "of one sender's items, the older one comes first";
            before = *got + 1;
          }
        });
      }
      for (std::thread& t : threads) t.join();
      book.expect_exactly_once();
    }
  }
}

}  // namespace
}  // namespace weft
