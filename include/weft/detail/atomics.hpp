// SPDX-License-Identifier: Apache-2.0
//
// atomics — the part of the Platform seam that lock-free code stands on: atomics, fences, barriers, memory.
//
// Concurrent code in weft is written as templates over a Platform and takes all of this from it. Here is the
// real thing, where the seam is aliases and inline functions and costs nothing. The model checker puts its own in
// its place and runs the very same code.
//
// Barriers come in pairs, for races of the shape "I store, then look whether you did; you store, then look whether
// I did". Each side puts a barrier between its store and its look; then at least one of them sees the other's
// store. The side that runs all the time takes the light one, the side that runs rarely the heavy one:
//
//     busy side                          idle side
//       mine.store(1, release);            yours.store(1, release);
//       P::light_barrier(kind);            P::heavy_barrier(kind);
//       if (yours.load(...)) ...           if (mine.load(...)) ...
//
// Where the kernel has membarrier(2), light costs nothing but what the compiler may not move, and heavy interrupts
// every running thread of the process (0.2 us when all sleep, about 11 us when one does not). Elsewhere both are full
// fences. Light pairs with heavy only, never with light.
#pragma once

#include <weft/config.hpp>
#include <weft/detail/lone_cell.hpp>
#include <weft/detail/sanitizers.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>

namespace weft::detail {

/// What light_barrier() and heavy_barrier() are made of. Both sides of a race use the same kind.
enum class barrier_kind : std::uint8_t {
  asymmetric,  ///< light: the compiler only; heavy: membarrier(2)
  symmetric,   ///< both: a full fence
};

/// The kind this process can have. The first call asks the kernel and registers the process, which takes 10 ms if
/// other threads run already; it is best made before they start. Thread safety: any thread.
[[nodiscard]] WEFT_EXPORT barrier_kind available_barriers() noexcept;

/// Makes every running thread of the process pass a full fence between call and return. Only after
/// available_barriers() has answered asymmetric. Thread safety: any thread.
WEFT_EXPORT void fence_all_threads() noexcept;

/// How often fence_all_threads() was called in this process.
[[nodiscard]] WEFT_EXPORT std::uint64_t heavy_barrier_count() noexcept;

/// Data that is not atomic and that a protocol keeps from being raced for. Exactly a T.
template <class T>
class plain_cell {
 public:
  constexpr plain_cell() noexcept = default;
  // NOLINTNEXTLINE(google-explicit-constructor): as std::atomic's
  constexpr plain_cell(T value) noexcept : value_(value) {}

  /// The value.
  [[nodiscard]] constexpr T read() const noexcept { return value_; }
  /// Replaces the value.
  constexpr void write(T value) noexcept { value_ = value; }

 private:
  T value_{};
};

#ifdef WEFT_SINGLE_THREADED
/// Whether this is a library for one thread, whose atomics are none.
inline constexpr bool is_single_threaded = true;
template <class T>
using chosen_atomic = lone_cell<T>;
#else
inline constexpr bool is_single_threaded = false;
template <class T>
using chosen_atomic = std::atomic<T>;
#endif

/// The real thing: std::atomic and the machine's own barriers under the seam's names.
struct std_atomics {
  /// An atomic.
  template <class T>
  using atomic = chosen_atomic<T>;

  /// Data that a protocol protects.
  template <class T>
  using plain = plain_cell<T>;

  /// A full fence; the only one weft uses, because ThreadSanitizer follows accesses but not fences.
  static void full_fence() noexcept {
#if defined(WEFT_SINGLE_THREADED)
    std::atomic_signal_fence(std::memory_order_seq_cst);
#elif WEFT_THREAD_SANITIZER
    static std::atomic<int> turnstile{0};
    turnstile.fetch_add(0, std::memory_order_seq_cst);  // a read-modify-write that the sanitizer understands
#else
    std::atomic_thread_fence(std::memory_order_seq_cst);
#endif
  }

  /// The barrier kind to construct things with.
  [[nodiscard]] static barrier_kind barriers() noexcept {
    return is_single_threaded ? barrier_kind::asymmetric : available_barriers();
  }

  /// The barrier of the side that runs all the time; see the top of this file.
  static void light_barrier(barrier_kind kind) noexcept {
    if (WEFT_LIKELY(kind == barrier_kind::asymmetric)) {
      std::atomic_signal_fence(std::memory_order_seq_cst);
    } else {
      full_fence();
    }
  }

  /// The barrier of the side that runs rarely.
  static void heavy_barrier(barrier_kind kind) noexcept {
    if (is_single_threaded) return;
    if (WEFT_LIKELY(kind == barrier_kind::asymmetric)) {
      fence_all_threads();
    } else {
      full_fence();
    }
  }

  /// Tells the processor that this is a loop that waits.
  static void pause() noexcept {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("isb" ::: "memory");                   // yield does nothing on most cores
#else
    std::atomic_signal_fence(std::memory_order_seq_cst);
#endif
  }

  /// Memory from the heap; null when there is none.
  [[nodiscard]] static void* allocate(std::size_t bytes, std::size_t alignment) noexcept {
    return ::operator new (bytes, std::align_val_t{alignment}, std::nothrow);
  }

  /// Gives back what allocate() gave.
  static void deallocate(void* at, std::size_t /*bytes*/, std::size_t alignment) noexcept {
    ::operator delete (at, std::align_val_t{alignment});
  }
};

}  // namespace weft::detail
