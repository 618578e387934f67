// SPDX-License-Identifier: Apache-2.0
//
// Workers that search and sleep over the simplest of queues, while others push: nothing may lie in a queue while a worker
// sleeps, and nobody may be woken for nothing. A wake-up that gets lost is recognised, not waited for: it is a state in
// which nothing moves any more.

#include "base/rng.hpp"
#include "event/futex_loop.hpp"
#include "sched/idle.hpp"
#include "support/scale.hpp"
#include "support/seed.hpp"
#include "sys/clock.hpp"

#include <atomic>
#include <gtest/gtest.h>
#include <memory>
#include <thread>
#include <vector>

namespace weft::impl {
namespace {

// Only its pusher pushes, by a store; anyone takes, by a compare-exchange.
class counter_queue {
 public:
  void push(std::uint64_t count = 1) noexcept {
    pushed_.store(pushed_.load(std::memory_order_relaxed) + count, std::memory_order_release);
  }
  [[nodiscard]] bool empty() const noexcept {
    return taken_.load(std::memory_order_relaxed) >= pushed_.load(std::memory_order_acquire);
  }
  // The number of the item, from 1; 0 if there is none.
  [[nodiscard]] std::uint64_t take() noexcept {
    std::uint64_t next = taken_.load(std::memory_order_relaxed);
    while (next < pushed_.load(std::memory_order_acquire)) {
      if (taken_.compare_exchange_weak(next, next + 1, std::memory_order_relaxed, std::memory_order_relaxed))
        return next + 1;
    }
    return 0;
  }

 private:
  alignas(contended_bytes) std::atomic<std::uint64_t> pushed_{0};
  alignas(contended_bytes) std::atomic<std::uint64_t> taken_{0};
};

// An event loop with a device that completes things.
class device_loop final : public event_loop {
 public:
  loop_end wait(time_point deadline, ready_batch& ready) noexcept override {
    poll(ready);
    if (!ready.empty()) return loop_end::ready;
    const loop_end end = inner_.wait(deadline, ready);
    poll(ready);
    return ready.empty() ? end : loop_end::ready;
  }
  void poll(ready_batch& ready) noexcept override {
    std::uint64_t have = completed_.load(std::memory_order_relaxed);
    for (; handed_out_ < have && !ready.full(); ++handed_out_)
      ready.push(runnable(runnable::kind::completion, this));
  }
  void interrupt() noexcept override { inner_.interrupt(); }

  void complete(std::uint64_t count) noexcept {
    completed_.fetch_add(count, std::memory_order_relaxed);
    interrupt();
  }

 private:
  futex_loop inner_;
  std::atomic<std::uint64_t> completed_{0};
  std::uint64_t handed_out_ = 0;  // whoever sits: ThreadSanitizer sees if two do
};

constexpr std::uint32_t pushers = 2;
constexpr std::uint32_t event_queue = pushers;

template <class Rules = idle_rules>
class storm {
 public:
  storm(std::uint32_t workers, std::uint32_t most_searching, barrier_kind kind)
      : idle(workers, most_searching, seat, kind), workers_(workers) {}
  storm(const storm&) = delete;
  storm& operator=(const storm&) = delete;
  ~storm() {
    idle.shut_down();
    for (std::thread& t : threads_) t.join();
  }

  // Starts the workers. Each item is given to the task, with its queue and number.
  template <class Task>
  void start(std::uint64_t seed, bool naps, Task task) {
    for (std::uint32_t w = 0; w < workers_; ++w) {
      threads_.emplace_back([this, w, naps, task, random = xoshiro256ss(seed + w)]() mutable {
        host self{this};
        bool searching = idle.try_search(w);
        for (std::uint32_t picks = 0;;) {
          if (searching && try_run(w, task)) {
            if (++picks % 16 == 0) poll();
            searching = idle.try_search(w);
            continue;
          }
          const time_point limit = naps && random.below(8) == 0
                                       ? system_clock().now() + std::chrono::microseconds(random.below(100))
                                       : never;
          if (idle.sleep(w, limit, self) == idle_end::closed) return;
          searching = true;
        }
      });
    }
  }

