// SPDX-License-Identifier: Apache-2.0
//
// worker_front — the part of a worker that an inlined join touches, and how it is found.
#pragma once

#include <weft/detail/atomics.hpp>
#include <weft/detail/tls.hpp>
#include <weft/detail/work_deque.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace weft::detail {

/// What every carrier begins with.
struct carrier_head {
  bool is_worker = false;  // whether it is the base of a worker, and has a front
};

/// Values of the idle word from this one on say that a push concerns somebody who is idle.
inline constexpr std::uint32_t idle_alert = 1U << 21U;

struct worker_front;

/// Somebody is to be told of a push.
[[gnu::cold]] WEFT_EXPORT void tell_of_push() noexcept;
/// A push that is not as simple as most. Returns false if there is no memory for it.
[[gnu::cold, nodiscard]] WEFT_EXPORT bool push_slowly(worker_front& here, runnable added) noexcept;

/// Lies at a fixed distance behind the beginning of a worker.
struct alignas(contended_bytes) worker_front {
  worker_front(barrier_kind kind, const std_atomics::atomic<std::uint32_t>& idle) noexcept
      : tasks(kind), idle_word(&idle), barriers(kind) {}

  work_deque tasks;
  const std_atomics::atomic<std::uint32_t>* idle_word;  // of the pool
  const std::byte* watermark = nullptr;                 // below it a stack has little room left
  barrier_kind barriers;

  /// Adds to the deque, and sees to it that somebody comes for it. Returns false where there is no memory for that.
  [[nodiscard]] bool push(runnable added) noexcept {
    // Quietly only where a light barrier is one to the compiler alone.
    if (!WEFT_LIKELY(tasks.try_push_quietly(added))) return push_slowly(*this, added);
    tell_if_somebody_is_idle(barrier_kind::asymmetric);
    return true;
  }

  /// Follows every push that a worker makes for others to take.
  void tell_if_somebody_is_idle(barrier_kind kind) const noexcept {
    std_atomics::light_barrier(kind);  // [ID-push]
    if (!WEFT_LIKELY(idle_word->load(std::memory_order_relaxed) < idle_alert)) tell_of_push();
  }
};

inline constexpr std::size_t worker_front_offset = 256;  // asserted by the library

/// The front of the worker that runs this now; null on a thread that is none. Good until the next switch.
[[nodiscard]] inline __attribute__((always_inline)) worker_front* current_front() noexcept {
  void* const carrier = read_thread_word();
  if (carrier == nullptr || !static_cast<carrier_head*>(carrier)->is_worker) return nullptr;
  return reinterpret_cast<worker_front*>(static_cast<std::byte*>(carrier) + worker_front_offset);
}

/// The same for code that knows to run on a worker.
[[nodiscard]] inline __attribute__((always_inline)) worker_front& own_front() noexcept {
  return *reinterpret_cast<worker_front*>(static_cast<std::byte*>(read_thread_word()) + worker_front_offset);
}

}  // namespace weft::detail
