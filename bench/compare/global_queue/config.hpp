// SPDX-License-Identifier: Apache-2.0
//
// Q1 and Q2: one runnable through a queue that others may push to, in nanoseconds.
//
// A queue passes pointers to items of one cache line; who pushes writes into the item and who takes reads it, since
// a task is touched on both sides. Items are used again in turn, `window` of them.
//
// One thread: variant `one` pushes one and takes one; `batch` pushes 64 one after the other and takes them by as few
// calls as the queue offers. Two threads: one pushes and the other takes, at most `window` behind; `one` takes singly,
// `batch` up to 32 at a time.
#pragma once

#include "support/program.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <thread>

namespace weft::bench::queueing {

inline constexpr std::size_t window = 4096;
inline constexpr std::size_t burst = 64;
inline constexpr std::size_t most_at_a_time = 32;

/// What an item holds, whatever a queue needs before it.
template <class Base>
struct alignas(64) item_with : Base {
  std::uint64_t number = 0;
};

/// Makes the compiler believe that the value is needed.
inline void use(std::uint64_t value) { asm volatile("" : : "r"(value)); }

/// One kind of queue under test. `Queue` has an `item` (an item_with<...>), push(item&), and take(most, f), which calls f
/// for up to `most` items and returns how many; 0 when it found none.
template <class Queue>
class contest {
  using item = typename Queue::item;

 public:
  explicit contest(bool batched) : batched_(batched) {}

  void one_thread(std::uint64_t count) {
    const std::size_t group = batched_ ? burst : 1;
    for (std::uint64_t sent = 0; sent < count; sent += group) {
      for (std::size_t i = 0; i < group; ++i) push(sent + i);
      for (std::size_t taken = 0; taken < group;) taken += queue_.take(group, read);
    }
  }

  /// Sends `count` to the taker, and waits until it has them all.
  void to_the_taker(std::uint64_t count) {
    for (std::uint64_t i = 0; i < count; ++i) {
      if (sent_ - known_taken_ == window) wait_for(sent_ - window + 1);
      push(sent_++);
    }
    wait_for(sent_);
  }

  /// The other thread.
  void take_until_stopped() {
    const std::size_t most = batched_ ? most_at_a_time : 1;
    std::uint64_t taken = 0;
    while (!stop_.load(std::memory_order_relaxed)) {
      const std::size_t got = queue_.take(most, read);
      if (got == 0) continue;
      taken += got;
      taken_.store(taken, std::memory_order_release);
    }
  }
  void stop() { stop_.store(true, std::memory_order_relaxed); }

 private:
  static constexpr auto read = [](const item& one) { use(one.number); };

  void push(std::uint64_t number) {
    item& one = items_[number % window];
    one.number = number;
    queue_.push(one);
  }

  void wait_for(std::uint64_t taken) {
    while (known_taken_ < taken) known_taken_ = taken_.load(std::memory_order_acquire);
  }

  std::array<item, window> items_;
  Queue queue_;
  bool batched_;
  std::uint64_t sent_ = 0;
  std::uint64_t known_taken_ = 0;
  alignas(128) std::atomic<std::uint64_t> taken_{0};
  alignas(128) std::atomic<bool> stop_{false};
};

/// Measures what the command line asks for.
template <class Queue>
void run(const options& opts, const char* workload, const char* system, const char* version) {
  if (opts.workload != workload) refuse("unknown workload", opts.workload);
  if (opts.variant != "one" && opts.variant != "batch") refuse("unknown variant", opts.variant);
  if (opts.threads > 2)
    refuse("this workload runs on one or two threads, not on", std::to_string(opts.threads));
  static contest<Queue> field(opts.variant == "batch");  // too large for a stack
  double ns = 0;
  if (opts.threads == 1) {
    ns = ns_per_iteration(opts, [&](std::uint64_t count) { field.one_thread(count); });
  } else {
    std::thread taker([&] { field.take_until_stopped(); });
    ns = ns_per_iteration(opts, [&](std::uint64_t count) { field.to_the_taker(count); });
    field.stop();
    taker.join();
  }
  report(ns, "ns", system, version);
}

}  // namespace weft::bench::queueing
