// SPDX-License-Identifier: Apache-2.0
//
// site — an operation in the code under test: which line, which kind, with which memory order.
//
// A site is where a mutant is planted, and what a trace shows. It is known by its file and line, which is why the
// code under test has at most one operation of a kind on a line.
#pragma once

#include <atomic>
#include <compare>
#include <cstdint>
#include <string>

namespace weft::model {

/// What the operation is. A compare-exchange has two sites on its line, one for each of its orders.
enum class operation : std::uint8_t {
  load,
  store,
  rmw,
  cas,
  cas_failure,
  full_fence,
  light_barrier,
  heavy_barrier
};

/// The place of an operation in the source.
struct place {
  const char* file = "";
  std::uint32_t line = 0;

  static constexpr place current(const char* file = __builtin_FILE(),
                                 std::uint32_t line = __builtin_LINE()) noexcept {
    return {file, line};
  }
};

/// Weakening one operation by one step. For fences and barriers `to` is unused: they are left out.
struct mutant {
  std::string file;
  std::uint32_t line = 0;
  operation what{};
  std::memory_order from{};
  std::memory_order to{};

  friend auto operator<=>(const mutant&, const mutant&) = default;
};

/// "acquire", "seq_cst", ...
[[nodiscard]] const char* name(std::memory_order order) noexcept;
[[nodiscard]] const char* name(operation what) noexcept;

/// The line of source at a place, without the blanks around it; empty where the file cannot be read.
[[nodiscard]] std::string source_line(const std::string& file, std::uint32_t line);

/// The folder of the repository.
[[nodiscard]] const char* repository_root() noexcept;

/// The file without the folders above the repository: src/queue/inbox.hpp.
[[nodiscard]] std::string short_file(const std::string& file);

}  // namespace weft::model
