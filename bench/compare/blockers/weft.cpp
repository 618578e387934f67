// SPDX-License-Identifier: Apache-2.0
//
// R1 for weft: plain tasks, in whose place sysmon brings other workers; or weft::blocking().
#include "compare/blockers/config.hpp"

#include <weft/blocking.hpp>
#include <weft/nursery.hpp>
#include <weft/this_fiber.hpp>
#include <weft/version.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace {

namespace bench = weft::bench;

bench::blocking::outcome round(bool is_told) {
  bench::blocking::outcome of;
  std::atomic<std::size_t> blocked{0};
  weft::nursery([&](weft::nursery& n) {
    of.taken_ns = bench::elapsed_ns([&] {
      for (std::size_t i = 0; i < bench::blocking::blockers; ++i) {
        n.spawn([&blocked, is_told] {
          if (is_told) {
            weft::blocking(bench::blocking::block);
          } else {
            bench::blocking::block();
          }
          blocked.fetch_add(1, std::memory_order_relaxed);
        });
      }
      weft::this_fiber::yield();
      for (std::size_t i = 0; i < bench::blocking::children; ++i)
        weft::spawn([&of] { ++of.answered; }).join();
    });
  });
  of.blocked = blocked.load();
  return of;
}

}  // namespace

// NOLINTNEXTLINE(bugprone-exception-escape): without memory or threads the program may as well end
int main(int argc, char** argv) {
  const bench::options opts = bench::parse(argc, argv);
  const bool is_told = bench::blocking::is_told(opts);
  return weft::run(
      [&] { bench::blocking::run(opts, "weft", WEFT_VERSION_STRING, [is_told] { return round(is_told); }); },
      {.workers = static_cast<std::uint32_t>(opts.threads)});
}
