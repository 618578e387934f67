// SPDX-License-Identifier: Apache-2.0
//
// interrupting_platform — atomics that let something else happen in the middle of an operation.
//
// Another thread that runs between two steps of ours can be played by the same thread: the n-th atomic operation calls
// an action first. So a test can interrupt an operation at each of its steps by a whole other one, and needs neither
// luck nor threads. It shows one interruption at a time under sequential consistency; the storms and the model
// checker do the rest.
//
// Thread safety: none; one test, one thread.
#pragma once

#include "base/atomic.hpp"

#include <atomic>
#include <cstdint>
#include <functional>
#include <utility>

namespace weft::testing {

/// Whether, when and by what the running operation is interrupted.
class interrupter {
 public:
  /// Calls `operation`; before its n-th atomic operation (from 1 on), calls `interruption`.
  ///
  /// Returns: whether it had that many.
  template <class Operation>
  bool run(std::uint64_t n, std::function<void()> interruption, Operation&& operation) {
    pending_ = std::move(interruption);
    left_ = n;
    std::forward<Operation>(operation)();
    left_ = 0;
    return !pending_;
  }

  void step() {
    if (left_ == 0 || --left_ != 0) return;
    const std::function<void()> now = std::exchange(pending_, nullptr);
    now();
  }

 private:
  std::uint64_t left_ = 0;
  std::function<void()> pending_;
};

inline interrupter interruptions;

/// std::atomic that can be interrupted before each operation.
template <class T>
class interruptible_atomic {
 public:
  constexpr interruptible_atomic() noexcept = default;
  // NOLINTNEXTLINE(google-explicit-constructor): as std::atomic's
  constexpr interruptible_atomic(T value) noexcept : inner_(value) {}

  [[nodiscard]] T load(std::memory_order order) const { return stepped().load(order); }
  void store(T value, std::memory_order order) { stepped().store(value, order); }
  T exchange(T value, std::memory_order order) { return stepped().exchange(value, order); }
  T fetch_add(T value, std::memory_order order) { return stepped().fetch_add(value, order); }
  T fetch_sub(T value, std::memory_order order) { return stepped().fetch_sub(value, order); }
  T fetch_or(T value, std::memory_order order) { return stepped().fetch_or(value, order); }
  T fetch_and(T value, std::memory_order order) { return stepped().fetch_and(value, order); }
  bool compare_exchange_strong(T& expected, T value, std::memory_order won, std::memory_order lost) {
    return stepped().compare_exchange_strong(expected, value, won, lost);
  }
  bool compare_exchange_weak(T& expected, T value, std::memory_order won, std::memory_order lost) {
    return stepped().compare_exchange_weak(expected, value, won, lost);
  }

 private:
  [[nodiscard]] const std::atomic<T>& stepped() const {
    interruptions.step();
    return inner_;
  }
  std::atomic<T>& stepped() {
    interruptions.step();
    return inner_;
  }

  std::atomic<T> inner_{};
};

struct interrupting_platform : impl::std_atomics {
  template <class T>
  using atomic = interruptible_atomic<T>;
};
static_assert(impl::atomics_provider<interrupting_platform>);

}  // namespace weft::testing
