// SPDX-License-Identifier: Apache-2.0
//
// W1 and W2: tasks of one worker, finished by two.
#pragma once

#include "compare/stealing/config.hpp"
#include "compare/stealing/worker.hpp"

#include <algorithm>
#include <atomic>
#include <vector>

namespace weft::bench::stealing {

/// W1.
template <class Scheme>
[[nodiscard]] measured throughput(const options& opts) {
  const shape& of = shape_called(opts.variant);
  crew<Scheme> both(opts.threads);
  worker<Scheme>& self = both.first();
  std::uint64_t spawned = 0;
  const auto round = [&] {
    for (std::uint64_t i = 0; i < of.tasks; ++i)
      self.spawn([](record& r) { work_steps(static_cast<std::uint32_t>(r.argument)); }, of.work);
    if (of.after.count() > 0) work_for(of.after);
    spawned += of.tasks;
    self.work_until([&] { return both.finished() == spawned; });
  };
  measured all = time_rounds(opts, round);
  all.value /= static_cast<double>(of.tasks);
  return all;
}

/// When the first task of a round of W2 began, in nanoseconds since the second worker was let go.
struct first_start {
  std::chrono::steady_clock::time_point let_go;
  std::atomic<std::int64_t> after{0};

  void note() {
    const auto since = std::chrono::steady_clock::now() - let_go;
    std::int64_t none = 0;
    after.compare_exchange_strong(none, since.count(), std::memory_order_relaxed, std::memory_order_relaxed);
  }
};

/// W2. Worker 1 is a thread of its own here, since it must not look before its time.
template <class Scheme>
[[nodiscard]] measured latency(const options& opts) {
  constexpr std::uint64_t tasks = 64;
  constexpr std::chrono::milliseconds long_task{1};
  const std::size_t rounds = opts.quick ? 150 : 300;

  worker<Scheme> busy(0);
  worker<Scheme> idle(1);
  busy.meet(idle);
  idle.meet(busy);
  first_start start;
  std::atomic<std::uint64_t> let_go{0};
  std::vector<double> figures;
  std::uint64_t spawned = 0;
  std::thread second([&] {
    for (std::uint64_t round = 1; round <= rounds; ++round) {
      while (let_go.load(std::memory_order_acquire) < round) impl::default_platform::pause();
      idle.work_until([&] { return busy.finished_published() + idle.finished_here() >= round * tasks; });
      idle.settle_accounts();
    }
  });
  const std::uint64_t barriers_before = detail::heavy_barrier_count();
  const std::int64_t taken = elapsed_ns([&] {
    for (std::uint64_t round = 1; round <= rounds; ++round) {
      for (std::uint64_t i = 0; i < tasks; ++i) {
        busy.spawn(
            [](record& r) {
              reinterpret_cast<first_start*>(r.argument)->note();
              work_steps(medium_work);
            },
            reinterpret_cast<std::uint64_t>(&start));
      }
      spawned += tasks;
      start.after.store(0, std::memory_order_relaxed);
      start.let_go = std::chrono::steady_clock::now();
      let_go.store(round, std::memory_order_release);
      work_for(long_task);
      busy.work_until([&] { return busy.finished_here() + idle.finished_published() == spawned; });
      busy.settle_accounts();
      figures.push_back(static_cast<double>(start.after.load(std::memory_order_relaxed)) * 1e-3);
    }
  });
  second.join();
  std::sort(figures.begin(), figures.end());
  return {figures[figures.size() / 2], detail::heavy_barrier_count() - barriers_before, taken};
}

}  // namespace weft::bench::stealing
