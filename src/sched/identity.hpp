// SPDX-License-Identifier: Apache-2.0
//
// identity — a task's own identity in ThreadSanitizer's eyes; <weft/detail/race_identity.hpp> says what for.
#pragma once

#include "sched/fiber.hpp"

#include <weft/detail/race_identity.hpp>

namespace weft::impl {

using detail::runtime_section;

#if WEFT_THREAD_SANITIZER

/// Whether fresh tasks are put on stacks in turn, and how many stacks take part.
inline constexpr bool tasks_change_stacks = true;
inline constexpr std::size_t stacks_in_turn = 32;

/// What was done so far is seen by who acquires the edge.
void release_edge(void* edge) noexcept;
void acquire_edge(void* edge) noexcept;

/// While it lives, loads and stores are not looked at: for whoever makes a worker, to which tasks come that know nothing of whoever that
/// was, but run on a thread that was started afterwards; and for a signal handler, which may come while it is not clear who runs.
class unwatched_section {
 public:
  unwatched_section() noexcept;
  unwatched_section(const unwatched_section&) = delete;
  unwatched_section& operator=(const unwatched_section&) = delete;
  ~unwatched_section();
};

/// From here on the thread's own identity is a worker's, and its loads and stores are not looked at.
void begin_worker() noexcept;
void end_worker() noexcept;

/// While it lives, what runs on the fiber's stack is a thread of its own. It has seen what was released at the edge, and
/// all that was done on the stack before. Made and destroyed by the loop of the stack, maybe on two workers.
class task_identity {
 public:
  task_identity(fiber& on, void* edge) noexcept;
  task_identity(const task_identity&) = delete;
  task_identity& operator=(const task_identity&) = delete;
  ~task_identity();

 private:
  fiber& on_;
};

/// The loop of a stack is the worker that it works for.
inline void identify_loop(fiber& loop, const context& thread) noexcept {
  loop.sanitizers.fiber = thread.sanitizers.fiber;
}
/// One that will not run again has that of somebody else.
inline void clear_identity(fiber& gone) noexcept { gone.sanitizers.fiber = nullptr; }

/// While it lives, the fiber's stack is another part of the caller's.
class borrowed_identity {
 public:
  borrowed_identity(fiber& on, const fiber& caller) noexcept;
  borrowed_identity(const borrowed_identity&) = delete;
  borrowed_identity& operator=(const borrowed_identity&) = delete;
  ~borrowed_identity();

 private:
  fiber& on_;
};

#else

inline constexpr bool tasks_change_stacks = false;
inline constexpr std::size_t stacks_in_turn = 0;

inline void release_edge(void* /*edge*/) noexcept {}
inline void acquire_edge(void* /*edge*/) noexcept {}
class unwatched_section {
 public:
  unwatched_section() noexcept {
  }  // NOLINT(modernize-use-equals-default): so that a variable of it counts as used
};
inline void begin_worker() noexcept {}
inline void end_worker() noexcept {}
class task_identity {
 public:
  task_identity(fiber& /*on*/, void* /*edge*/) noexcept {}
};
inline void identify_loop(fiber& /*loop*/, const context& /*thread*/) noexcept {}
inline void clear_identity(fiber& /*gone*/) noexcept {}
class borrowed_identity {
 public:
  borrowed_identity(fiber& /*on*/, const fiber& /*caller*/) noexcept {}
};

#endif

}  // namespace weft::impl
