// SPDX-License-Identifier: Apache-2.0
//
// B2 for weft: this_fiber::yield(), on a runtime of one worker.
#include "compare/yield/config.hpp"

#include <weft/runtime.hpp>
#include <weft/this_fiber.hpp>
#include <weft/version.hpp>

namespace {

struct yield {
  void operator()() const { weft::this_fiber::yield(); }
};

}  // namespace

// NOLINTNEXTLINE(bugprone-exception-escape): without memory or threads the program may as well end
int main(int argc, char** argv) {
  namespace bench = weft::bench;
  const bench::options opts = bench::parse(argc, argv);
  return weft::run(
      [&] {
        bench::yielding::run<yield>(opts, "weft", WEFT_VERSION_STRING, [](auto f) { return weft::spawn(f); });
      },
      {.workers = 1});
}
