// SPDX-License-Identifier: Apache-2.0
//
// top_word — the old end of a worker's deque in one word: where it begins, and which thief stands there.
//
// A deque deals with one thief at a time. It asks for work, or it has a claim on the oldest few, by the owner's leave or
// by its own; then it copies what it claimed and settles. Whoever the thief is in the way of replaces the word, and the
// thief will notice: nobody but itself, and the owner in answer to it, writes a word that says it has claimed something.
//
//                end      by      count
//     settled    head     0       0       nobody is there
//     asked      head     thief   0       it wants something
//     claimed    head+n   thief   n       it is about to take the oldest n
//
//     bits       0..31    32..47  48..63
//
// The end is the index of the oldest that is not claimed. The halves are such that the owner's two questions cost one
// comparison each: is my end above theirs (the low half), and does somebody ask (the high half is below 2^16 and
// not zero). Indices wrap: they are compared by their signed distance.
//
// Thread safety: as for any value.
// Invariants:   TW1  nobody has claimed: no count; a claim is of 1 to 65535
//               TW2  a thief stands at most once at a deque, so a word that names it belongs to what it does now
#pragma once

#include <weft/detail/assert.hpp>

#include <cstdint>

namespace weft::detail {

/// Names a thief among all that may come to the same deque at the same time. Zero names nobody.
enum class thief_id : std::uint16_t {};

/// How far `to` lies behind `from` in a sequence of indices that wraps; negative when it lies before it.
[[nodiscard]] constexpr std::int32_t index_distance(std::uint32_t from, std::uint32_t to) noexcept {
  return static_cast<std::int32_t>(to - from);
}

/// How far apart two of them are, whichever comes first.
[[nodiscard]] constexpr std::uint32_t index_gap(std::uint32_t one, std::uint32_t other) noexcept {
  return index_distance(one, other) < 0 ? one - other : other - one;
}
static_assert(index_gap(0, 0x80000000) == 0x80000000 && index_gap(0xffffffff, 2) == 3);

class top_word {
 public:
  static constexpr std::uint32_t most_claimed = 0xffff;

  /// Settled at zero: a word that means nobody.
  constexpr top_word() noexcept = default;

  [[nodiscard]] static constexpr top_word settled(std::uint32_t head) noexcept { return top_word(head); }
  [[nodiscard]] static constexpr top_word asked(std::uint32_t head, thief_id by) noexcept {
    return top_word(head | (static_cast<std::uint64_t>(by) << by_shift));
  }
  [[nodiscard]] static constexpr top_word claimed(std::uint32_t head, std::uint32_t count,
                                                  thief_id by) noexcept {
    // Checked in every build: a count that does not fit would make items vanish.
    WEFT_CHECK(count > 0 && count <= most_claimed && by != thief_id{},
               "TW1: a claim of nothing, of too many, or by nobody");
    return top_word(asked(head + count, by).word_ | (std::uint64_t{count} << count_shift));
  }

  [[nodiscard]] static constexpr top_word from_word(std::uint64_t word) noexcept { return top_word(word); }
  [[nodiscard]] constexpr std::uint64_t word() const noexcept { return word_; }

  /// The index of the oldest that is not claimed.
  [[nodiscard]] constexpr std::uint32_t end() const noexcept { return static_cast<std::uint32_t>(word_); }
  [[nodiscard]] constexpr std::uint32_t count() const noexcept {
    return static_cast<std::uint32_t>(word_ >> count_shift);
  }
  /// The index of the oldest.
  [[nodiscard]] constexpr std::uint32_t head() const noexcept { return end() - count(); }
  [[nodiscard]] constexpr thief_id by() const noexcept {
    return static_cast<thief_id>(word_ >> by_shift & 0xffff);
  }

  [[nodiscard]] constexpr bool is_settled() const noexcept { return high_half() == 0; }
  [[nodiscard]] constexpr bool is_asked() const noexcept { return high_half() - 1 < 0xffff; }
  [[nodiscard]] constexpr bool is_claimed() const noexcept { return high_half() > 0xffff; }

  friend constexpr bool operator==(top_word, top_word) noexcept = default;

 private:
  static constexpr unsigned by_shift = 32;
  static constexpr unsigned count_shift = 48;

  [[nodiscard]] constexpr std::uint32_t high_half() const noexcept {
    return static_cast<std::uint32_t>(word_ >> by_shift);
  }

  constexpr explicit top_word(std::uint64_t word) noexcept : word_(word) {}

  std::uint64_t word_ = 0;
};
static_assert(top_word::claimed(0xfffffffe, 5, thief_id{9}).end() == 3);
static_assert(top_word::claimed(0xfffffffe, 5, thief_id{9}).head() == 0xfffffffe);

}  // namespace weft::detail
