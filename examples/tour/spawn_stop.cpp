// SPDX-License-Identifier: Apache-2.0
//
// Fifth stop: what it costs to run a function beside its caller, as a thread and as a task.

#include "tour.hpp"

#include <weft/nursery.hpp>
#include <weft/runtime.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <thread>
#include <vector>

namespace tour {
namespace {

// A million spawned, then all of them awaited; each has a byte of its own to write to.
double nursery_ns(long count, std::atomic<long>& ran) {
  std::vector<char> done(static_cast<std::size_t>(count));
  const double taken = weft::run([&] {
    return seconds([&] {
      weft::nursery([&](weft::nursery& n) {
        for (char& mine : done) n.spawn([&mine] { mine = 1; });
      });
    });
  });
  ran += std::count(done.begin(), done.end(), 1);
  return taken / static_cast<double>(count) * 1e9;
}

// One at a time.
double task_ns(long count, std::atomic<long>& ran) {
  return weft::run([&] {
    return seconds([&] {
             for (long i = 0; i < count; ++i)
               weft::spawn([&ran] { ran.fetch_add(1, std::memory_order_relaxed); }).join();
           }) /
           static_cast<double>(count) * 1e9;
  });
}
double thread_ns(long count, std::atomic<long>& ran) {
  return seconds([&] {
           for (long i = 0; i < count; ++i)
             std::thread([&ran] { ran.fetch_add(1, std::memory_order_relaxed); }).join();
         }) /
         static_cast<double>(count) * 1e9;
}

}  // namespace

bool show_spawn(const options& how) {
  heading("5. A task beside a thread: a function that runs beside its caller, and is awaited");
  const long tasks = how.brief ? 100'000 : 1'000'000;
  const long threads = how.brief ? 500 : 5'000;
  std::atomic<long> ran{0};
  const double thread = thread_ns(threads, ran);
  const double task = task_ns(tasks, ran);
  const double child = nursery_ns(tasks, ran);
  std::printf("   std::thread, one at a time      %8.0f ns each\n", thread);
  std::printf("   weft::spawn, one at a time      %8.0f ns each\n", task);
  std::printf("   a million in a weft::nursery    %8.0f ns each\n", child);
  return ran == threads + 2 * tasks;
}

}  // namespace tour
