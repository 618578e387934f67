// SPDX-License-Identifier: Apache-2.0
//
// platform — the Platform seam as the model checker fills it: every operation of the code under test goes to the
// execution that runs it.
#pragma once

#include "base/atomic.hpp"
#include "model/execution.hpp"
#include "sys/futex.hpp"

#include <bit>
#include <cstring>
#include <type_traits>

namespace weft::model {

/// A value of up to 8 bytes as the word that memory keeps.
template <class T>
[[nodiscard]] std::uint64_t to_word(const T& value) noexcept {
  static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= sizeof(std::uint64_t));
  std::uint64_t word = 0;
  std::memcpy(&word, &value, sizeof value);
  return word;
}

template <class T>
[[nodiscard]] T from_word(std::uint64_t word) noexcept {
  T value;
  std::memcpy(&value, &word, sizeof value);
  return value;
}

/// std::atomic's interface, with orders that must be written out.
template <class T>
class alignas(std::uint64_t) atomic {  // runnables keep bits in the low end of addresses
 public:
  atomic() noexcept : atomic(T{}) {}
  // NOLINTNEXTLINE(google-explicit-constructor): as std::atomic's
  atomic(T value) noexcept : at_(execution::now().make_location(this, to_word(value))) {}
  atomic(const atomic&) = delete;
  atomic& operator=(const atomic&) = delete;
  ~atomic() { execution::now().drop_location(at_, this); }

  [[nodiscard]] T load(std::memory_order order, place where = place::current()) const noexcept {
    return from_word<T>(execution::now().load(at_, this, order, where));
  }
  void store(T value, std::memory_order order, place where = place::current()) noexcept {
    execution::now().store(at_, this, to_word(value), order, where);
  }
  T exchange(T value, std::memory_order order, place where = place::current()) noexcept {
    return modify([value](T) { return value; }, order, where, "exchange");
  }
  T fetch_add(T value, std::memory_order order, place where = place::current()) noexcept {
    return modify([value](T old) { return static_cast<T>(old + value); }, order, where, "fetch_add");
  }
  T fetch_sub(T value, std::memory_order order, place where = place::current()) noexcept {
    return modify([value](T old) { return static_cast<T>(old - value); }, order, where, "fetch_sub");
  }
  T fetch_or(T value, std::memory_order order, place where = place::current()) noexcept {
    return modify([value](T old) { return static_cast<T>(old | value); }, order, where, "fetch_or");
  }
  T fetch_and(T value, std::memory_order order, place where = place::current()) noexcept {
    return modify([value](T old) { return static_cast<T>(old & value); }, order, where, "fetch_and");
  }
  bool compare_exchange_strong(T& expected, T value, std::memory_order won, std::memory_order lost,
                               place where = place::current()) noexcept {
    return compare_exchange(expected, value, won, lost, false, where);
  }
  bool compare_exchange_weak(T& expected, T value, std::memory_order won, std::memory_order lost,
                             place where = place::current()) noexcept {
    return compare_exchange(expected, value, won, lost, true, where);
  }

  /// For the sleeper: which location this is.
  [[nodiscard]] location_id location() const noexcept { return at_; }

 private:
  template <class F>
  T modify(F change, std::memory_order order, place where, const char* how) noexcept {
    const auto on_words = [&](std::uint64_t old) { return to_word<T>(change(from_word<T>(old))); };
    return from_word<T>(execution::now().modify(at_, this, on_words, order, where, how));
  }
  bool compare_exchange(T& expected, T value, std::memory_order won, std::memory_order lost, bool weak,
                        place where) noexcept {
    std::uint64_t word = to_word(expected);
    const bool done =
        execution::now().compare_exchange(at_, this, word, to_word(value), won, lost, weak, where);
    if (!done) expected = from_word<T>(word);
    return done;
  }

  location_id at_;
};

/// Data that only a protocol keeps from being raced for: every access is checked.
template <class T>
class plain {
 public:
  plain() noexcept : plain(T{}) {}
  // NOLINTNEXTLINE(google-explicit-constructor): as plain_cell's
  plain(T value) noexcept : value_(value), cell_(execution::now().make_cell(this)) {}
  plain(const plain&) = delete;
  plain& operator=(const plain&) = delete;
  ~plain() { execution::now().drop_cell(cell_, this); }

  [[nodiscard]] T read() const noexcept {
    execution::now().touch_cell(cell_, this, false);
    return value_;
  }
  void write(T value) noexcept {
    execution::now().touch_cell(cell_, this, true);
    value_ = value;
  }

 private:
  T value_;
  std::uint32_t cell_;
};

/// Sleep on a word, seen by the scheduler: a thread that sleeps runs again when it is woken, when time runs out if it has
/// a deadline, and once in an execution for no reason at all.
struct sleeper {
  template <class Word>
  [[nodiscard]] static impl::sleep_end wait(const Word& word, std::uint32_t seen,
                                            impl::time_point deadline) noexcept {
    const bool woken = execution::now().sleep(word.location(), &word, seen, deadline != impl::never);
    return woken ? impl::sleep_end::woken : impl::sleep_end::deadline;
  }
  template <class Word>
  static void wake_one(const Word& word) noexcept {
    (void)execution::now().wake(word.location(), 1);
  }
  static void yield() noexcept { execution::now().pause(); }
};

struct platform {
  using sleeper = model::sleeper;
  template <class T>
  using atomic = model::atomic<T>;
  template <class T>
  using plain = model::plain<T>;

  static void full_fence(place where = place::current()) noexcept { execution::now().full_fence(where); }
  [[nodiscard]] static impl::barrier_kind barriers() noexcept { return impl::barrier_kind::asymmetric; }
  static void light_barrier(impl::barrier_kind kind, place where = place::current()) noexcept {
    execution::now().light_barrier(kind, where);
  }
  static void heavy_barrier(impl::barrier_kind kind, place where = place::current()) noexcept {
    execution::now().heavy_barrier(kind, where);
  }
  static void pause() noexcept { execution::now().pause(); }
  [[nodiscard]] static void* allocate(std::size_t bytes, std::size_t alignment) noexcept {
    return execution::now().allocate(bytes, alignment);
  }
  static void deallocate(void* at, std::size_t /*bytes*/, std::size_t /*alignment*/) noexcept {
    execution::now().deallocate(at);
  }
};
static_assert(impl::atomics_provider<platform>);
static_assert(impl::sleeping_platform<platform>);

}  // namespace weft::model
