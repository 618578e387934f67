// SPDX-License-Identifier: Apache-2.0
//
// parked_calls — who called whom in a context that is parked.
#pragma once

#include "arch/context.hpp"

#include <cstddef>
#include <span>

namespace weft::impl {

/// Finds where the parked context goes on, and where its callers do, innermost first. Takes no lock and allocates nothing, after
/// prepare_backtrace(). The context is the caller's meanwhile: nobody may resume it.
///
/// Returns: how many were found; none where the switch is Boost's, whose contexts no unwinder knows.
[[nodiscard]] std::size_t find_parked_calls(const context& parked, std::span<void*> found) noexcept;

}  // namespace weft::impl
