// SPDX-License-Identifier: Apache-2.0
//
// blocking — runs something that blocks its thread (a system call, a foreign library, a lock of the system's) where nobody waits
// for that thread.
//
//     const std::string text = weft::blocking([&] { return read_whole_file(path); });
//
// A parallel context gets another worker when one of its own is stuck for long. That takes a moment, and a context of one thread gets
// none: there a task that blocks stops all the others. Who knows that it will block says so.
#pragma once

#include <weft/config.hpp>

#include <concepts>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>
#include <variant>

namespace weft {

namespace detail {

/// Something that another thread calls.
struct blocking_call {
  void (*run)(blocking_call& self) noexcept;
};

/// Returns when it was called: on a thread that is no worker if there is one to be had, or here.
WEFT_EXPORT void run_blocking(blocking_call& call) noexcept;

}  // namespace detail

/// Calls the function on a thread that is no worker, and gives what it returns; the task leaves its worker to others meanwhile.
///
/// The threads are the runtime's: runtime_options::blocking_threads of them at most. Others wait for their turn, in the order in which
/// they came. There the function is in no task: what it calls of weft behaves as on a plain thread. If it is on such a thread
/// already, on a plain one, in an isolated context, in a runtime that runs on its caller's thread, or where the task must not wait (no_suspend), the function is called right there; and
/// also where the system has no thread for it.
///
/// Cancellation point: no. What has begun is waited for.
/// Throws: what the function throws.
template <std::invocable F>
std::invoke_result_t<F> blocking(F&& function) {
  using value = std::invoke_result_t<F>;
  using kept = std::conditional_t<
      std::is_void_v<value>, std::monostate,
      std::conditional_t<std::is_reference_v<value>, std::add_pointer_t<value>, std::optional<value>>>;
  struct call : detail::blocking_call {
    explicit call(F& f) noexcept : blocking_call{&run_it}, function(f) {}

    static void run_it(blocking_call& self) noexcept {
      auto& mine = static_cast<call&>(self);
      try {
        if constexpr (std::is_void_v<value>) {
          std::invoke(std::forward<F>(mine.function));
        } else if constexpr (std::is_reference_v<value>) {
          mine.result = std::addressof(std::invoke(std::forward<F>(mine.function)));
        } else {
          mine.result.emplace(std::invoke(std::forward<F>(mine.function)));
        }
      } catch (...) {
        mine.error = std::current_exception();
      }
    }

    std::remove_reference_t<F>& function;
    kept result{};
    std::exception_ptr error;
  };
  call made(function);
  detail::run_blocking(made);
  if (made.error) std::rethrow_exception(made.error);
  if constexpr (std::is_reference_v<value>) {
    return static_cast<value>(*made.result);
  } else if constexpr (!std::is_void_v<value>) {
    return std::move(*made.result);
  }
}

}  // namespace weft
