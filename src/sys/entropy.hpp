// SPDX-License-Identifier: Apache-2.0
//
// entropy — the one number in weft that is not reproducible: a fresh seed, where nobody has set one.
#pragma once

#include <cstdint>

namespace weft::impl {

/// What Platform::entropy is in the shipping library. Thread safety: any thread.
struct system_entropy {
  /// A seed from the kernel; from the clock and an address where the kernel gives none.
  [[nodiscard]] static std::uint64_t seed() noexcept;
};

}  // namespace weft::impl
