// SPDX-License-Identifier: Apache-2.0
//
// result — a value, or the reason why there is none.
//
// weft returns result<T> wherever a correct program must be ready for several kinds of failure. It has the
// shape of std::expected<T, std::error_code>, but is weft's own type in every language mode, so that C++20
// and C++23 users link the same library. Who prefers exceptions writes `.value()`.
//
// Use it for outcomes. For one possible reason (a closed channel) weft returns std::optional instead.
#pragma once

#include <weft/detail/assert.hpp>
#include <weft/error.hpp>

#include <concepts>
#include <functional>
#include <system_error>
#include <type_traits>
#include <utility>
#include <variant>

namespace weft {

template <class T>
class result;

namespace detail {
template <class T>
inline constexpr bool is_result = false;
template <class T>
inline constexpr bool is_result<result<T>> = true;

// An enumerator that converts to std::error_code, such as weft::errc.
template <class E>
concept error_enum = std::is_error_code_enum_v<std::remove_cvref_t<E>>;

// What a result<T> takes for its value: anything a T is made from, except what means an error or a result.
template <class U, class T>
concept value_for = std::constructible_from<T, U> && !is_result<std::remove_cvref_t<U>> &&
                    !std::same_as<std::remove_cvref_t<U>, std::error_code> && !error_enum<U>;
}  // namespace detail

/// Holds a T, or the std::error_code that says why there is none.
///
/// Example:
///     weft::result<int> parsed = parse(text);
///     if (!parsed) return parsed.error();
///     use(*parsed);
///
/// Thread safety: as for any value; two threads may read one result, none may write it meanwhile.
template <class T>
class [[nodiscard]] result {
  static_assert(std::is_object_v<T>, "weft::result<T> holds a value: use result<T*> for references");
  static_assert(!std::same_as<std::remove_cv_t<T>, std::error_code>, "an error code is already a result");

 public:
  /// The type of the value.
  using value_type = T;

  // NOLINTBEGIN(google-explicit-constructor): a function returns its value or its error as it is

  /// Holds a value made from `value`.
  template <detail::value_for<T> U = T>
  explicit(!std::convertible_to<U, T>) result(U&& value) noexcept(std::is_nothrow_constructible_v<T, U>)
      : state_(std::in_place_index<0>, std::forward<U>(value)) {}

  /// Holds the reason of a failure; `error` must not be the "no error" code.
  result(std::error_code error) noexcept : state_(std::in_place_index<1>, error) {
    WEFT_CHECK(error, "a result without a value needs an error code that says why");
  }

  /// Holds the reason of a failure, given as an enumerator such as weft::errc::closed.
  template <detail::error_enum E>
  result(E error) noexcept : result(make_error_code(error)) {}

  // NOLINTEND(google-explicit-constructor)

  /// Whether there is a value.
  [[nodiscard]] bool has_value() const noexcept { return state_.index() == 0; }

  /// Whether there is a value.
  [[nodiscard]] explicit operator bool() const noexcept { return has_value(); }

  /// The value; calling it without one is misuse and aborts.
  [[nodiscard]] T& operator*() & noexcept { return checked(*this); }
  /// The value; calling it without one is misuse and aborts.
  [[nodiscard]] const T& operator*() const& noexcept { return checked(*this); }
  /// The value, to be moved from; calling it without one is misuse and aborts.
  [[nodiscard]] T&& operator*() && noexcept { return std::move(checked(*this)); }

  /// A member of the value; calling it without one is misuse and aborts.
  [[nodiscard]] T* operator->() noexcept { return &checked(*this); }
  /// A member of the value; calling it without one is misuse and aborts.
  [[nodiscard]] const T* operator->() const noexcept { return &checked(*this); }

  /// The value, for those who prefer exceptions.
  ///
  /// Throws:    std::system_error with error() if there is none.
  T& value() & { return or_throw(*this); }
  /// The value, for those who prefer exceptions; throws std::system_error if there is none.
  [[nodiscard]] const T& value() const& { return or_throw(*this); }
  /// The value, to be moved from; throws std::system_error if there is none.
  T&& value() && { return std::move(or_throw(*this)); }

  /// The value, or `fallback` if there is none.
  template <std::convertible_to<T> U>
  [[nodiscard]] T value_or(U&& fallback) const& {
    return has_value() ? **this : static_cast<T>(std::forward<U>(fallback));
  }
  /// The value, moved out, or `fallback` if there is none.
  template <std::convertible_to<T> U>
  [[nodiscard]] T value_or(U&& fallback) && {
    return has_value() ? std::move(**this) : static_cast<T>(std::forward<U>(fallback));
  }

