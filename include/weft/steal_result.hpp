// SPDX-License-Identifier: Apache-2.0
//
// steal_result — what a thief brings home from a deque: an item, or the reason why there is none.
//
// There are two such reasons, and a thief should treat them differently: from an empty deque it goes on to the next
// one; after a lost race there may well be more, and trying again at once is worth while.
#pragma once

#include <weft/detail/assert.hpp>

#include <cstdint>
#include <type_traits>

namespace weft {

/// How an attempt to steal ended.
enum class steal_outcome : std::uint8_t {
  item,       ///< an item was taken, and is the thief's alone
  empty,      ///< nothing was there to take
  lost_race,  ///< somebody else took the item first; more may be there
};

/// An item, or why there is none.
///
/// Thread safety: as for any value.
template <class T>
class [[nodiscard]] steal_result {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  /// An item that was stolen.
  [[nodiscard]] static constexpr steal_result of(const T& item) noexcept { return steal_result(item, {}); }

  /// No item; `why` is empty or lost_race.
  [[nodiscard]] static constexpr steal_result none(steal_outcome why) noexcept {
    WEFT_ASSERT(why != steal_outcome::item, "a steal that brought an item must hold it");
    return steal_result(why);
  }

  /// How the attempt ended.
  [[nodiscard]] constexpr steal_outcome outcome() const noexcept { return outcome_; }

  /// Whether there is an item.
  [[nodiscard]] constexpr explicit operator bool() const noexcept { return outcome_ == steal_outcome::item; }

  /// The item; there must be one.
  [[nodiscard]] constexpr const T& operator*() const noexcept {
    WEFT_CHECK(outcome_ == steal_outcome::item, "the item of a steal that brought none was asked for");
    return held_.item;
  }

  /// A member of the item; there must be one.
  [[nodiscard]] constexpr const T* operator->() const noexcept { return &**this; }

 private:
  struct with_item {};
  constexpr steal_result(const T& item, with_item /*unused*/) noexcept
      : held_(item), outcome_(steal_outcome::item) {}
  constexpr explicit steal_result(steal_outcome why) noexcept : outcome_(why) {}

  union maybe {
    constexpr maybe() noexcept : nothing() {}
    constexpr explicit maybe(const T& one) noexcept : item(one) {}

    char nothing;
    T item;
  };

  maybe held_;
  steal_outcome outcome_;
};

}  // namespace weft
