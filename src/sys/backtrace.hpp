// SPDX-License-Identifier: Apache-2.0
//
// backtrace — who called whom, printed from wherever it went wrong.
#pragma once

#include <span>
#include <string>

namespace weft::impl {

/// Loads what a backtrace needs, so that one can be made later inside a signal handler.
void prepare_backtrace() noexcept;

/// Reports the calls that led here, innermost first, one a line; those above the instruction at `from`, if it is
/// given and found, are left out (a fault handler's own). Names need the program linked with -rdynamic (CMake:
/// ENABLE_EXPORTS); without it addresses are printed, which addr2line can read. Takes no lock.
void report_backtrace(const void* from = nullptr) noexcept;

/// Reports calls that were found elsewhere.
void report_calls(std::span<void* const> calls) noexcept;

/// One of them in words, as report_backtrace() prints it, but with the name as it is written in C++.
///
/// Throws: std::bad_alloc.
[[nodiscard]] std::string describe_call(int number, const void* address);

}  // namespace weft::impl
