// SPDX-License-Identifier: Apache-2.0
//
// guard — makes the pages below a stack untouchable, in the best way that really works here.
//
// The light way (Linux 6.13 and newer) leaves the mapping whole, so a million stacks are one mapping. That the
// call succeeds proves nothing: an emulator may accept any advice and do nothing. So it is proven once, before
// it is relied on, by asking the kernel to read a guarded byte. Everywhere else pages are protected, which
// splits the mapping in two per stack, and the kernel allows a process some 65,530 mappings.
//
// Thread safety: any thread.
#pragma once

#include "base/planted.hpp"
#include "base/report.hpp"
#include "stack/stack_slot.hpp"
#include "sys/platform.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace weft::impl {

/// Guards made by protection in this process now, by all pools together. relaxed throughout: it is a count
/// that bounds, and a guard more or less does no harm.
inline std::atomic<std::size_t> split_guards{0};

/// How many guards by protection a process may have: two mappings each, and an eighth of the kernel's limit
/// is left to everybody else in the process, who would fail in stranger ways.
template <memory_provider Memory>
[[nodiscard]] std::size_t split_guard_limit() noexcept {
  const std::size_t limit = Memory::mapping_limit().value_or(65530);
  return (limit - limit / 8) / 2;
}

/// Finds out what works here, by trying. Says so, once, if it is not the light way.
template <memory_provider Memory>
[[nodiscard]] guard_method probe_guard_method() noexcept {
  const result<void*> page = Memory::reserve(guard_bytes);
  if (!page) return guard_method::protection;  // the first stack will report what is wrong
  const bool works = Memory::guard_light(*page, guard_bytes).has_value() &&
                     (planted::guards_believed_unproven || Memory::guard_holds(*page));
  Memory::release(*page, guard_bytes);
  if (works) return guard_method::light;

  static constinit notice_once fallback;
  text_line line;
  line << "this kernel cannot guard stacks without splitting mappings (Linux 6.13 and newer can); ";
  if (const auto limit = Memory::mapping_limit()) {
    line << "with vm.max_map_count=" << std::uint64_t{*limit} << " about "
         << std::uint64_t{split_guard_limit<Memory>()}
         << " stacks are possible; raise vm.max_map_count for more";
  } else {
    line << "the number of stacks is bounded by the kernel's limit on mappings";
  }
  fallback.say(line);
  return guard_method::protection;
}

/// Says, once, why there will be no more stacks.
inline void announce_mapping_limit(std::size_t guards, std::optional<std::size_t> limit) noexcept {
  static constinit notice_once exhausted;
  text_line line;
  line << "no guard for another stack: " << std::uint64_t{guards} << " stacks take two mappings each";
  if (limit) {
    line << ", and vm.max_map_count=" << std::uint64_t{*limit}
         << "; raise it: sysctl -w vm.max_map_count=" << std::uint64_t{*limit * 4};
  }
  exhausted.say(line);
}

/// Guards [at, at + guard_bytes), by protection only while there are fewer than `split_limit` such guards.
///
/// Returns: how it was done; errc::mapping_limit where no mapping may be split any more.
template <memory_provider Memory>
[[nodiscard]] result<guard_method> install_guard(guard_method method, void* at,
                                                 std::size_t split_limit) noexcept {
  if (method == guard_method::light) {
    if (Memory::guard_light(at, guard_bytes)) return guard_method::light;
    // Memory locked by mlockall() refuses light guards on some kernels: protect this one instead.
  }
  const std::size_t others = split_guards.fetch_add(1, std::memory_order_relaxed);
  std::error_code refused = errc::mapping_limit;
  if (others < split_limit) {
    const result<void> done = Memory::guard_by_protection(at, guard_bytes);
    if (done) return guard_method::protection;
    if (done.error() != std::errc::not_enough_memory) refused = done.error();  // not the limit on mappings
  }
  split_guards.fetch_sub(1, std::memory_order_relaxed);
  if (refused == errc::mapping_limit) announce_mapping_limit(others, Memory::mapping_limit());
  return refused;
}

}  // namespace weft::impl
