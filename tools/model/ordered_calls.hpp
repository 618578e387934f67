// SPDX-License-Identifier: Apache-2.0
//
// ordered_calls — where the source asks for more than a relaxed order, a fence or a barrier: the places a mutant could
// be planted, whether a model comes there or not.
//
// Mutants are found by running models, so a place that no model reaches would have none, and nobody would notice. This
// reads the text instead. It knows the calls of the Platform seam and what their arguments look like, not C++.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace weft::model {

/// A call, from the line of its name to the line of its closing parenthesis.
struct ordered_call {
  std::uint32_t first_line = 0;
  std::uint32_t last_line = 0;

  friend bool operator==(const ordered_call&, const ordered_call&) = default;
};

/// The calls in a piece of source. Code that does not take a Platform has none: the seam is not in it.
[[nodiscard]] std::vector<ordered_call> ordered_calls(std::string_view source);

/// The headers below a folder of the repository, by their short names: those of the code under test.
///
/// Throws: std::runtime_error that names a folder which cannot be read.
[[nodiscard]] std::vector<std::string> headers_below(const std::string& folder);

/// The text of a file of the repository, by its short name.
///
/// Throws: std::runtime_error that names a file which cannot be read.
[[nodiscard]] std::string repository_text(const std::string& short_name);

}  // namespace weft::model
