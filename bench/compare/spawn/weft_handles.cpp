// SPDX-License-Identifier: Apache-2.0
//
// C for weft: spawn() and the handles it gives, joined in the order in which they were spawned.
#include "compare/spawn/config.hpp"

#include <weft/runtime.hpp>
#include <weft/version.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

// NOLINTNEXTLINE(bugprone-exception-escape): without memory or threads the program may as well end
int main(int argc, char** argv) {
  namespace bench = weft::bench;
  const bench::options opts = bench::parse(argc, argv);
  const weft::runtime_options how{.workers = static_cast<std::uint32_t>(opts.threads)};
  return weft::run(
      [&] {
        std::vector<weft::handle<void>> handles;
        bench::spawning::run(opts, "weft, handles", WEFT_VERSION_STRING, [&](auto& all) {
          handles.reserve(all.size());
          for (std::size_t i = 0; i < all.size(); ++i) handles.push_back(weft::spawn(all[i]));
          for (weft::handle<void>& each : handles) each.join();
          handles.clear();
        });
      },
      how);
}
