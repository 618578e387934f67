// SPDX-License-Identifier: Apache-2.0
//
// Sixth stop: a million fibers that wait at the same time, and are woken.

#include "affordable.hpp"
#include "stack/stack_pool.hpp"
#include "sys/process_memory.hpp"
#include "tour.hpp"

#include <weft/nursery.hpp>
#include <weft/runtime.hpp>
#include <weft/suspend.hpp>
#include <weft/this_fiber.hpp>

#include <atomic>
#include <cstddef>
#include <vector>

namespace tour {
namespace {

namespace impl = weft::impl;

struct crowd {
  explicit crowd(std::size_t count) : waiting(count) {}

  std::vector<weft::resumer> waiting;
  std::atomic<std::size_t> parked{0};
  std::atomic<std::size_t> woken{0};
  double park_ns = 0;
  double wake_ns = 0;
  double bytes = 0;

  void run() {
    const auto n = static_cast<double>(waiting.size());
    const std::size_t before = impl::process_memory_now().resident_bytes;
    weft::nursery([&](weft::nursery& in) {
      park_ns = 1e9 / n * seconds([&] {
                  for (weft::resumer& mine : waiting) in.spawn([this, &mine] { wait(mine); });
                  while (parked != waiting.size()) weft::this_fiber::yield();
                });
      bytes = static_cast<double>(impl::process_memory_now().resident_bytes - before) / n;
      wake_ns = 1e9 / n * seconds([&] {
                  for (const weft::resumer& each : waiting) each.resume();
                  while (woken != waiting.size()) weft::this_fiber::yield();
                });
    });
  }

 private:
  void wait(weft::resumer& mine) {
    weft::suspend("the tour", [&](const weft::resumer& by) {
      mine = by;
      parked.fetch_add(1, std::memory_order_release);
    });
    woken.fetch_add(1, std::memory_order_relaxed);
  }
};

}  // namespace

bool show_fibers(const options& how) {
  heading("6. Fibers: a million of them wait at the same time, each on a guarded stack of its own");
  constexpr std::size_t bytes_each = 15 << 9;  // a page, a record, and half as much to spare
  const std::size_t count =
      affordable(how.brief ? 100'000 : 1'000'000, bytes_each, impl::stack_pool().guards());
  crowd all(count);
  weft::run([&] { all.run(); });
  std::printf("   spawned until all wait   %8.0f ns each\n", all.park_ns);
  std::printf("   waiting                  %8.0f bytes of memory each\n", all.bytes);
  std::printf("   woken until all have run %8.0f ns each\n", all.wake_ns);
  return all.woken == count;
}

}  // namespace tour
