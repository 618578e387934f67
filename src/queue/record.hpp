// SPDX-License-Identifier: Apache-2.0
//
// record — what every task record begins with: its link, its name, and the home it goes back to.
//
// A record is memory that is used again and again, so its address alone does not say which task is meant. Its name
// does: the position, which never changes, and the generation, which counts how often the record came to life and
// died. A *handle* is the name of a living record, handed to somebody who does not keep it alive; it is good until
// the record is freed and for nothing ever after.
//
// Thread safety: a record belongs to one thread at a time; its name may be read by any.
// Invariants:   N1  a name is live exactly while its generation is odd
//               N2  no two lives have the same name: a record whose generations have come round is not used again
#pragma once

#include "base/cache_line.hpp"
#include "base/runnable.hpp"
#include "queue/run_stack.hpp"
#include "sys/platform.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace weft::impl {

/// Names one life of one record, in 64 bits that may travel through a C interface. Only the slab it came from can
/// say what it is worth.
class record_handle {
 public:
  /// The handle of nothing.
  constexpr record_handle() noexcept = default;

  [[nodiscard]] constexpr std::uint64_t word() const noexcept { return word_; }
  /// Any word will do: resolve() tells good from bad.
  [[nodiscard]] static constexpr record_handle from_word(std::uint64_t word) noexcept {
    record_handle made;
    made.word_ = word;
    return made;
  }

  [[nodiscard]] constexpr explicit operator bool() const noexcept { return word_ != 0; }
  friend constexpr bool operator==(record_handle, record_handle) noexcept = default;

 private:
  std::uint64_t word_ = 0;
};

/// A record's name: the position in the low bits, the generation in all others.
template <unsigned PositionBits>
class basic_record_name {
  static_assert(PositionBits >= 1 && PositionBits <= 62, "a generation has two bits at least");

 public:
  static constexpr unsigned position_bits = PositionBits;
  static constexpr std::uint64_t position_mask = (std::uint64_t{1} << PositionBits) - 1;
  static constexpr std::uint64_t one_generation = std::uint64_t{1} << PositionBits;

  /// The name of a record that has never lived.
  [[nodiscard]] static constexpr basic_record_name first_of(std::uint64_t position) noexcept {
    return from_word(position & position_mask);
  }
  [[nodiscard]] static constexpr basic_record_name from_word(std::uint64_t word) noexcept {
    basic_record_name made;
    made.word_ = word;
    return made;
  }

  [[nodiscard]] constexpr std::uint64_t word() const noexcept { return word_; }
  [[nodiscard]] constexpr std::uint64_t position() const noexcept { return word_ & position_mask; }
  [[nodiscard]] constexpr bool is_live() const noexcept { return (word_ & one_generation) != 0; }  // N1

  /// The name after the next change: a free record comes to life, a live one dies.
  [[nodiscard]] constexpr basic_record_name next() const noexcept {
    return from_word(word_ + one_generation);
  }
  /// Whether the last change has used the generations up: the next life would have the name of the first.
  [[nodiscard]] constexpr bool came_round() const noexcept { return (word_ & ~position_mask) == 0; }

 private:
  std::uint64_t word_ = 0;
};

/// The one part of a home that others may touch: where its records are returned.
template <class Platform>
struct alignas(contended_bytes) basic_letterbox {
  basic_letterbox(std::uint32_t home, void* of) noexcept : home_number(home), owner(of) {}

  basic_run_stack<Platform> returned;
  const std::uint32_t home_number;
  void* const owner;  // whose slab it is
};

/// Where in a record its body lies, for a type that has it inside: as its `inner_body`.
struct record_body {
  std::size_t offset = 0;
  std::size_t bytes = 0;
};

/// The base of a record. What a slab hands out derives from it, is made once when the record's memory is first used,
/// and stays until the slab goes: whoever walks over all records may look at any of them at any time.
template <class Platform>
class basic_record : public run_link<Platform> {
 public:
  basic_record() noexcept = default;
  basic_record(const basic_record&) = delete;
  basic_record& operator=(const basic_record&) = delete;

  /// The handle of this life. For whoever holds the record, published and not yet freed.
  [[nodiscard]] record_handle handle() const noexcept {
    // relaxed: the caller holds the record, so the name does not change.
    return record_handle::from_word(name_.load(std::memory_order_relaxed));
  }

  /// Where in a record its name is; for debuggers.
  [[nodiscard]] static std::size_t name_offset(const basic_record& one) noexcept {
    return static_cast<std::size_t>(reinterpret_cast<const std::byte*>(&one.name_) -
                                    reinterpret_cast<const std::byte*>(&one));
  }

  /// Whose slab it belongs to, as the slab was told.
  [[nodiscard]] void* slab_owner() const noexcept { return home_.read()->owner; }

 protected:
  ~basic_record() = default;

 private:
  template <class, class, class>
  friend class basic_record_home;
  template <class, class, class>
  friend class basic_record_slab;

  typename Platform::template atomic<std::uint64_t> name_{0};
  typename Platform::template plain<basic_letterbox<Platform>*> home_{nullptr};
};

}  // namespace weft::impl
