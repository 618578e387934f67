// SPDX-License-Identifier: Apache-2.0
//
// L, the lock-free pieces: what single operations of a work-stealing deque, and of a channel made of such deques, cost.
//
// Every program of these workloads keeps to the same terms. What is passed is a task of 24 bytes: function, argument,
// scope. Operations come in bursts of `burst` of one kind and then as many of the other, above `standing` tasks that
// stay in the deque, so that a pop is not one of the last task unless the variant is `last`. The figure is nanoseconds
// for a task that goes in and comes out.
//
//   L1  one thread: the owner pushes and pops. Variant `last`: one by one, on an empty deque.
//   L2  one thread: it pushes at one end and steals at the other; nobody else is about.
//   L3  two threads: the owner pushes and pops as in L1; a thief steals, works on what it stole for thief_work, and
//       steals again. The figure is the owner's, for each task that it pushed.
//   L4  one thread: a channel that has an end for each of two workers. Variant `local`: a worker sends to itself.
//       Variant `outside`: tasks are sent as by a thread that is not a worker, and received by a worker.
//
// In L2 and L3 weft has two kinds of deque, and the variant says which: `asymmetric` (the owner pays nothing, the thief
// a system call) or `symmetric`. For the peers the variants are the same.
#pragma once

#include "support/program.hpp"

#include <chrono>
#include <cstdint>
#include <string>

namespace weft::bench::pieces {

struct raw_task {
  void (*run)(void*);
  void* argument;
  void* scope;
};
static_assert(sizeof(raw_task) == 24);

inline constexpr std::uint64_t burst = 64;
inline constexpr std::uint64_t standing = 64;
inline constexpr std::chrono::microseconds thief_work{10};

/// A task that differs from its neighbours.
[[nodiscard]] inline raw_task numbered(std::uint64_t number) noexcept {
  return {nullptr, reinterpret_cast<void*>(number * 8), nullptr};
}

/// Makes the compiler believe that the task is run.
inline void use(const raw_task& task) noexcept {
  asm volatile("" : : "r"(task.run), "r"(task.argument), "r"(task.scope));
}

/// Puts `count` tasks in and takes them out again, a burst at a time.
template <class In, class Out>
void in_and_out(std::uint64_t count, In&& in, Out&& out) {
  for (std::uint64_t done = 0; done < count; done += burst) {
    for (std::uint64_t i = 0; i < burst; ++i) in(numbered(done + i));
    for (std::uint64_t i = 0; i < burst; ++i) out();
  }
}

/// What a thief does with a task that it has stolen.
inline void work_for(std::chrono::nanoseconds time) {
  const auto until = std::chrono::steady_clock::now() + time;
  while (std::chrono::steady_clock::now() < until) {
  }
}

}  // namespace weft::bench::pieces
