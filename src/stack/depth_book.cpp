// SPDX-License-Identifier: Apache-2.0

#include "stack/depth_book.hpp"

#include <algorithm>
#include <exception>
#include <tuple>

namespace weft::impl {

void depth_book::note(detail::source_site where, std::size_t depth, std::size_t stack) noexcept try {
  const std::scoped_lock hold(lock_);
  stack_use& use = uses_[{where.file, where.line}];
  if (use.samples == 0) {
    use.file = where.file == nullptr ? "" : where.file;
    use.line = where.line;
  }
  ++use.samples;
  if (depth <= use.deepest) return;
  use.deepest = depth;
  use.stack = stack;
} catch (const std::exception&) {
  // Without memory nothing is noted; what is measured next may be.
}

// One file may have its name in several places.
std::vector<stack_use> depth_book::list() const {
  std::vector<stack_use> all;
  {
    const std::scoped_lock hold(lock_);
    for (const auto& [where, use] : uses_) all.push_back(use);
  }
  std::sort(all.begin(), all.end(), [](const stack_use& a, const stack_use& b) {
    return std::tie(a.file, a.line) < std::tie(b.file, b.line);
  });
  return all;
}

}  // namespace weft::impl
