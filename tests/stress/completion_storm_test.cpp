// SPDX-License-Identifier: Apache-2.0
//
// Children that end while their parents wait or look, and parents that free the record, and what they waited with, at
// once: AddressSanitizer sees whoever touches them later.

#include "base/rng.hpp"
#include "event/parker.hpp"
#include "sched/completion.hpp"
#include "support/scale.hpp"
#include "support/seed.hpp"

#include <atomic>
#include <gtest/gtest.h>
#include <memory>
#include <thread>
#include <vector>

namespace weft::impl {
namespace {

struct alignas(8) waiting_thread {
  parker sleep;
  std::uint64_t number = 0;  // what the finisher reads of it
};

struct child_record {
  basic_completion<real_platform, waiting_thread> end;
  std::uint64_t number = 0;
  std::uint64_t result = 0;
};

void pause_for(std::uint32_t turns) {
  for (std::uint32_t i = 0; i < turns; ++i) std_atomics::pause();
}

// Runs children as they come in; null means that no more will.
void finish_children(std::atomic<child_record*>& mailbox, xoshiro256ss random) {
  for (;;) {
    child_record* const child = mailbox.exchange(nullptr, std::memory_order_acquire);
    if (child == nullptr) {
      std::this_thread::yield();
      continue;
    }
    const std::uint64_t number = child->number;
    if (number == 0) return;  // the last one, which belongs to nobody
    pause_for(random.below(100));
    child->result = number * 3;
    if (waiting_thread* const waiter = child->end.finish(); waiter != nullptr) {
      EXPECT_EQ(waiter->number, number) << "what the waiter did is visible";
      waiter->sleep.unpark();
    }
  }
}

TEST(CompletionStorm, TheRecordIsFreedAtOnce) {
  xoshiro256ss seeds(testing::test_seed());
  const std::uint64_t children =
      testing::storm_length{.usual = 100'000, .slow = 10'000, .long_run = 10'000'000}.now();
  constexpr int pairs = 2;
  std::vector<std::thread> threads;
  for (int p = 0; p < pairs; ++p) {
    threads.emplace_back([children, random = seeds.split()]() mutable {
      std::atomic<child_record*> mailbox{nullptr};
      std::thread finisher([&mailbox, mine = random.split()] { finish_children(mailbox, mine); });
      std::uint64_t waited = 0;
      for (std::uint64_t i = 1; i <= children; ++i) {
        auto record = std::make_unique<child_record>();
        record->number = i;
        mailbox.store(record.get(), std::memory_order_release);
        pause_for(random.below(150));
        if (random.below(3) == 0) {
          while (!record->end.is_done()) std::this_thread::yield();
        } else {
          waiting_thread self;
          self.number = i;
          if (record->end.begin_wait(self) == wait_duty::wait) {
            ++waited;
            self.sleep.park();
          }
        }  // what we waited with is gone, and so is the record below
        ASSERT_EQ(record->result, i * 3) << "what the child did is visible";
      }
      child_record last;
      mailbox.store(&last, std::memory_order_release);
      finisher.join();
      EXPECT_GT(waited, 0U);
    });
  }
  for (std::thread& t : threads) t.join();
}

}  // namespace
}  // namespace weft::impl