  [[nodiscard]] bool all_asleep() const noexcept {
    for (std::uint32_t w = 0; w < workers_; ++w) {
      if (!idle.is_asleep_approx(w)) return false;
    }
    return true;
  }
  [[nodiscard]] bool has_work() const noexcept {
    for (const counter_queue& q : queues) {
      if (!q.empty()) return true;
    }
    return false;
  }
  // Whether work lies there and nothing moves: so many workers sleep, the others are held up in tasks, nobody searches and
  // nobody was woken while we looked. Only when nobody pushes any more.
  [[nodiscard]] bool is_stuck(std::uint32_t held_up = 0) const noexcept {
    const std::uint64_t wakes = idle.wake_count();
    std::uint32_t asleep = 0;
    for (std::uint32_t w = 0; w < workers_; ++w) asleep += idle.is_asleep_approx(w) ? 1U : 0U;
    return asleep > 0 && asleep + held_up == workers_ && idle.counts_approx().searching == 0 && has_work() &&
           idle.wake_count() == wakes;
  }

  device_loop loop;
  basic_event_seat<real_platform> seat{loop};
  basic_idle<real_platform, 256, Rules> idle;
  counter_queue queues[pushers + 1];

 private:
  struct host {
    bool has_work() noexcept { return in->has_work(); }
    void deliver(ready_batch& ready) noexcept { in->deliver(ready.size()); }
    storm* in;
  };

  void deliver(std::size_t count) noexcept {
    while (delivering_.exchange(true, std::memory_order_acquire)) std::this_thread::yield();
    queues[event_queue].push(count);
    delivering_.store(false, std::memory_order_release);
  }
  void poll() noexcept {
    std::array<runnable, 8> room;
    ready_batch ready(room);
    if (!seat.try_poll(ready) || ready.empty()) return;
    deliver(ready.size());
    (void)idle.after_push(static_cast<std::uint32_t>(ready.size()));
  }
  template <class Task>
  bool try_run(std::uint32_t worker, Task& task) noexcept {
    for (std::uint32_t q = 0; q <= pushers; ++q) {
      if (const std::uint64_t item = queues[q].take(); item != 0) {
        idle.found_work(worker);
        task(q, item);
        return true;
      }
    }
    return false;
  }

