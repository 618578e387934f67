// SPDX-License-Identifier: Apache-2.0
//
// affordable — how many stacks this machine can have at a time.
#pragma once

#include "stack/stack_pool.hpp"
#include "sys/process_memory.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <optional>

namespace tour {

/// As many as asked for, or as fit into three quarters of what the machine has free and into the mappings that a process may have.
inline std::size_t affordable(std::size_t wanted, std::size_t bytes_each, weft::impl::guard_method guards) {
  namespace impl = weft::impl;
  const std::optional<std::size_t> available = impl::available_memory_bytes();
  std::size_t count = wanted;
  if (const std::size_t possible = available ? *available / 4 * 3 / bytes_each : wanted; possible < wanted) {
    std::printf("   (memory is short here: %zu stacks instead of %zu)\n", possible, wanted);
    count = possible;
  }
  if (guards == impl::guard_method::protection) {
    count = std::min(count, impl::system_memory::mapping_limit().value_or(65530) / 3);
    std::printf("   (this kernel needs two mappings a stack: %zu stacks)\n", count);
  }
  return count;
}

}  // namespace tour
