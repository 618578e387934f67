// SPDX-License-Identifier: Apache-2.0
//
// R3 for weft: all tasks in the first context of the runtime, which gets more workers while those that it has are busy.
#include "compare/neighbour/config.hpp"

#include <weft/nursery.hpp>
#include <weft/this_fiber.hpp>
#include <weft/version.hpp>

#include <cstddef>
#include <cstdint>

// NOLINTNEXTLINE(bugprone-exception-escape): without memory or threads the program may as well end
int main(int argc, char** argv) {
  namespace bench = weft::bench;
  const bench::options opts = bench::parse(argc, argv);
  bench::neighbour::check(opts);
  return weft::run(
      [&] {
        bench::neighbour::contest here(opts);
        weft::nursery([&](weft::nursery& n) {
          for (std::size_t i = 0; i < here.noisy_tasks(); ++i)
            n.spawn([&here] { here.make_noise([] { weft::this_fiber::yield(); }); });
          here.watch([](auto due) { weft::this_fiber::sleep_until(due); });
        });
        here.report(opts, "weft", WEFT_VERSION_STRING);
      },
      {.workers = static_cast<std::uint32_t>(opts.threads)});
}