  /// Why there is no value, or the "no error" code if there is one.
  [[nodiscard]] std::error_code error() const noexcept {
    if (has_value()) return {};
    const std::error_code* const reason = std::get_if<1>(&state_);
    WEFT_CHECK(reason, "a weft::result is used whose assignment was ended by an exception");
    return *reason;
  }

  /// `f(value)`, which must be a result itself, or the error unchanged.
  template <class F>
  auto and_then(F&& f) & {
    return chain(*this, std::forward<F>(f));
  }
  /// `f(value)`, which must be a result itself, or the error unchanged.
  template <class F>
  auto and_then(F&& f) const& {
    return chain(*this, std::forward<F>(f));
  }
  /// `f(value)` with the value to be moved from, which must be a result itself, or the error unchanged.
  template <class F>
  auto and_then(F&& f) && {
    return chain(std::move(*this), std::forward<F>(f));
  }

  /// A result that holds `f(value)`, or the error unchanged.
  template <class F>
  auto transform(F&& f) & {
    return wrap(*this, std::forward<F>(f));
  }
  /// A result that holds `f(value)`, or the error unchanged.
  template <class F>
  auto transform(F&& f) const& {
    return wrap(*this, std::forward<F>(f));
  }
  /// A result that holds `f(value)` with the value to be moved from, or the error unchanged.
  template <class F>
  auto transform(F&& f) && {
    return wrap(std::move(*this), std::forward<F>(f));
  }

  /// Two results are equal if they hold equal values, or the same error.
  [[nodiscard]] friend bool operator==(const result& a,
                                       const result& b) requires std::equality_comparable<T> {
    return a.state_ == b.state_;
  }

 private:
  template <class Self>
  static auto& checked(Self& self) noexcept {
    WEFT_CHECK(self.has_value(), "the value of a weft::result that holds an error was used");
    return *std::get_if<0>(&self.state_);
  }

  template <class Self, class F>
  static auto chain(Self&& self, F&& f) {
    using next = std::remove_cvref_t<std::invoke_result_t<F, decltype(*std::forward<Self>(self))>>;
    static_assert(detail::is_result<next>,
                  "and_then needs a function that returns a weft::result; transform wraps");
    return self.has_value() ? std::invoke(std::forward<F>(f), *std::forward<Self>(self)) : next(self.error());
  }

  template <class Self, class F>
  static auto wrap(Self&& self, F&& f) {
    using next = std::remove_cv_t<std::invoke_result_t<F, decltype(*std::forward<Self>(self))>>;
    if (!self.has_value()) return result<next>(self.error());
    if constexpr (std::is_void_v<next>) {
      std::invoke(std::forward<F>(f), *std::forward<Self>(self));
      return result<next>();
    } else {
      return result<next>(std::invoke(std::forward<F>(f), *std::forward<Self>(self)));
    }
  }

  template <class Self>
  static auto& or_throw(Self& self) {
    if (!self.has_value()) throw std::system_error(self.error());
    return *std::get_if<0>(&self.state_);
  }

  std::variant<T, std::error_code> state_;
};

/// Success, or the std::error_code that says what failed: what a function returns that has nothing to give.
template <>
class [[nodiscard]] result<void> {
 public:
  /// The type of the value: there is none.
  using value_type = void;

  /// Success.
  result() noexcept = default;

  // NOLINTBEGIN(google-explicit-constructor): a function returns its error as it is

  /// Holds the reason of a failure; `error` must not be the "no error" code.
  result(std::error_code error) noexcept : error_(error) {
    WEFT_CHECK(error, "a failed result needs an error code that says why");
  }

  /// Holds the reason of a failure, given as an enumerator such as weft::errc::closed.
  template <detail::error_enum E>
  result(E error) noexcept : result(make_error_code(error)) {}

  // NOLINTEND(google-explicit-constructor)

  /// Whether it succeeded.
  [[nodiscard]] bool has_value() const noexcept { return !error_; }

  /// Whether it succeeded.
  [[nodiscard]] explicit operator bool() const noexcept { return has_value(); }

  /// Returns on success.
  ///
  /// Throws:    std::system_error with error() on failure.
  void value() const {
    if (error_) throw std::system_error(error_);
  }

  /// Why it failed, or the "no error" code.
  [[nodiscard]] std::error_code error() const noexcept { return error_; }

  /// Two results are equal if both succeeded, or both failed for the same reason.
  [[nodiscard]] friend bool operator==(const result&, const result&) noexcept = default;

 private:
  std::error_code error_;
};

}  // namespace weft
