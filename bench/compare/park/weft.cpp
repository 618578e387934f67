// SPDX-License-Identifier: Apache-2.0
//
// E for weft: suspend(), with a resumer for each fiber. The main thread looks on, so that the worker is idle in the end.
#include "compare/park/config.hpp"

#include <weft/runtime.hpp>
#include <weft/suspend.hpp>
#include <weft/this_fiber.hpp>
#include <weft/version.hpp>

#include <cstddef>
#include <string>
#include <vector>

namespace {

namespace bench = weft::bench;

struct parked_fibers {
  std::vector<weft::handle<void>> handles;
  std::vector<weft::resumer> resumers;
  std::size_t waiting = 0;  // one worker: no two fibers run at a time
  std::size_t woken = 0;

  explicit parked_fibers(std::size_t count) : handles(count), resumers(count) {}

  void park_all(bool use_stack) {
    for (std::size_t i = 0; i < handles.size(); ++i) {
      handles[i] = weft::spawn([this, i, use_stack] {
        if (use_stack) bench::parking::use_stack();
        weft::suspend("the end of the benchmark", [this, i](const weft::resumer& by) {
          resumers[i] = by;
          ++waiting;
        });
        ++woken;
      });
    }
    while (waiting != handles.size()) weft::this_fiber::yield();
  }

  void wake_all() {
    for (const weft::resumer& each : resumers) each.resume();
    for (weft::handle<void>& each : handles) each.join();
    if (woken != handles.size()) bench::fail("only " + std::to_string(woken) + " fibers have been woken");
  }
};

}  // namespace

// NOLINTNEXTLINE(bugprone-exception-escape): without memory or threads the program may as well end
int main(int argc, char** argv) {
  const bench::options opts = bench::parse(argc, argv);
  const auto asked = bench::parking::chosen(opts);
  const bool use_stack = asked == bench::parking::question::bytes_after_use;
  parked_fibers all(bench::parking::fibers(opts, asked));
  weft::runtime there({.workers = 1});
  bench::parking::run(opts, "weft", WEFT_VERSION_STRING, all.handles.size(),
                      [&] { there.spawn([&] { all.park_all(use_stack); }).join(); });
  there.spawn([&] { all.wake_all(); }).join();
}
