// SPDX-License-Identifier: Apache-2.0
//
// S, what one of the specifications behind weft demands and no other letter asks:
//
//   S1 awake   microseconds from the moment that a worker, which is busy and stays so, has spawned a task until that begins on
//              another worker, which has just run out of work [S2-125: less than 10]. Median.
//   S1 asleep  the same where the other one sleeps: the kernel's share is in it
//   S2         milliseconds to start 256 workers, run a task on each at the same time, and end them [S2-127]
#include "support/program.hpp"

#include <weft/runtime.hpp>
#include <weft/this_fiber.hpp>
#include <weft/version.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace {

namespace bench = weft::bench;
using steady = std::chrono::steady_clock;

void spin_until(steady::time_point then) {
  while (steady::now() < then) {
  }
}

/// One task, spawned by a task that does not let its worker go before the other has begun.
steady::duration steal_once() {
  std::atomic<steady::rep> began{0};
  const auto spawned = steady::now();
  auto child = weft::spawn(
      [&began] { began.store(steady::now().time_since_epoch().count(), std::memory_order_release); });
  while (began.load(std::memory_order_acquire) == 0) {
  }
  child.join();
  return steady::time_point(steady::duration(began.load())) - spawned;
}

double steal_us(const bench::options& opts, bool asleep) {
  const std::size_t count = opts.quick ? 300 : 1000;
  const auto rest = asleep ? std::chrono::microseconds(2000) : std::chrono::microseconds(5);
  return weft::run(
      [&] {
        std::vector<steady::duration> all;
        for (std::size_t i = 0; i < count; ++i) {
          spin_until(steady::now() +
                     rest);  // this worker stays busy; the other one runs out of work, and may fall asleep
          all.push_back(steal_once());
        }
        std::nth_element(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(count / 2), all.end());
        return std::chrono::duration<double, std::micro>(all[count / 2]).count();
      },
      {.workers = static_cast<std::uint32_t>(opts.threads)});
}

/// All of them wait for each other, so each is on a worker of its own.
double many_workers_ms() {
  constexpr std::uint32_t workers = 256;
  std::mutex lock;
  std::set<std::thread::id> seen;
  const std::int64_t taken = bench::elapsed_ns([&] {
    weft::runtime there({.workers = workers});
    std::atomic<std::uint32_t> here{0};
    std::vector<weft::handle<void>> all;
    for (std::uint32_t i = 0; i < workers; ++i) {
      all.push_back(there.spawn([&] {
        {
          const std::scoped_lock hold(lock);
          seen.insert(std::this_thread::get_id());
        }
        here.fetch_add(1);
        while (here.load() < workers) std::this_thread::yield();
      }));
    }
    for (weft::handle<void>& each : all) each.join();
  });
  if (seen.size() != workers) bench::fail(std::to_string(seen.size()) + " workers instead of 256");
  return static_cast<double>(taken) / 1e6;
}

}  // namespace

// NOLINTNEXTLINE(bugprone-exception-escape): without memory or threads the program may as well end
int main(int argc, char** argv) {
  const bench::options opts = bench::parse(argc, argv);
  if (opts.workload == "S1") {
    if (opts.variant != "awake" && opts.variant != "asleep") bench::refuse("unknown variant", opts.variant);
    bench::report(steal_us(opts, opts.variant == "asleep"), "us", "weft", WEFT_VERSION_STRING);
  } else if (opts.workload == "S2") {
    bench::report(many_workers_ms(), "ms", "weft", WEFT_VERSION_STRING);
  } else {
    bench::refuse("unknown workload", opts.workload);
  }
}
