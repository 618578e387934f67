// SPDX-License-Identifier: Apache-2.0
//
// W, moving work: one worker has all of it, a second one has none. How should it move?
//
// Every program of these workloads is the same two workers (worker.hpp) with another scheme of moving work between their
// deques (schemes.hpp); docs/decisions/0008 says which was chosen. A worker spawns tasks as records from a free list of
// its own, runs what is in its deque, robs the other when it has nothing, returns records to where they came from by
// the magazine, and counts what it has finished by itself.
//
//   W1  Worker 0 spawns the tasks of a round and waits until all are finished. The figure is nanoseconds a task.
//         trivial     1,000,000 tasks that do nothing
//         medium      100,000 tasks of about 300 ns
//         bursts      1,000 tasks that do nothing, again and again
//         few         32 tasks of about 300 ns, again and again
//         busy-owner  1,000 tasks of about 300 ns; then worker 0 is busy for 300 us with something else
//   W2  Worker 0 has 64 tasks and begins something that takes 1 ms; at that moment worker 1 begins to look for work. The
//       figure is the time until it runs the first task, in microseconds.
//   W3  fib(n) by joins, without a cut-off, again and again. The figure is nanoseconds a call.
#pragma once

#include "support/program.hpp"

#include <weft/detail/atomics.hpp>

#include <chrono>
#include <cstdint>
#include <string>

namespace weft::bench::stealing {

struct shape {
  const char* name;
  std::uint64_t tasks;
  std::uint32_t work;              // of one task, in steps of work_steps()
  std::chrono::nanoseconds after;  // what worker 0 does when it has spawned them
};

inline constexpr std::uint32_t medium_work = 330;  // about 300 ns on a machine of 2.7 GHz
inline constexpr shape shapes[] = {
    {"trivial", 1'000'000, 0, {}},
    {"medium", 100'000, medium_work, {}},
    {"bursts", 1'000, 0, {}},
    {"few", 32, medium_work, {}},
    {"busy-owner", 1'000, medium_work, std::chrono::microseconds(300)},
};

[[nodiscard]] inline const shape& shape_called(const std::string& name) {
  for (const shape& each : shapes) {
    if (name == each.name) return each;
  }
  refuse("unknown variant", name);
}

/// A chain of multiplications, each of which waits for the one before.
inline void work_steps(std::uint32_t steps) noexcept {
  std::uint64_t x = steps;
  for (std::uint32_t i = 0; i < steps; ++i) {
    x = x * 6364136223846793005U + 1442695040888963407U;
    asm volatile("" : "+r"(x));
  }
}

inline void work_for(std::chrono::nanoseconds time) {
  const auto until = std::chrono::steady_clock::now() + time;
  while (std::chrono::steady_clock::now() < until) {
  }
}

/// What a run has found.
struct measured {
  double value;            // in the unit of the workload
  std::uint64_t barriers;  // heavy ones
  std::int64_t taken_ns;
};

/// Repeats round() for about the time that a run should take, after one that does not count. The value is nanoseconds
/// a round.
template <class Round>
[[nodiscard]] measured time_rounds(const options& opts, Round&& round) {
  round();
  const std::uint64_t barriers_before = detail::heavy_barrier_count();
  std::uint64_t rounds = 0;
  std::int64_t taken = 0;
  for (std::uint64_t more = 1; taken < target_ns(opts); more *= 2) {
    taken += elapsed_ns([&] {
      for (std::uint64_t i = 0; i < more; ++i) round();
    });
    rounds += more;
  }
  const double each = static_cast<double>(taken) / static_cast<double>(rounds);
  return {each, detail::heavy_barrier_count() - barriers_before, taken};
}

}  // namespace weft::bench::stealing
