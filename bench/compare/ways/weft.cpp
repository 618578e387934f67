// SPDX-License-Identifier: Apache-2.0
//
// V, ways: the children of C, spawned by a runtime that is made in another way than usual, to see what the usual way is
// worth. WEFT_BENCH_WAY names the way, and the program is compiled for each of them:
//
//   weft           as it is
//
//   V1: where a fresh task goes, and who comes for it [S3-45..48]
//   one queue      all workers take from the same queue
//   no stealing    each worker keeps what its tasks spawn
//   nobody woken   workers that sleep are told of nothing, and look around every millisecond
//   in turn        it goes to one worker after the other, which are woken
//
//   V2: how a worker without work looks around before it sleeps [S1-140]
//   low latency, balanced, power saving
//
//   V3: as other schedulers do it
//   lune, loom, janus, cc, crystal
#include "compare/spawn/config.hpp"

#include <weft/nursery.hpp>
#include <weft/presets.hpp>
#include <weft/version.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace {

namespace bench = weft::bench;

struct way {
  std::string_view name;
  weft::runtime_options how;
};

weft::runtime_options made(std::string_view name, std::uint32_t threads) {
  const way all[] = {
      {"weft", {}},
      {"one queue", {.fresh = weft::placement::shared}},
      {"no stealing", {.steal = false}},
      {"nobody woken", {.idle_poll = std::chrono::milliseconds(1), .wake_on_spawn = false}},
      {"in turn", {.fresh = weft::placement::round_robin}},
      {"low latency", {.backoff = weft::backoff_mode::low_latency}},
      {"balanced", {.backoff = weft::backoff_mode::balanced}},
      {"power saving", {.backoff = weft::backoff_mode::power_saving}},
      {"lune", weft::presets::lune()},
      {"loom", weft::presets::loom()},
      {"janus", weft::presets::janus()},
      {"cc", weft::presets::cc()},
      {"crystal", weft::presets::crystal()},
  };
  for (const way& each : all) {
    if (each.name != name) continue;
    weft::runtime_options how = each.how;
    // Crystal begins with one, and has more when there is work for them.
    how.workers = name == "crystal" ? weft::worker_count(1, threads) : weft::worker_count(threads);
    return how;
  }
  bench::fail("there is no way " + std::string(name));
}

}  // namespace

// NOLINTNEXTLINE(bugprone-exception-escape): without memory or threads the program may as well end
int main(int argc, char** argv) {
  bench::options opts = bench::parse(argc, argv);
  if (opts.workload != "V1" && opts.workload != "V2" && opts.workload != "V3")
    bench::refuse("unknown workload", opts.workload);
  opts.workload = "C";  // whose children they are
  return weft::run(
      [&] {
        bench::spawning::run(opts, WEFT_BENCH_WAY, WEFT_VERSION_STRING, [&](auto& all) {
          weft::nursery([&](weft::nursery& n) {
            for (std::size_t i = 0; i < all.size(); ++i) n.spawn(all[i]);
          });
        });
      },
      made(WEFT_BENCH_WAY, static_cast<std::uint32_t>(opts.threads)));
}
