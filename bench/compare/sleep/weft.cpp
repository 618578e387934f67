// SPDX-License-Identifier: Apache-2.0
//
// I for weft: this_fiber::sleep_for() in the children of a nursery.
#include "compare/sleep/config.hpp"

#include <weft/nursery.hpp>
#include <weft/this_fiber.hpp>
#include <weft/version.hpp>

#include <cstdint>

// NOLINTNEXTLINE(bugprone-exception-escape): without memory or threads the program may as well end
int main(int argc, char** argv) {
  namespace bench = weft::bench;
  const bench::options opts = bench::parse(argc, argv);
  const bench::sleeping::size of = bench::sleeping::chosen(opts);
  const weft::runtime_options how{.workers = static_cast<std::uint32_t>(opts.threads)};
  return weft::run(
      [&] {
        bench::sleeping::run(opts, "weft", WEFT_VERSION_STRING, [&] {
          weft::nursery([&](weft::nursery& n) {
            for (std::uint64_t i = 0; i < of.fibers; ++i) {
              n.spawn(
                  [time = bench::sleeping::sleep_of(i, of.longest)] { weft::this_fiber::sleep_for(time); });
            }
          });
        });
      },
      how);
}
