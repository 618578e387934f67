// SPDX-License-Identifier: Apache-2.0
//
// environment — what whoever starts a program says of its runtimes, in variables whose names begin with WEFT_.
//
// They hold for what the program itself leaves open. A value that makes no sense is an error that names it, since a setting that
// is silently ignored is worse than none; a name that nobody knows is a warning, since it may be for another version.
//
// Thread safety: any thread, while nobody changes the environment.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace weft::impl {

/// Of one context.
inline constexpr std::uint32_t most_workers = 256;

/// How many workers: at first, and at most.
struct worker_range {
  std::uint32_t least = 0;
  std::uint32_t most = 0;

  friend bool operator==(const worker_range&, const worker_range&) noexcept = default;
};

struct environment_settings {
  std::optional<worker_range> workers;     ///< WEFT_WORKERS
  std::optional<std::size_t> stack_bytes;  ///< WEFT_STACK_SIZE
  std::optional<std::uint64_t> seed;       ///< WEFT_SEED
  bool prints_statistics = false;          ///< WEFT_STATS
  bool debugs_sysmon = false;              ///< WEFT_DEBUG_SYSMON
  bool debugs_stacks = false;              ///< WEFT_DEBUG_STACKS
};

/// What the variables say, each given as NAME=VALUE.
///
/// Throws: std::invalid_argument for a value that cannot be, in one sentence.
[[nodiscard]] environment_settings parse_environment(const char* const* variables);

/// The names among them that begin as weft's do and that nobody knows; and what was meant, more or less.
struct unknown_variable {
  std::string_view name;
  std::string_view nearest;  ///< empty where nothing is near
};
[[nodiscard]] std::vector<unknown_variable> find_unknown(const char* const* variables);

/// The same for this process, now. What is unknown is reported, once.
[[nodiscard]] environment_settings read_environment();

}  // namespace weft::impl
