// SPDX-License-Identifier: Apache-2.0
//
// lone_cell — what stands for an atomic in a library that is built for one thread (WEFT_SINGLE_THREADED): a value.
#pragma once

#include <atomic>
#include <type_traits>
#include <utility>

namespace weft::detail {

/// Everything that weft asks of a std::atomic, as plain loads and stores. The orders mean nothing.
///
/// Thread safety: none.
template <class T>
class lone_cell {
  // For an address, fetch_add counts in elements: nobody uses it so.
  using difference = std::conditional_t<std::is_pointer_v<T>, int, T>;

 public:
  constexpr lone_cell() noexcept = default;
  // NOLINTNEXTLINE(google-explicit-constructor): as std::atomic's
  constexpr lone_cell(T value) noexcept : value_(value) {}
  lone_cell(const lone_cell&) = delete;
  lone_cell& operator=(const lone_cell&) = delete;
  ~lone_cell() = default;

  [[nodiscard]] T load(std::memory_order /*order*/) const noexcept { return value_; }
  void store(T value, std::memory_order /*order*/) noexcept { value_ = value; }
  T exchange(T value, std::memory_order /*order*/) noexcept { return std::exchange(value_, value); }

  bool compare_exchange_strong(T& expected, T desired, std::memory_order /*success*/,
                               std::memory_order /*failure*/) noexcept {
    if (value_ == expected) {
      value_ = desired;
      return true;
    }
    expected = value_;
    return false;
  }
  bool compare_exchange_strong(T& expected, T desired, std::memory_order order) noexcept {
    return compare_exchange_strong(expected, desired, order, order);
  }
  bool compare_exchange_weak(T& expected, T desired, std::memory_order success,
                             std::memory_order failure) noexcept {
    return compare_exchange_strong(expected, desired, success, failure);
  }
  bool compare_exchange_weak(T& expected, T desired, std::memory_order order) noexcept {
    return compare_exchange_strong(expected, desired, order, order);
  }

  T fetch_add(difference by, std::memory_order /*order*/) noexcept {
    return std::exchange(value_, static_cast<T>(value_ + by));
  }
  T fetch_sub(difference by, std::memory_order /*order*/) noexcept {
    return std::exchange(value_, static_cast<T>(value_ - by));
  }
  T fetch_or(difference bits, std::memory_order /*order*/) noexcept {
    return std::exchange(value_, static_cast<T>(value_ | bits));
  }
  T fetch_and(difference bits, std::memory_order /*order*/) noexcept {
    return std::exchange(value_, static_cast<T>(value_ & bits));
  }

 private:
  T value_{};
};

}  // namespace weft::detail
