// SPDX-License-Identifier: Apache-2.0
//
// join — two functions, maybe at the same time, at the cost of a call.
//
//     long fib(int n) {
//       if (n < 2) return n;
//       auto [a, b] = weft::join([=] { return fib(n - 1); }, [=] { return fib(n - 2); });
//       return a + b;
//     }
//
// The second function is offered to other workers while the first one runs. Nearly always nobody comes for it, and the
// caller runs it itself: no allocation, no lock, no system call. If somebody has taken it, the caller waits as a fiber
// does: its worker finds other work.
#pragma once

#include <weft/detail/join_arm.hpp>
#include <weft/detail/worker_front.hpp>

#include <concepts>
#include <cstddef>
#include <exception>
#include <optional>
#include <type_traits>
#include <utility>

namespace weft {

/// What a function that returns nothing gives, where something is needed.
using nothing = detail::nothing;

/// Runs both functions, and returns what they return, as a pair: for a void function, weft::nothing. Returns nothing if both
/// do.
///
/// Both may wait, lock, spawn and join in turn. The second may run on another worker, as a task of its own. If the first one
/// throws, the second is not begun, or waited for if it was, and the exception is rethrown; otherwise what the
/// second one throws.
///
/// Do not hold a lock that belongs to a fiber over a join: the second function may run as another one.
///
/// Thread safety:      any task. A plain thread runs one after the other.
/// Cancellation point: no; what the functions wait for may be. But a request to stop that is made to the caller alone, by its handle or
///                     because of a sibling, is not seen by a second function that runs as a task of its own: it goes on to
///                     its end. runtime::request_cancel() and shutdown() reach it.
template <std::invocable First, std::invocable Second>
detail::join_result<First, Second> join(First&& first, Second&& second) {
  detail::worker_front* const here = detail::current_front();
  if (here == nullptr) return detail::join_in_turn(first, second);
  const void* const frame = __builtin_frame_address(0);
  if (!WEFT_LIKELY(static_cast<const std::byte*>(frame) > here->watermark))
    return detail::join_on_another_stack(first, second);
  detail::join_arm<Second> arm(second, frame);
  if (!WEFT_LIKELY(arm.push(*here))) return detail::join_in_turn(first, second);
  return arm.join(first);
}

namespace detail {

template <class First, class Second>
join_result<First, Second> join_on_another_stack(First& first, Second& second) {
  using result = join_result<First, Second>;
  struct request {
    First& first;
    Second& second;
    std::exception_ptr error;
    std::optional<std::conditional_t<std::is_void_v<result>, nothing, result>> given;
  } asked{first, second, nullptr, std::nullopt};
  call_on_another_stack(
      [](void* raw) noexcept {
        auto& self = *static_cast<request*>(raw);
        try {
          if constexpr (std::is_void_v<result>) {
            weft::join(self.first, self.second);
          } else {
            self.given.emplace(weft::join(self.first, self.second));
          }
        } catch (...) {
          self.error = std::current_exception();
        }
      },
      &asked);
  if (asked.error != nullptr) std::rethrow_exception(asked.error);
  if constexpr (!std::is_void_v<result>) return std::move(*asked.given);
}

}  // namespace detail
}  // namespace weft
