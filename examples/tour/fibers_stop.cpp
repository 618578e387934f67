// SPDX-License-Identifier: Apache-2.0
//
// Sixth stop: a million fibers that wait at the same time, and are woken.

#include "stack/stack_pool.hpp"
#include "sys/process_memory.hpp"
#include "tour.hpp"

#include <weft/nursery.hpp>
#include <weft/runtime.hpp>
#include <weft/suspend.hpp>
#include <weft/this_fiber.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <optional>
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

// As many as asked for, or as fit into half of what the machine has free (a page and a record each).
std::size_t affordable(std::size_t wanted) {
  const std::optional<std::size_t> available = impl::available_memory_bytes();
  const std::size_t possible = available ? *available / 2 / (5 << 10) : wanted;
  if (possible >= wanted) return wanted;
  std::printf("   (memory is short here: %zu fibers instead of %zu)\n", possible, wanted);
  return possible;
}

}  // namespace

bool show_fibers(const options& how) {
  heading("6. Fibers: a million of them wait at the same time, each on a guarded stack of its own");
  std::size_t count = affordable(how.brief ? 100'000 : 1'000'000);
  if (impl::stack_pool().guards() == impl::guard_method::protection)
    count = std::min(count, impl::system_memory::mapping_limit().value_or(65530) / 3);
  crowd all(count);
  weft::run([&] { all.run(); });
  std::printf("   spawned until all wait   %8.0f ns each\n", all.park_ns);
  std::printf("   waiting                  %8.0f bytes of memory each\n", all.bytes);
  std::printf("   woken until all have run %8.0f ns each\n", all.wake_ns);
  return all.woken == count;
}

}  // namespace tour
