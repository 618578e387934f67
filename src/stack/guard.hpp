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
#include "stack/stack_class.hpp"
#include "sys/platform.hpp"

#include <cstddef>

namespace weft::impl {

/// How guards are made.
enum class guard_method : unsigned char {
  light,       // MADV_GUARD_INSTALL
  protection,  // mprotect(PROT_NONE)
};

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
    line << "with vm.max_map_count=" << std::uint64_t{*limit} << " about " << std::uint64_t{*limit / 2}
         << " stacks are possible; raise vm.max_map_count for more";
  } else {
    line << "the number of stacks is bounded by the kernel's limit on mappings";
  }
  fallback.say(line);
  return guard_method::protection;
}

/// Guards [at, at + guard_bytes).
///
/// Returns: errc::mapping_limit where the kernel has no mapping left to split.
template <memory_provider Memory>
[[nodiscard]] result<void> install_guard(guard_method method, void* at) noexcept {
  if (method == guard_method::light) {
    if (Memory::guard_light(at, guard_bytes)) return {};
    // Memory locked by mlockall() refuses light guards on some kernels: protect this one instead.
  }
  if (Memory::guard_by_protection(at, guard_bytes)) return {};
  static constinit notice_once exhausted;
  text_line line;
  line << "no guard for another stack: the kernel's limit on mappings is reached";
  if (const auto limit = Memory::mapping_limit()) {
    line << " (vm.max_map_count=" << std::uint64_t{*limit}
         << "); raise it: sysctl -w vm.max_map_count=" << std::uint64_t{*limit * 4};
  }
  exhausted.say(line);
  return errc::mapping_limit;
}

}  // namespace weft::impl
