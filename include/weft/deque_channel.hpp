// SPDX-License-Identifier: Apache-2.0
//
// deque_channel — passes small values among a team of workers: a deque for each, and a queue for all.
//
// What a worker sends goes into its own deque, where it gets it back at the price of a few nanoseconds, newest first.
// When the deque is full, and for threads that are not of the team, there is a global queue. A worker that has nothing
// left looks into the global queue, and then steals from the others.
//
//     weft::deque_channel<job*> channel(2);                      // a team of two
//
//     auto& me = channel.worker_at(0);                           // by the thread that is worker 0
//     if (!me.try_send(next)) run(next);                         // everything is full: do it yourself
//     while (std::optional<job*> j = me.try_receive()) run(*j);  // own deque, then global queue, then stealing
//
//     if (!channel.try_send(other)) run(other);                  // by any other thread
//
// Use it as the heart of a thread pool. Both parts are bounded, and all memory is allocated by the constructor. Values
// are trivially copyable, up to 64 bytes; those that are in the channel when it is destroyed are forgotten.
//
// It does not wait: combine it with weft::backoff, or with a way to be woken. The latter takes a fence on both sides,
// or a value and a sleeper can miss each other:
//
//     asleep = true;                                             // who is about to sleep
//     std::atomic_thread_fence(std::memory_order_seq_cst);
//     if (auto j = me.try_receive()) ... else sleep();           // looks once more, then sleeps
//
//     sent = me.try_send(next);                                  // who sends
//     std::atomic_thread_fence(std::memory_order_seq_cst);
//     if (asleep) wake();
//
// The deques are lock-free. The global queue is not: a thread that loses its processor in the middle of a send hides
// what others send to the queue after it until it goes on, and one in the middle of a receive can make it look full.
#pragma once

#include <weft/deque.hpp>
#include <weft/detail/assert.hpp>
#include <weft/detail/atomics.hpp>
#include <weft/detail/chase_lev.hpp>
#include <weft/detail/mpmc_ring.hpp>
#include <weft/detail/words.hpp>
#include <weft/steal_result.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <vector>

namespace weft {

/// The sizes of a deque_channel.
struct deque_channel_options {
  std::size_t local_capacity = 256;    ///< values in each worker's deque; rounded up to a power of two
  std::size_t global_capacity = 4096;  ///< values in the global queue; rounded up to a power of two
  /// Every so many receives, a worker looks into the global queue first: one that never runs out of values of its own
  /// would otherwise let those wait for ever. 0: never.
  std::uint64_t global_interval = 61;
};

/// A channel for a team of workers. `Barriers` is what their deques use, see weft::deque; `Platform` is for weft's own
/// tests.
///
/// Thread safety: the channel itself, any thread; each worker, one thread at a time. Destroyed when nobody uses it.
/// Ordering:  what was done before a value was sent is visible to whoever has received it.
template <class T, class Barriers = barriers::asymmetric, class Platform = detail::std_atomics>
class deque_channel {
  static_assert(
      detail::queueable<T>,
      "a deque_channel passes trivially copyable values of up to 64 bytes: send a pointer to what is larger");

 public:
  /// One end of the channel: the deque of a worker, with what it needs to look elsewhere.
  ///
  /// Thread safety: one thread at a time; to hand a worker over to another thread, synchronise by other means.
  class worker {
   public:
    worker(const worker&) = delete;
    worker& operator=(const worker&) = delete;
    ~worker() = default;

    /// Sends a value to this worker's own deque or, if that is full, to the global queue.
    ///
    /// Returns:   false if both are full, or the global queue looks full (see above); then nothing has changed.
    /// Waits:     never.
    [[nodiscard]] bool try_send(const T& value) noexcept {
      return local_.try_push_bounded(value) || channel_.global_.try_push(value);
    }

    /// Receives a value: the newest of its own, or the oldest of the global queue, or the oldest of another worker.
    /// Every so many times the global queue comes first (deque_channel_options::global_interval).
    ///
    /// Returns:   the value, or nullopt if it has found nothing in any of these places, or others were faster several
    ///            times. Something may have been sent to one of them since, or be hidden in the global queue (see above).
    /// Waits:     never.
    [[nodiscard]] std::optional<T> try_receive() noexcept {
      std::optional<T> value;
      if (--until_global_ == 0) value = receive_global_first();
      if (!value) value = local_.pop();
      if (!value) value = channel_.global_.try_pop();
      if (!value) value = channel_.steal(next_victim_, this);
      return value;
    }

