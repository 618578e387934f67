// SPDX-License-Identifier: Apache-2.0
//
// race_identity — who runs, in ThreadSanitizer's eyes. In all other builds this is nothing.
//
// ThreadSanitizer finds races between threads. Tasks that run one after the other on one worker would be one thread to
// it, and races between them, which are real on another day, would stay hidden. So each task, and each second half of a
// join, is a thread of its own, ordered after its spawn and before its join and by nothing else. What belongs to a
// worker is touched by a further one, the worker itself: library code that runs in a task changes over to it. The worker's
// own loads and stores are not looked at: its loops stand on the stacks of tasks, between their frames. (The queues have
// tests of their own, where they are.)
//
// In a context of one thread tasks take turns, and may rely on that: there, each turn is ordered before the next.
//
// Two tasks that stand on one stack, one after the other, must be ordered, or all their locals would race. So fresh tasks
// are put on stacks in turn: only tasks that are far apart share one.
//
// Programs and the library must be built with the same sanitizers.
#pragma once

#include <weft/config.hpp>
#include <weft/detail/sanitizers.hpp>

namespace weft::detail {

#if WEFT_THREAD_SANITIZER

/// Become the worker; returns who one was before. Nobody on a thread that is no worker.
[[nodiscard]] WEFT_EXPORT void* become_worker() noexcept;
WEFT_EXPORT void become_again(void* before) noexcept;

/// Code that touches what belongs to the worker.
class runtime_section {
 public:
  __attribute__((always_inline)) runtime_section() noexcept : before_(become_worker()) {}
  runtime_section(const runtime_section&) = delete;
  runtime_section& operator=(const runtime_section&) = delete;
  __attribute__((always_inline)) ~runtime_section() {
    if (before_ != nullptr) become_again(before_);
  }

 private:
  void* const before_;
};

/// The second half of a join always runs as a task of its own, on a stack of its own: on its caller's its locals would lie
/// where those of the first half have been, and race with them.
inline constexpr bool join_takes_back = false;
/// What has been done so far is seen by the arm.
WEFT_EXPORT void begin_arms(void* edge) noexcept;

#else

class runtime_section {
 public:
  runtime_section() noexcept {
  }  // NOLINT(modernize-use-equals-default): so that a variable of it counts as used
};
inline constexpr bool join_takes_back = true;
inline void begin_arms(void* /*edge*/) noexcept {}

#endif

}  // namespace weft::detail
