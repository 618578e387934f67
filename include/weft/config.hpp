// SPDX-License-Identifier: Apache-2.0
//
// config — the handful of macros and the version that every other header builds on.
//
// Nothing here changes with the way a user compiles: the library and its users must agree on every type,
// so no type in weft depends on a macro that a user may set.
#pragma once

#include <weft/version.hpp>

/// Marks a symbol that users of the shared library may link against. Everything else stays hidden.
#define WEFT_EXPORT __attribute__((visibility("default")))

/// A hint that the branch is almost always taken.
#define WEFT_LIKELY(condition) __builtin_expect(static_cast<bool>(condition), 1)
