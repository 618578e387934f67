// SPDX-License-Identifier: Apache-2.0
//
// assert — how weft stops when something is wrong that must never be wrong.
//
// WEFT_CHECK stays in release builds; WEFT_ASSERT is there in debug builds only and costs nothing elsewhere.
// Both name the condition, the place, a sentence that says what it means, and who was running. Neither
// becomes an assumption of the optimiser: a wrong check in release must stop the program, not bend it.
//
// Thread safety: any thread, also in signal handlers: the report is made of write() calls alone.
#pragma once

#include <weft/config.hpp>

namespace weft::detail {

/// Prints "weft: check failed: ..." to standard error and aborts.
[[noreturn, gnu::cold]] WEFT_EXPORT void check_failed(const char* condition, const char* message,
                                                      const char* file, unsigned line) noexcept;

}  // namespace weft::detail

/// Stops the program, in every build, unless the condition holds; the message says what it means that it does not.
#define WEFT_CHECK(condition, message) \
  (WEFT_LIKELY(condition) ? void() : ::weft::detail::check_failed(#condition, message, __FILE__, __LINE__))

/// As WEFT_CHECK in debug builds; in release builds the condition is compiled but never evaluated.
#ifdef NDEBUG
#define WEFT_ASSERT(condition, message) void(sizeof((condition) ? 1 : 0))
#else
#define WEFT_ASSERT(condition, message) WEFT_CHECK(condition, message)
#endif