  std::uint32_t workers_;
  std::atomic<bool> delivering_{false};
  std::vector<std::thread> threads_;
};

struct IdleStormTest : ::testing::TestWithParam<barrier_kind> {
  void SetUp() override {
    if (GetParam() == barrier_kind::asymmetric && std_atomics::barriers() != barrier_kind::asymmetric)
      GTEST_SKIP() << "the kernel has no membarrier(2) here";
  }
};

INSTANTIATE_TEST_SUITE_P(, IdleStormTest,
                         ::testing::Values(barrier_kind::asymmetric, barrier_kind::symmetric),
                         [](const auto& kind) {
                           return kind.param == barrier_kind::asymmetric ? "Asymmetric" : "Symmetric";
                         });

void pause_for(std::uint32_t turns) {
  for (std::uint32_t i = 0; i < turns; ++i) std_atomics::pause();
}

// Bursts, pauses, events and naps at random: every item is taken once, and none is left.
TEST_P(IdleStormTest, EveryItemIsTakenOnce) {
  xoshiro256ss random(testing::test_seed());
  constexpr auto items = testing::scaled<std::uint64_t>(200'000, 10'000);
  const std::uint64_t rounds =
      testing::storm_length{.usual = items, .slow = items, .long_run = 50'000'000}.now() / items;
  const std::uint64_t events = items / 20;
  for (std::uint64_t round = 0; round < rounds; ++round) {
    std::vector<std::vector<std::atomic<std::uint8_t>>> ledger;
    for (std::uint32_t q = 0; q <= pushers; ++q) ledger.emplace_back(q == event_queue ? events : items);
    std::atomic<std::uint64_t> taken{0};
    storm<> s(2 + random.below(3), 1 + random.below(2), GetParam());
    s.start(random(), true, [&](std::uint32_t q, std::uint64_t item) {
      ledger[q][item - 1].fetch_add(1, std::memory_order_relaxed);
      taken.fetch_add(1, std::memory_order_release);
    });
    std::vector<std::thread> sources;
    for (std::uint32_t p = 0; p < pushers; ++p) {
      sources.emplace_back([&, p, mine = random.split()]() mutable {
        for (std::uint64_t left = items; left > 0;) {
          const std::uint64_t burst =
              std::min<std::uint64_t>(left, 1 + mine.below(mine.below(8) == 0 ? 300 : 3));
          if (burst > 1 && mine.below(2) == 0) {
            s.queues[p].push(burst);
            (void)s.idle.after_push(static_cast<std::uint32_t>(burst));
          } else {
            for (std::uint64_t i = 0; i < burst; ++i) {
              s.queues[p].push();
              (void)s.idle.after_push();
            }
          }
          left -= burst;
          if (mine.below(16) == 0) pause_for(mine.below(2000));
        }
      });
    }
    sources.emplace_back([&, mine = random.split()]() mutable {
      for (std::uint64_t left = events; left > 0;) {
        const std::uint64_t burst = std::min<std::uint64_t>(left, 1 + mine.below(20));
        s.loop.complete(burst);
        left -= burst;
        pause_for(mine.below(200));
      }
    });
    for (std::thread& t : sources) t.join();
    while (taken.load(std::memory_order_acquire) < pushers * items + events) {
      ASSERT_FALSE(s.is_stuck()) << "an item lies there, and everybody sleeps";
      std::this_thread::yield();
    }
    for (const auto& queue : ledger) {
      for (const auto& count : queue) ASSERT_EQ(count.load(std::memory_order_relaxed), 1);
    }
  }
}

// One item at a time, pushed at the moment in which the worker that took the last one goes to bed: its last look and the look
// that follows the push must not miss each other.
TEST_P(IdleStormTest, NobodyFallsAsleepOverAPush) {
  xoshiro256ss random(testing::test_seed());
  const std::uint64_t pushes =
      testing::storm_length{.usual = 100'000, .slow = 5'000, .long_run = 10'000'000}.now();
  std::atomic<std::uint64_t> taken{0};
  storm<> s(1, 1, GetParam());
  s.start(random(), false,
          [&](std::uint32_t, std::uint64_t item) { taken.store(item, std::memory_order_release); });
  for (std::uint64_t i = 1; i <= pushes; ++i) {
    pause_for(random.below(12));
    s.queues[0].push();
    (void)s.idle.after_push();
    for (int spins = 0; taken.load(std::memory_order_acquire) < i; ++spins) {
      if (spins < 1000) {
        std_atomics::pause();
        continue;
      }
      ASSERT_FALSE(s.is_stuck()) << "item " << i << " lies there, and its worker sleeps";
      std::this_thread::yield();
    }
  }
}

// As many items as workers, each of which waits for all the others to have started: so each needs a worker of its own,
// and one that is asleep while an item waits is found.
TEST_P(IdleStormTest, NoItemWaitsWhileAWorkerSleeps) {
  xoshiro256ss random(testing::test_seed());
  constexpr std::uint32_t workers = 4;
  const std::uint64_t rounds = testing::storm_length{.usual = 3000, .slow = 300, .long_run = 90'000}.now();
  std::atomic<std::uint64_t> started{0};
  std::atomic<std::uint64_t> ended{0};
  std::atomic<std::uint64_t> open{0};  // tasks with a smaller number may end
  storm<> s(workers, 2, GetParam());
  s.start(random(), false, [&](std::uint32_t, std::uint64_t) {
    const std::uint64_t mine = started.fetch_add(1, std::memory_order_acq_rel) / workers;
    while (open.load(std::memory_order_acquire) <= mine) std::this_thread::yield();
    ended.fetch_add(1, std::memory_order_release);
  });
  std::atomic<std::uint64_t> round_begun{0};
  std::atomic<std::uint64_t> pushes_over{0};
  std::atomic<bool> stop{false};
  std::vector<std::thread> sources;
  for (std::uint32_t p = 0; p < pushers; ++p) {
    sources.emplace_back([&, p, mine = random.split()]() mutable {
      for (std::uint64_t seen = 0;; ++seen) {
        while (round_begun.load(std::memory_order_acquire) <= seen) {
          if (stop.load(std::memory_order_acquire)) return;
          std::this_thread::yield();
        }
        for (std::uint32_t i = 0; i < workers / pushers; ++i) {
          if (mine.below(2) == 0) pause_for(mine.below(400));
          s.queues[p].push();
          (void)s.idle.after_push();
        }
        pushes_over.fetch_add(1, std::memory_order_release);
      }
    });
  }
  bool stuck = false;
  for (std::uint64_t round = 0; round < rounds && !stuck; ++round) {
    round_begun.store(round + 1, std::memory_order_release);
    while (pushes_over.load(std::memory_order_acquire) < (round + 1) * pushers) std::this_thread::yield();
    while (started.load(std::memory_order_acquire) < (round + 1) * workers && !stuck) {
      const auto held_up = static_cast<std::uint32_t>(started.load() - ended.load());
      stuck = s.is_stuck(held_up);
      std::this_thread::yield();
    }
    open.store(round + 1, std::memory_order_release);
    if (random.below(2) == 0)
      pause_for(random.below(4000));  // sometimes all sleep before the next round, sometimes not
  }
  EXPECT_FALSE(stuck) << "an item waits, a worker sleeps, and nobody is on the way";
  open.store(~std::uint64_t{0}, std::memory_order_release);
  stop.store(true, std::memory_order_release);
  for (std::thread& t : sources) t.join();
}

// A push that finds everybody asleep wakes exactly one: neither a herd, nor the one more that "the last searcher to find
// work wakes another" would cost.
TEST_P(IdleStormTest, APushThatStandsAloneWakesExactlyOne) {
  constexpr std::uint32_t workers = 4;
  const std::uint64_t pushes = testing::storm_length{.usual = 2000, .slow = 200, .long_run = 40'000}.now();
  std::atomic<std::uint64_t> taken{0};
  storm<> s(workers, 2, GetParam());
  s.start(testing::test_seed(), false, [&](std::uint32_t, std::uint64_t) { taken.fetch_add(1); });
  for (std::uint64_t i = 0; i < pushes; ++i) {
    while (!s.all_asleep() || s.idle.counts_approx() != idle_counts{.sleeping = workers})
      std::this_thread::yield();
    ASSERT_EQ(s.idle.wake_count(), i);
    s.queues[0].push();
    (void)s.idle.after_push();
    while (taken.load() != i + 1) std::this_thread::yield();
  }
  while (!s.all_asleep()) std::this_thread::yield();
  EXPECT_EQ(s.idle.wake_count(), pushes);
}

// However pushes come, hardly more than one is woken for each, and far fewer where the workers are busy already. (That no
// push wakes anyone while somebody searches is IdleTest's.)
TEST_P(IdleStormTest, ABurstWakesHardlyMoreThanOneForEach) {
  constexpr std::uint32_t workers = 8;
  constexpr auto items = testing::scaled<std::uint64_t>(20'000, 2'000);
  const std::uint64_t rounds =
      testing::storm_length{.usual = items, .slow = items, .long_run = 400'000}.now() / items;
  std::atomic<std::uint64_t> taken{0};
  storm<> s(workers, 4, GetParam());
  s.start(testing::test_seed(), false, [&](std::uint32_t, std::uint64_t) { taken.fetch_add(1); });
  for (std::uint64_t round = 0; round < rounds; ++round) {
    while (!s.all_asleep()) std::this_thread::yield();
    const std::uint64_t before = s.idle.wake_count();
    const std::uint64_t taken_before = taken.load();
    for (std::uint64_t i = 0; i < items; ++i) {
      s.queues[0].push();
      (void)s.idle.after_push();
    }
    while (taken.load() != taken_before + items) {
      ASSERT_FALSE(s.is_stuck());
      std::this_thread::yield();
    }
    const std::uint64_t woken = s.idle.wake_count() - before;
    std::printf("%llu woken for %llu pushes\n", static_cast<unsigned long long>(woken),
                static_cast<unsigned long long>(items));
    EXPECT_LE(woken * 10, items * 11);
  }
}

// Workers come and go between sleep and shutdown; everybody ends, whenever it comes.
TEST_P(IdleStormTest, AShutdownReachesEverybody) {
  xoshiro256ss random(testing::test_seed());
  const std::uint64_t rounds = testing::storm_length{.usual = 1000, .slow = 100, .long_run = 20'000}.now();
  for (std::uint64_t round = 0; round < rounds; ++round) {
    storm<> s(4, 2, GetParam());
    s.start(random(), true, [](std::uint32_t, std::uint64_t) {});
    if (random.below(2) == 0) pause_for(random.below(5000));
    s.queues[0].push();
    (void)s.idle.after_push();
    if (random.below(2) == 0) pause_for(random.below(5000));
  }  // the destructor shuts down and joins
}

}  // namespace
}  // namespace weft::impl
