// SPDX-License-Identifier: Apache-2.0
//
// flow — producers that push numbered runnables into a queue as long as they like, and what must be true of them when
// they come out: each exactly once, and those of one producer in their order.
//
// A producer has few runnables and uses one again as soon as it has been accounted for, so that the same addresses
// come by all the time: that is what breaks queues that mistake an address for an identity.
#pragma once

#include "base/rng.hpp"
#include "queue/run_batch.hpp"
#include "support/ledger.hpp"
#include "sys/platform.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <thread>
#include <vector>

namespace weft::testing {

/// A runnable on its way from a producer to whoever takes it.
struct flowing : impl::run_link<impl::default_platform> {
  // What it carries; written by the producer while it is idle, read by the taker: the queue must order the two.
  std::size_t producer = 0;
  std::uint64_t number = 0;
  std::atomic<bool> on_its_way{false};

  [[nodiscard]] impl::runnable word() { return {impl::runnable::kind::task, this}; }
  [[nodiscard]] static flowing& of(impl::runnable word) { return *static_cast<flowing*>(word.address()); }
};

/// One thread's stock of runnables.
class producer {
 public:
  producer(std::size_t id, std::size_t stock, std::uint64_t seed) : id_(id), stock_(stock), random_(seed) {}

  /// Pushes `count` runnables, one by one and in batches of up to `most`, until done or told to stop.
  template <class Queue, class Stop>
  void run(Queue& queue, std::uint64_t count, std::uint32_t most, Stop&& stop) {
    while (sent_ < count && !stop()) {
      impl::run_batch batch;
      const std::uint64_t wanted = 1 + random_.below(most);
      while (batch.size() < wanted && sent_ < count) {
        flowing* const idle = next_idle();
        if (idle == nullptr) break;
        idle->producer = id_;
        idle->number = sent_++;
        idle->on_its_way.store(true, std::memory_order_relaxed);
        batch.push_back(idle->word());
      }
      if (batch.empty()) {
        std::this_thread::yield();  // all are on their way: let the takers run
      } else if (batch.size() == 1) {
        queue.push(batch.pop_front());
      } else {
        queue.push(std::move(batch));
      }
    }
  }

  [[nodiscard]] std::uint64_t sent() const { return sent_; }

 private:
  flowing* next_idle() {
    for (std::size_t tried = 0; tried < stock_.size(); ++tried) {
      flowing& candidate = stock_[next_++ % stock_.size()];
      // acquire: the taker has read what it carries. Pairs with the release in taker::account().
      if (!candidate.on_its_way.load(std::memory_order_acquire)) return &candidate;
    }
    return nullptr;
  }

  std::size_t id_;
  std::vector<flowing> stock_;
  std::size_t next_ = 0;
  std::uint64_t sent_ = 0;
  impl::xoshiro256ss random_;
};

/// One thread's account of what it has taken.
class taker {
 public:
  taker(ledger& faults, std::size_t producers, bool in_order = true)
      : faults_(faults), in_order_(in_order), last_(producers, -1) {}

  void account(impl::run_batch batch) {
    while (const impl::runnable next = batch.pop_front()) account(flowing::of(next));
  }
  [[nodiscard]] std::uint64_t taken() const { return taken_; }

 private:
  void account(flowing& one) {
    std::int64_t& last = last_.at(one.producer);
    const auto number = static_cast<std::int64_t>(one.number);
    faults_.check(!in_order_ || number > last, "those of one producer came out of order");
    last = number;
    ++taken_;
    const bool first_time = one.on_its_way.exchange(false, std::memory_order_release);
    faults_.check(first_time, "one came out twice");
  }

  ledger& faults_;
  bool in_order_;
  std::vector<std::int64_t> last_;  // the number of the last one, by producer
  std::uint64_t taken_ = 0;
};

}  // namespace weft::testing
