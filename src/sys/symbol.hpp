// SPDX-License-Identifier: Apache-2.0
//
// symbol — which module and exported function an address belongs to, found without a lock.
//
// dladdr() takes the loader's lock: in a fault handler it would wait for ever if another thread is inside
// dlopen(). Here the module comes from the loader's lock-free lookup (glibc 2.35 and newer) and the function
// from reading the module's own symbol table. On an older glibc nothing is found.
#pragma once

#include <cstdint>

namespace weft::impl {

/// What is known of an address; null and zero where nothing is.
struct symbol {
  const char* module = nullptr;  // the file; "" for the program itself
  std::uintptr_t module_base = 0;
  const char* name = nullptr;  // as the linker spells it; only exported functions have one
  std::uintptr_t address = 0;  // where the function begins
};

/// Async-signal-safe: takes no lock and allocates nothing.
[[nodiscard]] symbol find_symbol(const void* address) noexcept;

}  // namespace weft::impl
