// SPDX-License-Identifier: Apache-2.0

#include "model/ordered_calls.hpp"

#include "model/site.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>

namespace weft::model {
namespace {

/// The source with blanks in place of comments; lines and columns stay.
std::string without_comments(std::string_view source) {
  std::string text(source);
  for (std::size_t at = text.find("/*"); at != std::string::npos; at = text.find("/*", at)) {
    const std::size_t end = std::min(text.find("*/", at), text.size() - 2) + 2;
    std::replace_if(
        text.begin() + static_cast<std::ptrdiff_t>(at), text.begin() + static_cast<std::ptrdiff_t>(end),
        [](char c) { return c != '\n'; }, ' ');
  }
  for (std::size_t at = text.find("//"); at != std::string::npos; at = text.find("//", at)) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    std::fill(text.begin() + static_cast<std::ptrdiff_t>(at), text.begin() + static_cast<std::ptrdiff_t>(end),
              ' ');
  }
  return text;
}

/// Where the parenthesis closes that opens at `open`.
std::size_t closing(std::string_view text, std::size_t open) {
  int depth = 0;
  for (std::size_t at = open; at < text.size(); ++at) {
    if (text[at] == '(') ++depth;
    if (text[at] == ')' && --depth == 0) return at;
  }
  return text.size();
}

/// Whether what stands at `at` is a member of something: after a dot or an arrow.
bool follows_an_object(std::string_view text, std::size_t at) {
  return text.substr(0, at).ends_with('.') || text.substr(0, at).ends_with("->");
}

bool contains_any(std::string_view text, const auto& words) {
  return std::any_of(std::begin(words), std::end(words),
                     [&](std::string_view word) { return text.find(word) != std::string_view::npos; });
}

constexpr std::array<std::string_view, 9> atomic_calls{"load(",
                                                       "store(",
                                                       "exchange(",
                                                       "compare_exchange_strong(",
                                                       "compare_exchange_weak(",
                                                       "fetch_add(",
                                                       "fetch_sub(",
                                                       "fetch_or(",
                                                       "fetch_and("};
constexpr std::array<std::string_view, 3> barrier_calls{"Platform::light_barrier(",
                                                        "Platform::heavy_barrier(", "Platform::full_fence("};
/// Orders that are not relaxed, or are named elsewhere.
constexpr std::array<std::string_view, 6> orders{"memory_order_acquire",
                                                 "memory_order_release",
                                                 "memory_order_acq_rel",
                                                 "memory_order_seq_cst",
                                                 "Rules::",
                                                 "Orders::"};

}  // namespace

std::vector<ordered_call> ordered_calls(std::string_view source) {
  std::vector<ordered_call> found;
  const std::string text = without_comments(source);
  constexpr std::array<std::string_view, 3> seams{"class Platform", "typename Platform", "platform Platform"};
  if (!contains_any(text, seams)) return found;
  const auto line_of = [&](std::size_t at) {
    return static_cast<std::uint32_t>(
        1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n'));
  };
  const auto look_for = [&](std::string_view call, bool always) {
    for (std::size_t at = text.find(call); at != std::string::npos; at = text.find(call, at + 1)) {
      if (!always && !follows_an_object(text, at)) continue;
      const std::size_t open = at + call.size() - 1;
      const std::size_t close = closing(text, open);
      if (always || contains_any(std::string_view(text).substr(open, close - open), orders))
        found.push_back({line_of(at), line_of(close)});
    }
  };
  for (const std::string_view call : atomic_calls) look_for(call, false);
  for (const std::string_view call : barrier_calls) look_for(call, true);
  std::sort(found.begin(), found.end(),
            [](const ordered_call& a, const ordered_call& b) { return a.first_line < b.first_line; });
  return found;
}

std::vector<std::string> headers_below(const std::string& folder) {
  const std::filesystem::path root(repository_root());
  std::error_code wrong;
  std::vector<std::string> found;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root / folder, wrong)) {
    if (entry.path().extension() == ".hpp") found.push_back(entry.path().lexically_relative(root).string());
  }
  if (wrong) throw std::runtime_error(folder + ": cannot be read: " + wrong.message());
  std::sort(found.begin(), found.end());
  return found;
}

std::string repository_text(const std::string& short_name) {
  std::ifstream in(std::string(repository_root()) + '/' + short_name);
  if (!in) throw std::runtime_error(short_name + ": cannot be read");
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace weft::model
