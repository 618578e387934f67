// SPDX-License-Identifier: Apache-2.0
//
// platform_interposed — the real world with a hand in every door: each call is counted, and a test may let
// the n-th call of a kind fail, or make the kernel lie.
//
// It is how failure of memory, threads and guards is tested at every single place where it can happen: run a
// scenario once to count the calls, then once more for each n with the n-th failing.
//
// Thread safety: any thread; the plan is process-wide, so one test at a time.
#pragma once

#include "base/atomic.hpp"
#include "base/clock.hpp"
#include "base/rng.hpp"
#include "sys/clock.hpp"
#include "sys/entropy.hpp"
#include "sys/futex.hpp"
#include "sys/memory.hpp"
#include "sys/mutex.hpp"
#include "sys/thread.hpp"

#include <array>
#include <atomic>
#include <cstdint>

namespace weft::impl {

/// The kinds of call that can be counted and made to fail.
enum class door : std::uint8_t {
  atomic_operation,
  clock_read,
  seed,
  reserve,
  release,
  guard_light,
  guard_light_each,
  guard_by_protection,
  guard_holds,
  discard,
  residency,
  mapping_limit,
  thread_start,
  mutex_lock,
  allocate,
  heavy_barrier,
  sleep,
  wake,
};
inline constexpr std::size_t door_count = static_cast<std::size_t>(door::wake) + 1;

/// What has passed each door, and what is to happen at it.
class door_plan {
 public:
  static constexpr std::uint64_t no_failure = 0;

  /// Forgets all counts and plans.
  void reset() noexcept {
    for (entry& e : entries_) {
      e.calls = 0;
      e.fails_at = no_failure;
      e.fails_from = no_failure;
    }
    guards_lie = false;
    guards_of_each_lie = false;
    none_of_each = false;
    limit_override = 0;
  }

  /// How often the door was used since reset().
  [[nodiscard]] std::uint64_t calls(door d) const noexcept {
    return at(d).calls.load(std::memory_order_relaxed);
  }

  /// Lets the n-th use from reset() on (counted from 1) fail, and only that one.
  void fail_nth(door d, std::uint64_t n) noexcept { at(d).fails_at = n; }

  /// Lets the n-th use and all after it fail.
  void fail_from(door d, std::uint64_t n) noexcept { at(d).fails_from = n; }

  /// Counts a use; returns whether it is to fail.
  [[nodiscard]] bool pass(door d) noexcept {
    // relaxed: counts order nothing, and a plan is made before the threads that it is for.
    entry& e = at(d);
    const std::uint64_t n = e.calls.fetch_add(1, std::memory_order_relaxed) + 1;
    const std::uint64_t from = e.fails_from.load(std::memory_order_relaxed);
    return n == e.fails_at.load(std::memory_order_relaxed) || (from != no_failure && n >= from);
  }

  /// guard_light() succeeds and does nothing, as under an emulator that does not know it; the same for guard_light_each().
  std::atomic<bool> guards_lie{false};
  std::atomic<bool> guards_of_each_lie{false};
  /// guard_light_each() guards none, as on older kernels.
  std::atomic<bool> none_of_each{false};
  /// What mapping_limit() answers; 0 for the truth.
  std::atomic<std::size_t> limit_override{0};

 private:
  struct entry {
    std::atomic<std::uint64_t> calls{0};
    std::atomic<std::uint64_t> fails_at{no_failure};
    std::atomic<std::uint64_t> fails_from{no_failure};
  };
  entry& at(door d) noexcept { return entries_[static_cast<std::size_t>(d)]; }
  [[nodiscard]] const entry& at(door d) const noexcept { return entries_[static_cast<std::size_t>(d)]; }

  std::array<entry, door_count> entries_;
};

inline constinit door_plan doors;

/// std::atomic with every operation counted.
template <class T>
class interposed_atomic {
 public:
  constexpr interposed_atomic() noexcept = default;
  // NOLINTNEXTLINE(google-explicit-constructor): as std::atomic's
  constexpr interposed_atomic(T value) noexcept : inner_(value) {}
  interposed_atomic(const interposed_atomic&) = delete;
  interposed_atomic& operator=(const interposed_atomic&) = delete;
  ~interposed_atomic() = default;

  [[nodiscard]] T load(std::memory_order order) const noexcept { return counted().load(order); }
  void store(T value, std::memory_order order) noexcept { counted().store(value, order); }
  T exchange(T value, std::memory_order order) noexcept { return counted().exchange(value, order); }
  T fetch_add(T value, std::memory_order order) noexcept { return counted().fetch_add(value, order); }
  T fetch_sub(T value, std::memory_order order) noexcept { return counted().fetch_sub(value, order); }
  T fetch_or(T value, std::memory_order order) noexcept { return counted().fetch_or(value, order); }
  T fetch_and(T value, std::memory_order order) noexcept { return counted().fetch_and(value, order); }
  bool compare_exchange_strong(T& expected, T value, std::memory_order won, std::memory_order lost) noexcept {
    return counted().compare_exchange_strong(expected, value, won, lost);
  }
  bool compare_exchange_weak(T& expected, T value, std::memory_order won, std::memory_order lost) noexcept {
    return counted().compare_exchange_weak(expected, value, won, lost);
  }

  /// The same word, for those who read it without being counted: what is inlined into users' programs.
  [[nodiscard]] friend const std::atomic<T>& uncounted(const interposed_atomic& word) noexcept {
    return word.inner_;
  }

 private:
  [[nodiscard]] const std::atomic<T>& counted() const noexcept {
    (void)doors.pass(door::atomic_operation);
    return inner_;
  }
  std::atomic<T>& counted() noexcept {
    (void)doors.pass(door::atomic_operation);
    return inner_;
  }

