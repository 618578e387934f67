// SPDX-License-Identifier: Apache-2.0
//
// C for weft: children of a nursery.
#include "compare/spawn/config.hpp"

#include <weft/nursery.hpp>
#include <weft/version.hpp>

#include <cstddef>
#include <cstdint>

// NOLINTNEXTLINE(bugprone-exception-escape): without memory or threads the program may as well end
int main(int argc, char** argv) {
  namespace bench = weft::bench;
  const bench::options opts = bench::parse(argc, argv);
  const weft::runtime_options how{.workers = static_cast<std::uint32_t>(opts.threads)};
  return weft::run(
      [&] {
        bench::spawning::run(opts, "weft", WEFT_VERSION_STRING, [&](auto& all) {
          weft::nursery([&](weft::nursery& n) {
            for (std::size_t i = 0; i < all.size(); ++i) n.spawn(all[i]);
          });
        });
      },
      how);
}
