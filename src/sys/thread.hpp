// SPDX-License-Identifier: Apache-2.0
//
// thread — an operating-system thread whose start can fail without an exception.
#pragma once

#include <weft/result.hpp>

#include <cstddef>
#include <pthread.h>
#include <utility>

namespace weft::impl {

/// A running thread, joined by its owner before it is destroyed. Thread safety: as for any value.
class system_thread {
 public:
  /// How a thread is made; zero and nullptr mean the system's defaults.
  struct options {
    std::size_t stack_size = 0;
    const char* name = nullptr;  // cut to 15 characters, which is all that Linux keeps
  };

  system_thread() noexcept = default;
  system_thread(const system_thread&) = delete;
  system_thread& operator=(const system_thread&) = delete;
  system_thread(system_thread&& other) noexcept
      : handle_(other.handle_), joinable_(std::exchange(other.joinable_, false)) {}
  system_thread& operator=(system_thread&& other) noexcept;
  ~system_thread();

  /// Starts a thread that runs body(argument). The body must not throw.
  ///
  /// Returns: the thread, or why the system would not start one (EAGAIN: a limit; EINVAL: the stack size).
  [[nodiscard]] static result<system_thread> start(void (*body)(void*), void* argument, options how) noexcept;
  [[nodiscard]] static result<system_thread> start(void (*body)(void*), void* argument) noexcept {
    return start(body, argument, options());
  }

  /// Waits for the thread to end.
  void join() noexcept;
  /// The same, if it has ended: whether it has.
  [[nodiscard]] bool try_join() noexcept;

  [[nodiscard]] bool joinable() const noexcept { return joinable_; }

 private:
  pthread_t handle_{};
  bool joinable_ = false;
};

}  // namespace weft::impl