  std::atomic<T> inner_{};
};

struct interposed_clock {
  [[nodiscard]] time_point now()
      const noexcept {  // NOLINT(readability-convert-member-functions-to-static): the seam
    (void)doors.pass(door::clock_read);
    return system_clock().now();
  }
};

/// Chance that is the same every time.
struct interposed_entropy {
  [[nodiscard]] static std::uint64_t seed() noexcept {
    (void)doors.pass(door::seed);
    return 0x77656674;
  }
};

/// system_memory behind the doors.
struct interposed_memory {
  static std::error_code refused() noexcept { return std::make_error_code(std::errc::not_enough_memory); }

  [[nodiscard]] static std::size_t page_size() noexcept { return system_memory::page_size(); }

  [[nodiscard]] static result<void*> reserve(std::size_t bytes) noexcept {
    if (doors.pass(door::reserve)) return refused();
    return system_memory::reserve(bytes);
  }
  static void release(void* at, std::size_t bytes) noexcept {
    (void)doors.pass(door::release);
    system_memory::release(at, bytes);
  }
  [[nodiscard]] static result<void> guard_light(void* at, std::size_t bytes) noexcept {
    if (doors.pass(door::guard_light)) return std::make_error_code(std::errc::invalid_argument);
    if (doors.guards_lie.load(std::memory_order_relaxed)) return {};
    return system_memory::guard_light(at, bytes);
  }
  [[nodiscard]] static std::size_t guard_light_each(std::span<void* const> at, std::size_t bytes) noexcept {
    if (doors.pass(door::guard_light_each)) at = at.first(at.size() / 2);
    if (doors.none_of_each.load(std::memory_order_relaxed)) return 0;
    if (doors.guards_of_each_lie.load(std::memory_order_relaxed)) return at.size();
    return system_memory::guard_light_each(at, bytes);
  }
  [[nodiscard]] static result<void> guard_by_protection(void* at, std::size_t bytes) noexcept {
    if (doors.pass(door::guard_by_protection)) return refused();
    return system_memory::guard_by_protection(at, bytes);
  }
  [[nodiscard]] static bool guard_holds(const void* at) noexcept {
    if (doors.pass(door::guard_holds)) return false;
    return system_memory::guard_holds(at);
  }
  [[nodiscard]] static result<void> discard(void* at, std::size_t bytes) noexcept {
    if (doors.pass(door::discard)) return refused();
    return system_memory::discard(at, bytes);
  }
  [[nodiscard]] static result<void> residency(void* at, std::size_t pages, unsigned char* present) noexcept {
    if (doors.pass(door::residency)) return refused();
    return system_memory::residency(at, pages, present);
  }
  [[nodiscard]] static std::optional<std::size_t> mapping_limit() noexcept {
    if (doors.pass(door::mapping_limit)) return std::nullopt;
    const std::size_t limit = doors.limit_override.load(std::memory_order_relaxed);
    return limit != 0 ? std::optional(limit) : system_memory::mapping_limit();
  }
};

/// system_thread behind a door.
class interposed_thread : public system_thread {
 public:
  interposed_thread() noexcept = default;
  [[nodiscard]] static result<interposed_thread> start(void (*body)(void*), void* argument,
                                                       options how) noexcept {
    if (doors.pass(door::thread_start))
      return std::make_error_code(std::errc::resource_unavailable_try_again);
    result<system_thread> started = system_thread::start(body, argument, how);
    if (!started) return started.error();
    return interposed_thread(*std::move(started));
  }
  [[nodiscard]] static result<interposed_thread> start(void (*body)(void*), void* argument) noexcept {
    return start(body, argument, options());
  }

 private:
  explicit interposed_thread(system_thread&& thread) noexcept : system_thread(std::move(thread)) {}
};

/// system_mutex behind a door.
class WEFT_CAPABILITY("mutex") interposed_mutex : public system_mutex {
 public:
  void lock() WEFT_ACQUIRE() {
    (void)doors.pass(door::mutex_lock);
    system_mutex::lock();
  }
  void unlock() WEFT_RELEASE() { system_mutex::unlock(); }
};

/// system_sleeper behind doors; a sleep that is to fail ends for no reason.
struct interposed_sleeper {
  template <class Word>
  [[nodiscard]] static sleep_end wait(const Word& word, std::uint32_t seen, time_point deadline) noexcept {
    if (doors.pass(door::sleep)) return sleep_end::woken;
    return system_sleeper::wait(word, seen, deadline);
  }
  template <class Word>
  static void wake_one(const Word& word) noexcept {
    (void)doors.pass(door::wake);
    system_sleeper::wake_one(word);
  }
  static void yield() noexcept { system_sleeper::yield(); }
};

/// The world behind doors.
struct interposed_platform : std_atomics {
  template <class T>
  using atomic = interposed_atomic<T>;

  [[nodiscard]] static void* allocate(std::size_t bytes, std::size_t alignment) noexcept {
    return doors.pass(door::allocate) ? nullptr : std_atomics::allocate(bytes, alignment);
  }
  static void heavy_barrier(barrier_kind kind) noexcept {
    (void)doors.pass(door::heavy_barrier);
    std_atomics::heavy_barrier(kind);
  }
  using clock = interposed_clock;
  using entropy = interposed_entropy;
  using random = xoshiro256ss;
  using memory = interposed_memory;
  using thread = interposed_thread;
  using mutex = interposed_mutex;
  using sleeper = interposed_sleeper;
};

}  // namespace weft::impl
