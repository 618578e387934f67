// SPDX-License-Identifier: Apache-2.0
//
// where — in which execution context a test runs, and which error it was given.
#pragma once

#include <weft/execution_context.hpp>

#include <string>
#include <system_error>

namespace weft::testing {

/// The name of the context that the caller runs in.
inline std::string here() {
  const execution_context* const current = execution_context::current();
  return current == nullptr ? "nowhere" : std::string(current->name());
}

/// The error that the function throws; none if it does not.
template <class F>
std::error_code error_of(F&& f) {
  try {
    f();
  } catch (const std::system_error& error) {
    return error.code();
  }
  return {};
}

}  // namespace weft::testing
