// SPDX-License-Identifier: Apache-2.0
//
// atomic — the atomics part of the Platform seam.
//
// Concurrent code in weft is written as templates over a Platform and says `typename Platform::template
// atomic<T>`. In the shipping library that is std::atomic itself, so the seam cannot cost anything; the
// model checker and the simulation put their own in its place and run the very same code.
#pragma once

#include "base/sanitizers.hpp"

#include <atomic>
#include <concepts>

namespace weft::impl {

/// The real thing: std::atomic under the seam's name.
struct std_atomics {
  template <class T>
  using atomic = std::atomic<T>;

  /// A full fence; the only one weft uses, because ThreadSanitizer follows accesses but not fences.
  static void full_fence() noexcept {
#if WEFT_THREAD_SANITIZER
    static std::atomic<int> turnstile{0};
    turnstile.fetch_add(0, std::memory_order_seq_cst);  // a read-modify-write that the sanitizer understands
#else
    std::atomic_thread_fence(std::memory_order_seq_cst);
#endif
  }
};

/// What the concurrent code asks of the atomics it is given.
template <class A>
concept atomics_provider = requires(typename A::template atomic<int> a, int expected) {
  { a.load(std::memory_order_acquire) } -> std::same_as<int>;
  a.store(1, std::memory_order_release);
  { a.exchange(1, std::memory_order_acq_rel) } -> std::same_as<int>;
  { a.fetch_add(1, std::memory_order_relaxed) } -> std::same_as<int>;
  {
    a.compare_exchange_strong(expected, 1, std::memory_order_acq_rel, std::memory_order_acquire)
    } -> std::same_as<bool>;
  {
    a.compare_exchange_weak(expected, 1, std::memory_order_acq_rel, std::memory_order_acquire)
    } -> std::same_as<bool>;
  A::full_fence();
};

}  // namespace weft::impl
