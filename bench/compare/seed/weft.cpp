// SPDX-License-Identifier: Apache-2.0
//
// S, what one of the specifications behind weft demands and no other letter asks:
//
//   S1 forking  microseconds from the moment that a worker has spawned a task, and goes on with joins, until that task begins
//               on another worker, which has just run out of work [S2-125: less than 10]. Median.
//   S1 busy     the same where the one that has spawned it does not come by its deque again: a thief asks first, and takes by
//               itself after 20 us
//   S1 asleep   as the first, where the other one sleeps: the kernel's share is in it
//   S2          milliseconds to start 256 workers, run a task on each at the same time, and end them [S2-127]
#include "support/program.hpp"

#include <weft/join.hpp>
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
template <class Meanwhile>
steady::duration steal_once(Meanwhile&& meanwhile) {
  std::atomic<steady::rep> began{0};
  const auto spawned = steady::now();
  auto child = weft::spawn([&began] {
    const auto now = steady::now();
    began.store(now.time_since_epoch().count(), std::memory_order_release);
    spin_until(now + std::chrono::microseconds(5));  // so that it was worth the trouble
  });
  while (began.load(std::memory_order_acquire) == 0) meanwhile();
  child.join();
  return steady::time_point(steady::duration(began.load())) - spawned;
}

template <class Meanwhile>
double steal_us(const bench::options& opts, std::chrono::microseconds rest, Meanwhile&& meanwhile) {
  const std::size_t count = opts.quick ? 300 : 1000;
  return weft::run(
      [&] {
        std::vector<steady::duration> all;
        for (std::size_t i = 0; i < count; ++i) {
          spin_until(steady::now() +
                     rest);  // this worker stays busy; the other one runs out of work, and may fall asleep
          all.push_back(steal_once(meanwhile));
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
    if (opts.variant != "forking" && opts.variant != "busy" && opts.variant != "asleep")
      bench::refuse("unknown variant", opts.variant);
    const auto rest = std::chrono::microseconds(opts.variant == "asleep" ? 2000 : 5);
    const auto fork = [] { weft::join([] {}, [] {}); };
    const double us = opts.variant == "busy" ? steal_us(opts, rest, [] {}) : steal_us(opts, rest, fork);
    bench::report(us, "us", "weft", WEFT_VERSION_STRING);
  } else if (opts.workload == "S2") {
    bench::report(many_workers_ms(), "ms", "weft", WEFT_VERSION_STRING);
  } else {
    bench::refuse("unknown workload", opts.workload);
  }
}
