// SPDX-License-Identifier: Apache-2.0
//
// record_directory — finds the block of memory in which a record lies, by the block's number.
//
// A table in two levels, so that it is small while there are few blocks and large enough for all there can be.
// Blocks are added by any home, never removed, and found by any thread without a lock. Entries are filled in order,
// so that the first empty one ends the table.
//
// Thread safety: any thread.
// Invariants:   D1  an entry, and a leaf, once filled stays as it is until the directory is destroyed
//               D2  an entry is filled only after all before it
#pragma once

#include "sys/platform.hpp"

#include <weft/result.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>

namespace weft::impl {

/// What precedes the records in their memory.
template <class Platform>
struct basic_record_block {
  basic_record_block(std::byte* first, std::uint32_t count, std::size_t size) noexcept
      : records(first), capacity(count), bytes(size) {}

  typename Platform::template plain<std::byte*> records;  // where the first one lies
  // Records [0, used) have been made; written by the block's home only.
  typename Platform::template atomic<std::uint32_t> used{0};
  const std::uint32_t capacity;
  const std::size_t bytes;  // of the whole block
};

/// Finds up to 2^(RootBits + LeafBits) blocks.
template <class Platform, unsigned RootBits, unsigned LeafBits>
class basic_record_directory {
 public:
  using block = basic_record_block<Platform>;
  static constexpr std::uint32_t capacity = std::uint32_t{1} << (RootBits + LeafBits);

  basic_record_directory() noexcept = default;
  basic_record_directory(const basic_record_directory&) = delete;
  basic_record_directory& operator=(const basic_record_directory&) = delete;
  ~basic_record_directory() {
    for (auto& entry : root_) {
      // relaxed: nobody else is here any more.
      if (leaf* const at = entry.load(std::memory_order_relaxed)) drop(at);
    }
  }

  /// Adds a block. Allocates now and then.
  ///
  /// Returns: its number; errc::out_of_memory, and then nothing has changed.
  [[nodiscard]] result<std::uint32_t> add(block& added) noexcept {
    for (std::uint32_t number = 0; number < capacity; ++number) {
      leaf* const in = leaf_to_fill(number);
      if (in == nullptr) break;
      auto& entry = in->entries[number % leaf_size];
      // relaxed, here and on failure: the block that is there is not looked at. D2: seen to be filled, and passed.
      if (entry.load(std::memory_order_relaxed) != nullptr) continue;
      block* none = nullptr;
      // [RD-block] pairs with find(): who finds the block sees what its home has written into it.
      if (entry.compare_exchange_strong(none, &added, std::memory_order_release, std::memory_order_relaxed)) {
        return number;
      }
    }
    return errc::out_of_memory;
  }

  /// The block of that number; null where there is none.
  [[nodiscard]] block* find(std::uint32_t number) const noexcept {
    if (number >= capacity) return nullptr;
    const leaf* const in = root_[number / leaf_size].load(std::memory_order_acquire);  // [RD-leaf]
    if (in == nullptr) return nullptr;
    return in->entries[number % leaf_size].load(std::memory_order_acquire);  // [RD-block]
  }

 private:
  static constexpr std::uint32_t leaf_size = std::uint32_t{1} << LeafBits;
  struct leaf {
    std::array<typename Platform::template atomic<block*>, leaf_size> entries{};
  };

  // The leaf with the entry of that number, made if there is none; null without memory.
  [[nodiscard]] leaf* leaf_to_fill(std::uint32_t number) noexcept {
    auto& entry = root_[number / leaf_size];
    leaf* there = entry.load(std::memory_order_acquire);  // [RD-leaf]
    if (there != nullptr) return there;
    void* const memory = Platform::allocate(sizeof(leaf), alignof(leaf));
    if (memory == nullptr) return nullptr;
    leaf* const made = new (memory) leaf;
    // [RD-leaf] pairs with find(): who sees the leaf sees that its entries are empty. acquire on failure: the leaf
    // is another home's then.
    if (entry.compare_exchange_strong(there, made, std::memory_order_release, std::memory_order_acquire)) {
      return made;
    }
    drop(made);
    return there;
  }

  static void drop(leaf* unused) noexcept {
    unused->~leaf();
    Platform::deallocate(unused, sizeof(leaf), alignof(leaf));
  }

  std::array<typename Platform::template atomic<leaf*>, std::size_t{1} << RootBits> root_{};
};

}  // namespace weft::impl
