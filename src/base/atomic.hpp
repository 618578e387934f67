// SPDX-License-Identifier: Apache-2.0
//
// atomic — what concurrent code asks of the Platform it is given: atomics, plain data, barriers, memory.
//
// Concurrent code in weft is written as templates over a Platform and says `typename Platform::template
// atomic<T>`. In the shipping library that is std::atomic itself, so the seam cannot cost anything; the
// model checker and the simulation put their own in its place and run the very same code.
#pragma once

#include <weft/detail/atomics.hpp>

#include <concepts>

namespace weft::impl {

using detail::barrier_kind;
using detail::std_atomics;

// Version 14 does not know compound requirements with noexcept.
// clang-format off

/// What the concurrent code asks of the atomics it is given; std_atomics says what each thing does.
template <class A>
concept atomics_provider = requires(typename A::template atomic<int> a, typename A::template plain<int> p, int expected,
                                    barrier_kind kind, void* at, std::size_t n) {
  { a.load(std::memory_order_acquire) } -> std::same_as<int>;
  a.store(1, std::memory_order_release);
  { a.exchange(1, std::memory_order_acq_rel) } -> std::same_as<int>;
  { a.fetch_add(1, std::memory_order_relaxed) } -> std::same_as<int>;
  { a.fetch_sub(1, std::memory_order_relaxed) } -> std::same_as<int>;
  { a.fetch_or(1, std::memory_order_relaxed) } -> std::same_as<int>;
  { a.fetch_and(1, std::memory_order_relaxed) } -> std::same_as<int>;
  { a.compare_exchange_strong(expected, 1, std::memory_order_acq_rel, std::memory_order_acquire) }
      -> std::same_as<bool>;
  { a.compare_exchange_weak(expected, 1, std::memory_order_acq_rel, std::memory_order_acquire) }
      -> std::same_as<bool>;
  { p.read() } -> std::same_as<int>;
  p.write(1);
  { A::full_fence() } noexcept;
  { A::barriers() } noexcept -> std::same_as<barrier_kind>;
  { A::light_barrier(kind) } noexcept;
  { A::heavy_barrier(kind) } noexcept;
  { A::pause() } noexcept;
  { A::allocate(n, n) } noexcept -> std::same_as<void*>;
  { A::deallocate(at, n, n) } noexcept;
};

// clang-format on

static_assert(atomics_provider<std_atomics>);

}  // namespace weft::impl
