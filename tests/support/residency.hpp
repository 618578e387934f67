// SPDX-License-Identifier: Apache-2.0
//
// residency — which pages of a range have memory behind them.
#pragma once

#include "sys/memory.hpp"

#include <cstddef>
#include <vector>

namespace weft::testing {

inline std::vector<unsigned char> resident_pages(void* at, std::size_t bytes) {
  std::vector<unsigned char> present(bytes / impl::system_memory::page_size());
  impl::system_memory::residency(at, present.size(), present.data()).value();
  return present;
}

inline std::size_t count_resident(void* at, std::size_t bytes) {
  std::size_t count = 0;
  for (unsigned char page : resident_pages(at, bytes)) count += page;
  return count;
}

/// The lowest page with memory behind it, or nullptr.
inline char* lowest_resident(void* at, std::size_t bytes) {
  const std::vector<unsigned char> present = resident_pages(at, bytes);
  for (std::size_t i = 0; i < present.size(); ++i) {
    if (present[i] != 0) return static_cast<char*>(at) + i * impl::system_memory::page_size();
  }
  return nullptr;
}

}  // namespace weft::testing
