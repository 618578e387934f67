// SPDX-License-Identifier: Apache-2.0
//
// depth_book — how deep those went that were spawned at one place, as far as they were measured.
//
// Thread safety: any thread. One lock: few are measured.
#pragma once

#include <weft/detail/source_site.hpp>
#include <weft/task_info.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

namespace weft::impl {

class depth_book {
 public:
  /// Somebody that was spawned there used so many bytes of a stack of that size. Where there is no memory, it is not noted.
  void note(detail::source_site where, std::size_t depth, std::size_t stack) noexcept;

  /// What was noted so far, by file and line.
  [[nodiscard]] std::vector<stack_use> list() const;

 private:
  using place = std::pair<const char*, std::uint32_t>;

  mutable std::mutex lock_;
  std::map<place, stack_use> uses_;
};

}  // namespace weft::impl
