// SPDX-License-Identifier: Apache-2.0
//
// checked_options — what a user asks of a runtime or of an execution context, made whole: what cannot be is refused by an error that
// names it, what was left open is filled in from the environment or chosen for the machine.
#pragma once

#include "sched/commons.hpp"
#include "sched/pool.hpp"

#include <weft/custom_context.hpp>
#include <weft/runtime_options.hpp>

#include <string_view>

namespace weft::impl {

struct core_options {
  commons_options all;
  pool_options first;
};

/// Throws: std::invalid_argument.
[[nodiscard]] core_options checked(const runtime_options& how);
[[nodiscard]] pool_options checked(std::string_view name, const context_options& how, const commons& in);
[[nodiscard]] pool_options checked(std::string_view name, const concurrent_options& how, const commons& in);
[[nodiscard]] pool_options checked(std::string_view name, const isolated_options& how, const commons& in);
[[nodiscard]] pool_options checked(std::string_view name, const custom_options& how);
[[nodiscard]] pool_options checked(std::string_view name, const wrapping_options& how, pool& inner);
[[nodiscard]] crew_size checked(worker_count wished, const commons& in);

}  // namespace weft::impl
