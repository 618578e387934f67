// SPDX-License-Identifier: Apache-2.0
//
// Two workers that share work by a given scheme, as much of a scheduler as the question needs.
#pragma once

#include "base/runnable.hpp"
#include "compare/stealing/records.hpp"

#include <atomic>
#include <cstdint>
#include <thread>

namespace weft::bench::stealing {

using impl::runnable;

template <class Scheme>
class worker {
 public:
  explicit worker(int number) : scheme_(number) {}

  /// Says who may be robbed. Before either of them works.
  void meet(worker& other) { other_ = &other; }

  /// Adds a task.
  void spawn(void (*run)(record&), std::uint64_t argument) {
    record& made = records_.get();
    made.run = run;
    made.home = &records_;
    made.argument = argument;
    deque.push(runnable(runnable::kind::task, &made));
    deque.after_push();
  }

  /// Runs everything in the deque.
  void run_own() {
    while (const runnable next = deque.pop()) {
      deque.between();
      if (const void* const later = deque.coming()) __builtin_prefetch(later);
      auto& task = *static_cast<record*>(next.address());
      task.run(task);
      ++finished_;
      records_.put(task, *task.home);
    }
  }

  /// Tries to get something from the other worker.
  template <class Stop>
  std::uint32_t rob(Stop&& stop) {
    settle_accounts();
    return scheme_.rob(other_->deque, deque, stop);
  }

  /// Runs its own and the other's until stop() says true.
  template <class Stop>
  void work_until(Stop&& stop) {
    for (;;) {
      run_own();
      if (stop()) return;
      if (other_ != nullptr) rob(stop);
    }
  }

  [[nodiscard]] std::uint64_t finished_here() const { return finished_; }
  /// For the other worker. It is told when this one has nothing left, not at every task.
  [[nodiscard]] std::uint64_t finished_published() const {
    return published_.load(std::memory_order_acquire);
  }

  /// Tells the other worker what it waits for; only if there is news, or the line would never come to rest.
  void settle_accounts() {
    if (published_.load(std::memory_order_relaxed) == finished_) return;
    records_.flush(other_->records_);
    published_.store(finished_, std::memory_order_release);
  }

  typename Scheme::deque deque;

 private:
  record_pool records_;
  Scheme scheme_;
  worker* other_ = nullptr;
  std::uint64_t finished_ = 0;
  alignas(128) std::atomic<std::uint64_t> published_{0};
};

/// Worker 0, which is the caller's thread, and perhaps worker 1, which lives by theft.
template <class Scheme>
class crew {
 public:
  explicit crew(int threads) {
    if (threads < 2) return;
    first_.meet(second_);
    second_.meet(first_);
    thread_ =
        std::thread([this] { second_.work_until([this] { return stop_.load(std::memory_order_relaxed); }); });
  }
  crew(const crew&) = delete;
  crew& operator=(const crew&) = delete;
  ~crew() {
    stop_.store(true, std::memory_order_relaxed);
    if (thread_.joinable()) thread_.join();
  }

  [[nodiscard]] worker<Scheme>& first() { return first_; }

  /// All tasks that were ever finished, as worker 0 knows.
  [[nodiscard]] std::uint64_t finished() const {
    return first_.finished_here() + second_.finished_published();
  }

 private:
  worker<Scheme> first_{0};
  worker<Scheme> second_{1};
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

}  // namespace weft::bench::stealing
