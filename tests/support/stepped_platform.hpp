// SPDX-License-Identifier: Apache-2.0
//
// stepped_platform — a Platform on which a test acts between any two steps of the code under test, on one thread.
//
// An operation is run once for each of its steps (atomic operations, barriers, sleeps); at the n-th, the test's own
// act comes in between, as another thread's could: that is every interleaving with one preemption, the same each time. A
// thread that goes to sleep runs the act for that, and if nobody has woken it then, it would sleep forever: the test is
// told, and the sleep ends as by a deadline. Memory is sequentially consistent: orders are the model checker's business.
#pragma once

#include "base/atomic.hpp"
#include "sys/futex.hpp"

#include <cstdint>
#include <functional>
#include <set>
#include <utility>
#include <vector>

namespace weft::testing {

/// The script of one run. One test at a time.
class steps {
 public:
  /// Forgets everything.
  static void reset() { state() = {}; }

  /// The n-th step from now on (from 0) is preceded by the act.
  static void interrupt_at(int n, std::function<void()> act) {
    state().at = n;
    state().act = std::move(act);
  }
  /// The operation under test is over: no act any more. Returns whether it was run.
  static bool end() {
    state().over = true;
    return state().act == nullptr;
  }

  /// The next one to fall asleep runs this first; further ones the further ones.
  static void when_asleep(std::function<void()> act) { state().sleeps.push_back(std::move(act)); }

  /// Runs when somebody would sleep forever from now on.
  static void when_stuck(std::function<void()> act) { state().when_stuck = std::move(act); }
  /// How many would have slept forever.
  [[nodiscard]] static int stuck() { return state().stuck; }
  /// How many were woken by a call.
  [[nodiscard]] static int wakes() { return state().wakes; }
  /// Whether an atomic was used after its end.
  [[nodiscard]] static bool touched_dead() { return state().touched_dead; }

  static void step() {
    script& now = state();
    if (now.over || now.act == nullptr || now.at-- != 0) return;
    const std::function<void()> act = std::exchange(now.act, nullptr);
    act();
  }
  static bool run_sleep() {
    script& now = state();
    if (now.next_sleep == now.sleeps.size()) return false;
    const std::function<void()> act = now.sleeps[now.next_sleep++];
    act();
    return true;
  }
  static void count_stuck() {
    ++state().stuck;
    if (state().when_stuck) state().when_stuck();
  }
  static void count_wake() { ++state().wakes; }
  static void born(const void* atomic) { state().alive.insert(atomic); }
  static void died(const void* atomic) { state().alive.erase(atomic); }
  static void touched(const void* atomic) {
    if (!state().alive.contains(atomic)) state().touched_dead = true;
  }

 private:
  struct script {
    int at = 0;
    bool over = false;
    std::function<void()> act;
    std::vector<std::function<void()>> sleeps;
    std::size_t next_sleep = 0;
    std::function<void()> when_stuck;
    int stuck = 0;
    int wakes = 0;
    bool touched_dead = false;
    std::set<const void*> alive;
  };
  static script& state() {
    static script instance;
    return instance;
  }
};

template <class T>
class stepped_atomic {
 public:
  stepped_atomic() noexcept { steps::born(this); }
  // NOLINTNEXTLINE(google-explicit-constructor): as std::atomic's
  stepped_atomic(T value) noexcept : value_(value) { steps::born(this); }
  stepped_atomic(const stepped_atomic&) = delete;
  stepped_atomic& operator=(const stepped_atomic&) = delete;
  ~stepped_atomic() { steps::died(this); }

  [[nodiscard]] T load(std::memory_order /*order*/) const noexcept { return at_step(); }
  void store(T value, std::memory_order /*order*/) noexcept { at_step() = value; }
  T exchange(T value, std::memory_order /*order*/) noexcept { return std::exchange(at_step(), value); }
  T fetch_add(T value, std::memory_order order) noexcept {
    return replace([=](T v) { return v + value; }, order);
  }
  T fetch_sub(T value, std::memory_order order) noexcept {
    return replace([=](T v) { return v - value; }, order);
  }
  T fetch_or(T value, std::memory_order order) noexcept {
    return replace([=](T v) { return v | value; }, order);
  }
  T fetch_and(T value, std::memory_order order) noexcept {
    return replace([=](T v) { return v & value; }, order);
  }
  bool compare_exchange_strong(T& expected, T value, std::memory_order /*won*/,
                               std::memory_order /*lost*/) noexcept {
    T& now = at_step();
    if (now != expected) {
      expected = now;
      return false;
    }
    now = value;
    return true;
  }
  bool compare_exchange_weak(T& expected, T value, std::memory_order won, std::memory_order lost) noexcept {
    return compare_exchange_strong(expected, value, won, lost);
  }

  /// The value, without a step.
  [[nodiscard]] T peek() const noexcept { return value_; }

 private:
  template <class F>
  T replace(F&& f, std::memory_order /*order*/) noexcept {
    T& now = at_step();
    const T before = now;
    now = static_cast<T>(f(before));
    return before;
  }
  T& at_step() const noexcept {
    steps::step();
    steps::touched(this);
    return value_;
  }

  mutable T value_{};
};

struct stepped_sleeper {
  template <class Word>
  [[nodiscard]] static impl::sleep_end wait(const Word& word, std::uint32_t seen,
                                            impl::time_point /*deadline*/) noexcept {
    steps::step();
    while (word.peek() == seen) {
      if (steps::run_sleep()) continue;
      steps::count_stuck();
      return impl::sleep_end::deadline;
    }
    return impl::sleep_end::woken;
  }
  template <class Word>
  static void wake_one(const Word& /*word*/) noexcept {
    steps::count_wake();
  }
  /// Whoever waits for others lets one of them act, as a sleeper does.
  static void yield() noexcept {
    steps::step();
    (void)steps::run_sleep();
  }
};

struct stepped_platform : impl::std_atomics {
  template <class T>
  using atomic = stepped_atomic<T>;
  using sleeper = stepped_sleeper;

  static void light_barrier(impl::barrier_kind /*kind*/) noexcept { steps::step(); }
  static void heavy_barrier(impl::barrier_kind /*kind*/) noexcept { steps::step(); }
};
static_assert(impl::sleeping_platform<stepped_platform>);

/// Runs the scenario for n = 0, 1, ... until it is over before its n-th step. Returns how many steps it has. The scenario
/// calls interrupt_at(n, ...), then runs the operation under test.
template <class Scenario>
[[nodiscard]] int for_each_step(Scenario&& scenario) {
  for (int n = 0;; ++n) {
    steps::reset();
    scenario(n);
    if (!steps::end()) return n;
  }
}

}  // namespace weft::testing
