// SPDX-License-Identifier: Apache-2.0
//
// platform — the seam between weft and the world: atomics, time, chance, threads, locks, sleep, memory.
//
// A component with a protocol in it, or with failures to be tested, is a template over a Platform and takes from
// it everything that a test might want to control. (What is bound to the process by nature is not: the fault
// handler talks to the system directly.) The shipping library names real_platform once; there the seam is type aliases and
// static functions, and costs nothing. Tests name another and so drive the shipping code itself, not a copy:
// interposed_platform (sys/platform_interposed.hpp) counts every call and lets the n-th one fail, and is
// what the whole library is built on under the `model` preset.
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

#include <concepts>

namespace weft::impl {

// Version 14 does not know compound requirements with noexcept.
// clang-format off

/// What a component asks of the address space it is given; system_memory says what each function does.
template <class M>
concept memory_provider = requires(void* at, std::span<void* const> each, std::size_t bytes, unsigned char* present) {
  { M::page_size() } noexcept -> std::same_as<std::size_t>;
  { M::reserve(bytes) } noexcept -> std::same_as<result<void*>>;
  { M::release(at, bytes) } noexcept;
  { M::guard_light(at, bytes) } noexcept -> std::same_as<result<void>>;
  { M::guard_light_each(each, bytes) } noexcept -> std::same_as<std::size_t>;
  { M::guard_by_protection(at, bytes) } noexcept -> std::same_as<result<void>>;
  { M::guard_holds(at) } noexcept -> std::same_as<bool>;
  { M::discard(at, bytes) } noexcept -> std::same_as<result<void>>;
  { M::residency(at, bytes, present) } noexcept -> std::same_as<result<void>>;
  { M::mapping_limit() } noexcept -> std::same_as<std::optional<std::size_t>>;
};

/// What a component asks of the threads it starts.
template <class T>
concept thread_provider = requires(void (*body)(void*), void* argument, T thread) {
  { T::start(body, argument) } noexcept -> std::same_as<result<T>>;
  { thread.join() } noexcept;
};

/// Everything a component may take from outside.
template <class P>
concept platform = sleeping_platform<P> && clock_source<typename P::clock> &&
    memory_provider<typename P::memory> && thread_provider<typename P::thread> &&
    requires(typename P::mutex mutex) {
      mutex.lock();
      mutex.unlock();
      { P::entropy::seed() } noexcept -> std::same_as<std::uint64_t>;
      typename P::random;
    };

// clang-format on

/// The world as it is.
struct real_platform : std_atomics {
  using clock = system_clock;
  using entropy = system_entropy;
  using random = xoshiro256ss;
  using memory = system_memory;
  using thread = system_thread;
  using mutex = system_mutex;
  using sleeper = system_sleeper;
};
static_assert(platform<real_platform>);
static_assert(detail::is_single_threaded || std::same_as<real_platform::atomic<int>, std::atomic<int>>,
              "the seam must cost nothing");

/// A word of the library, as the public headers know it: what is inlined into users' programs is built on no platform.
template <class T>
[[nodiscard]] const std_atomics::atomic<T>& uncounted(const std_atomics::atomic<T>& word) noexcept {
  return word;
}

}  // namespace weft::impl

#if defined(WEFT_PLATFORM_INTERPOSED)
#include "sys/platform_interposed.hpp"
namespace weft::impl {
using default_platform = interposed_platform;
}  // namespace weft::impl
#else
namespace weft::impl {
/// The platform the library is built on.
using default_platform = real_platform;
}  // namespace weft::impl
#endif
