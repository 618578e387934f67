// SPDX-License-Identifier: Apache-2.0
//
// E, parking: one fiber spawns 1,000,000 that wait for something, on one worker.
//
//   E1 parked      resident bytes (VmRSS) a fiber, when all of them wait; the page tables (VmPTE) stand beside, as a note
//   E1 32 KB used  the same, where each has used 32 KB of its stack before it waits, and the system has had three seconds to give
//                  back what is not in use any more; 100,000 fibers, since without that they need 4 GB
//   E2             nanoseconds a fiber, from the first spawn until all of them wait
//
// With --quick they are a tenth as many. Boost.Fiber has 20,000, because its guarded stacks are two mappings each and a
// process may have 65,530. What a program needs itself to keep its fibers apart, it has before the first look at its memory.
// In the end all are woken and waited for.
#pragma once

#include "support/memory.hpp"
#include "support/program.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <thread>

namespace weft::bench::parking {

enum class question { bytes, bytes_after_use, time };

[[nodiscard]] inline question chosen(const options& opts) {
  if (opts.threads != 1) refuse("this workload runs on one thread, not on", std::to_string(opts.threads));
  if (opts.workload == "E2" && opts.variant.empty()) return question::time;
  if (opts.workload != "E1") refuse("unknown workload", opts.workload);
  if (opts.variant == "parked") return question::bytes;
  if (opts.variant == "32 KB used") return question::bytes_after_use;
  refuse("unknown variant", opts.variant);
}

/// How many fibers, of a system that can have so many at most.
[[nodiscard]] inline std::size_t fibers(const options& opts, question asked, std::size_t most = 1'000'000) {
  const std::size_t many = asked == question::bytes_after_use ? 100'000 : 1'000'000;
  return std::min(most, opts.quick ? many / 10 : many);
}

/// Uses 32 KB of the stack.
[[gnu::noinline]] inline void use_stack() {
  volatile std::uint8_t bytes[32 * 1024];
  for (std::size_t i = 0; i < sizeof bytes; i += 64) bytes[i] = 1;
}

/// Measures. park_all() spawns the fibers and returns when all of them wait; the memory was looked at before.
template <class ParkAll>
void run(const options& opts, const char* system, const char* version, std::size_t count,
         ParkAll&& park_all) {
  const question asked = chosen(opts);
  const memory before = memory_now();
  const std::int64_t taken = elapsed_ns(park_all);
  if (asked == question::bytes_after_use) std::this_thread::sleep_for(std::chrono::milliseconds(3000));
  const memory after = memory_now();
  const auto each = [&](std::int64_t bytes) {
    return static_cast<double>(bytes) / static_cast<double>(count);
  };
  if (asked == question::time) {
    report(each(taken), "ns", system, version);
  } else {
    const auto page_tables =
        static_cast<std::int64_t>(each(after.page_table_bytes - before.page_table_bytes));
    report_with_note(each(after.resident_bytes - before.resident_bytes), "bytes", system, version,
                     "page tables " + std::to_string(page_tables) + " bytes");
  }
}

}  // namespace weft::bench::parking
