// SPDX-License-Identifier: Apache-2.0
//
// fault_handler — weft's place in the line of those who handle SIGSEGV.
//
// weft looks at the fault first, because only it knows its guards; what is not weft's goes to the handler that
// was there before, with its own signal mask and on the alternate stack, once only if it asked for that; or to
// the default action, which ends the process at the faulting instruction, so that a core file shows the culprit
// and not weft.
#pragma once

#include <weft/result.hpp>

#include <csignal>

namespace weft::impl {

/// Whether a fault was weft's business.
enum class fault_verdict { handled, not_ours };

/// Looks at a fault, on the alternate stack. Async-signal-safe.
using fault_examiner = fault_verdict (*)(const siginfo_t& info, void* signal_context) noexcept;

/// Puts weft first in line, once per process: a later call only replaces the examiner.
[[nodiscard]] result<void> install_fault_handler(fault_examiner examiner) noexcept;

}  // namespace weft::impl
