// SPDX-License-Identifier: Apache-2.0
//
// memory — address space from the kernel: mapping, guarding, giving pages back.
//
// Thin wrappers that return what happened as a value; none of them reports through errno. The stack layer
// reaches them through the Platform seam, so that tests can let any of them fail or lie.
//
// Thread safety: any thread.
#pragma once

#include <weft/result.hpp>

#include <cstddef>
#include <optional>
#include <span>

namespace weft::impl {

/// How many places one system call guards at most.
inline constexpr std::size_t most_guarded_together = 64;

/// The real thing: what Platform::memory is in the shipping library.
struct system_memory {
  /// The size of a page; a power of two.
  [[nodiscard]] static std::size_t page_size() noexcept;

  /// Reserves zeroed, readable and writable address space that takes no memory until it is touched, and never
  /// in huge pages.
  [[nodiscard]] static result<void*> reserve(std::size_t bytes) noexcept;

  /// Gives a whole reservation back.
  static void release(void* at, std::size_t bytes) noexcept;

  /// Lets the pages of a range fault on any access, without splitting the mapping (Linux 6.13 and newer).
  /// A success here is a promise that some emulators break: see guard_holds().
  [[nodiscard]] static result<void> guard_light(void* at, std::size_t bytes) noexcept;

  /// The same for up to most_guarded_together ranges of that size by one system call (newer kernels). Returns how many of them, from
  /// the first on.
  [[nodiscard]] static std::size_t guard_light_each(std::span<void* const> at, std::size_t bytes) noexcept;

  /// The same by page protection, which works everywhere and splits the mapping.
  [[nodiscard]] static result<void> guard_by_protection(void* at, std::size_t bytes) noexcept;

  /// Whether the byte really cannot be read: the kernel itself is asked to read it.
  [[nodiscard]] static bool guard_holds(const void* at) noexcept;

  /// Gives the memory of whole pages back; they read as zero when touched next.
  [[nodiscard]] static result<void> discard(void* at, std::size_t bytes) noexcept;

  /// Sets present[i] to 1 if page i from `at` on has memory behind it now, else to 0. A page that was swapped
  /// out counts as not present.
  [[nodiscard]] static result<void> residency(void* at, std::size_t pages, unsigned char* present) noexcept;

  /// How many mappings the kernel lets a process have (vm.max_map_count), where it says so.
  [[nodiscard]] static std::optional<std::size_t> mapping_limit() noexcept;
};

}  // namespace weft::impl
