// SPDX-License-Identifier: Apache-2.0
//
// R3 for weft: the task that is to be in time has a context of its own, with one thread.
#include "compare/neighbour/config.hpp"

#include <weft/execution_context.hpp>
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
        weft::concurrent_context punctual("punctual");
        bench::neighbour::contest here(opts);
        weft::nursery([&](weft::nursery& n) {
          for (std::size_t i = 0; i < here.noisy_tasks(); ++i)
            n.spawn([&here] { here.make_noise([] { weft::this_fiber::yield(); }); });
          punctual.spawn([&here] { here.watch([](auto due) { weft::this_fiber::sleep_until(due); }); })
              .join();
        });
        here.report(opts, "weft, own context", WEFT_VERSION_STRING);
      },
      {.workers = static_cast<std::uint32_t>(opts.threads)});
}
