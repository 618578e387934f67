// SPDX-License-Identifier: Apache-2.0
//
// thread_calls — who called whom on another thread, while it runs.
//
// The thread is interrupted by a signal (SIGURG, which does nothing where nobody expects it) and looks for itself. A system call that
// it is in may end with EINTR where it cannot be restarted. A handler that the program has for that signal still gets what is
// meant for it, if it was there before.
//
// Thread safety: any thread; one at a time asks, and the others wait.
#pragma once

#include <cstddef>
#include <span>
#include <sys/types.h>

namespace weft::impl {

/// Something that the thread does as well, in the handler: no lock, no allocation.
struct thread_question {
  void (*ask)(void* with) noexcept = nullptr;
  void* with = nullptr;
};

/// Sees to it that nothing is held in a forked child; once, before anybody asks: around a fork() whoever asks may hold what fork() waits
/// for.
void prepare_thread_calls() noexcept;

/// Finds where the thread is, and where its callers go on, innermost first.
///
/// Returns: how many were found; none if the thread is gone, or does not answer for 100 ms (the signal is blocked, or somebody else has
///          taken it): then nothing was asked.
[[nodiscard]] std::size_t find_thread_calls(pid_t thread, std::span<void*> found,
                                            thread_question also = {}) noexcept;

}  // namespace weft::impl
