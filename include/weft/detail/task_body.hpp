// SPDX-License-Identifier: Apache-2.0
//
// task_body — how a closure and what comes out of it share the body of a record.
#pragma once

#include <weft/cancelled.hpp>
#include <weft/detail/at_end.hpp>
#include <weft/detail/task_access.hpp>
#include <weft/detail/task_code.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <memory>
#include <type_traits>
#include <utility>

namespace weft::detail {

/// What is too large for a record lies on the heap, and a pointer to it in the record. So does what may throw when it is moved: a
/// result takes the place of its closure when there is no way back.
template <class T>
inline constexpr bool fits_task_body =
    std::conjunction_v<std::bool_constant<sizeof(T) <= task_body_bytes>,
                       std::bool_constant<alignof(T) <= task_body_alignment>,
                       std::is_nothrow_move_constructible<T>>;
template <class T>
using in_task_body = std::conditional_t<fits_task_body<T>, T, std::unique_ptr<T>>;

struct nothing {};

/// A result as it is kept: void as nothing, a reference as a pointer.
template <class R>
struct kept_result {
  using type = R;
};
template <>
struct kept_result<void> {
  using type = nothing;
};
template <class R>
struct kept_result<R&> {
  using type = R*;
};

/// Moves the value out of a body, which is empty then.
template <class R>
R take_result(void* body) {
  using kept = typename kept_result<R>::type;
  auto& held = *static_cast<in_task_body<kept>*>(body);
  const at_end clear([&held] { std::destroy_at(&held); });
  if constexpr (std::is_reference_v<R>) {
    return *held;
  } else if constexpr (!std::is_void_v<R>) {
    if constexpr (fits_task_body<kept>) {
      return std::move(held);
    } else {
      return std::move(*held);
    }
  }
}

/// Whether a closure can be copied as bytes, and is copied so into a record.
template <class F>
inline constexpr bool is_closure_of_words = std::is_trivially_copyable_v<F>&& fits_task_body<F>;

/// A copy of it, padded to words.
template <class F>
class closure_copy {
 public:
  explicit closure_copy(const F& closure) noexcept { std::memcpy(words_, &closure, sizeof(F)); }
  [[nodiscard]] closure_words get() const noexcept { return {words_, count}; }

 private:
  static constexpr std::size_t count = (sizeof(F) + sizeof(std::uint64_t) - 1) / sizeof(std::uint64_t);
  std::uint64_t words_[count]{};
};

/// The closure F, which returns R.
template <class F, class R>
class task_body {
  using kept = typename kept_result<R>::type;

 public:
  template <class Function>
  static void put(void* body, Function&& function) {
    if constexpr (fits_task_body<F>) {
      new (body) F(std::forward<Function>(function));
    } else {
      new (body) std::unique_ptr<F>(std::make_unique<F>(std::forward<Function>(function)));
    }
  }

 private:
  static task_outcome run(void* body) noexcept {
    auto& held = *static_cast<in_task_body<F>*>(body);
    try {
      if constexpr (std::is_void_v<R>) {
        call(held);
        std::destroy_at(&held);
      } else if constexpr (std::is_reference_v<R>) {
        R returned = call(held);
        std::destroy_at(&held);
        new (body) kept(std::addressof(returned));
      } else if constexpr (fits_task_body<kept>) {
        kept returned = call(held);
        std::destroy_at(&held);
        new (body) kept(std::move(returned));
      } else {
        auto returned = std::unique_ptr<kept>(new kept(call(held)));
        std::destroy_at(&held);
        new (body) std::unique_ptr<kept>(std::move(returned));
      }
      return task_outcome::value;
    } catch (const cancelled&) {
      std::destroy_at(&held);
      return task_outcome::cancelled;
    } catch (...) {
      std::exception_ptr error = std::current_exception();
      std::destroy_at(&held);
      new (body) std::exception_ptr(std::move(error));
      return task_outcome::error;
    }
  }

  static R call(in_task_body<F>& held) {
    if constexpr (fits_task_body<F>) {
      return static_cast<R>(std::move(held)());
    } else {
      return static_cast<R>(std::move(*held)());
    }
  }

  static void drop(void* body) noexcept { std::destroy_at(static_cast<in_task_body<F>*>(body)); }

  static void clear(void* body) noexcept { std::destroy_at(static_cast<in_task_body<kept>*>(body)); }

 public:
  static constexpr task_code code{
      .run = &run,
      .drop = &drop,
      .clear = std::is_trivially_destructible_v<in_task_body<kept>> ? nullptr : &clear};
};

}  // namespace weft::detail