    /// How many values its own deque holds, or held a moment ago.
    ///
    /// Thread safety: any thread.
    [[nodiscard]] std::size_t size_approx() const noexcept { return local_.size_approx(); }

   private:
    friend class deque_channel;
    worker(deque_channel& channel, std::size_t index, std::size_t capacity)
        : channel_(channel), local_(capacity), next_victim_(index), until_global_(channel.global_interval_) {}

    [[nodiscard, gnu::noinline]] std::optional<T> receive_global_first() noexcept {
      until_global_ = channel_.global_interval_;
      return channel_.global_.try_pop();
    }

    // Constant.
    deque_channel& channel_;
    // The worker's end by its thread, the other end by anyone.
    detail::chase_lev<T, Platform, Barriers> local_;
    // The worker's thread only.
    std::size_t next_victim_;     // where it last found something to steal
    std::uint64_t until_global_;  // receives until the global queue comes first
  };

  /// A channel for so many workers.
  ///
  /// Throws:    std::bad_alloc; std::length_error for more workers than fit into memory.
  explicit deque_channel(std::size_t workers, const deque_channel_options& options = {})
      : global_interval_(options.global_interval != 0 ? options.global_interval
                                                      : std::numeric_limits<std::uint64_t>::max()),
        global_(options.global_capacity) {
    workers_.reserve(workers);
    for (std::size_t i = 0; i < workers; ++i) {
      workers_.push_back(std::unique_ptr<worker>(new worker(*this, i, options.local_capacity)));
    }
  }

  deque_channel(const deque_channel&) = delete;
  deque_channel& operator=(const deque_channel&) = delete;
  ~deque_channel() = default;

  /// A worker's end; `index` is less than worker_count().
  [[nodiscard]] worker& worker_at(std::size_t index) noexcept {
    WEFT_CHECK(index < workers_.size(), "a deque_channel was asked for a worker that it does not have");
    return *workers_[index];
  }

  /// For how many workers it was made.
  [[nodiscard]] std::size_t worker_count() const noexcept { return workers_.size(); }

  /// Sends a value to the global queue.
  ///
  /// Returns:   false if that is full, or looks full (see the top of this file); then nothing has changed.
  /// Waits:     never.
  /// Thread safety: any thread.
  [[nodiscard]] bool try_send(const T& value) noexcept { return global_.try_push(value); }

  /// Receives a value from the global queue or, if that is empty, from any worker: for threads that help out.
  ///
  /// Returns:   as worker::try_receive().
  /// Waits:     never.
  /// Thread safety: any thread.
  [[nodiscard]] std::optional<T> try_receive() noexcept {
    if (const std::optional<T> value = global_.try_pop()) return value;
    if (workers_.empty()) return std::nullopt;
    // relaxed: only spreads helpers over the workers.
    std::size_t first = next_helped_.fetch_add(1, std::memory_order_relaxed) % workers_.size();
    return steal(first, nullptr);
  }

  /// How many values are in the channel, or were a moment ago.
  ///
  /// Thread safety: any thread.
  [[nodiscard]] std::size_t size_approx() const noexcept {
    std::size_t sum = global_.size_approx();
    for (const std::unique_ptr<worker>& w : workers_) sum += w->size_approx();
    return sum;
  }

 private:
  // Tries each worker but `thief`, the one at `first` first; leaves in `first` where it found something. A lost race
  // means that there was something, so it goes round again; but not without end, since each round costs a barrier for
  // each that seems to have something.
  [[nodiscard]] std::optional<T> steal(std::size_t& first, const worker* thief) noexcept {
    bool lost_race = true;
    for (int round = 0; lost_race && round < most_rounds; ++round) {
      lost_race = false;
      for (std::size_t i = 0; i < workers_.size(); ++i) {
        const std::size_t index = (first + i) % workers_.size();
        worker& victim = *workers_[index];
        if (&victim == thief) continue;
        const steal_result<T> stolen = victim.local_.steal();
        if (stolen) {
          first = index;
          return *stolen;
        }
        lost_race |= stolen.outcome() == steal_outcome::lost_race;
      }
    }
    return std::nullopt;
  }

  static constexpr int most_rounds = 4;

  const std::uint64_t global_interval_;                             // constant
  std::vector<std::unique_ptr<worker>> workers_;                    // constant once made
  detail::mpmc_ring<T, Platform> global_;                           // any thread
  typename Platform::template atomic<std::size_t> next_helped_{0};  // any thread
};

}  // namespace weft
