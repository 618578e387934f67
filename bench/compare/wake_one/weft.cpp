// SPDX-License-Identifier: Apache-2.0
//
// R2 for weft: suspend(), with a resumer for each fiber. Each hands over its resumer and wakes the other in one step,
// so that it can be woken as soon as the other knows.
#include "compare/wake_one/config.hpp"

#include <weft/runtime.hpp>
#include <weft/suspend.hpp>
#include <weft/this_fiber.hpp>
#include <weft/version.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace {

namespace bench = weft::bench;

class waiting_fibers {
 public:
  waiting_fibers() : resumers_(bench::waking::waiters), turns_(bench::waking::waiters) {
    for (std::size_t i = 0; i < bench::waking::waiters; ++i)
      handles_.push_back(weft::spawn([this, i] { take_turns(i); }));
    while (waiting_.load(std::memory_order_acquire) != bench::waking::waiters) weft::this_fiber::yield();
  }

  /// Wakes one and returns who has answered.
  std::size_t ask(std::size_t i) {
    weft::suspend("an answer", [this, i](const weft::resumer& by) {
      asking_ = by;
      const weft::resumer one = resumers_[i];  // a copy: who is woken writes another in its place
      one.resume();
    });
    return answered_;
  }

  /// Ends them all, and returns how many turns each has had.
  const std::vector<std::uint64_t>& end() {
    is_over_ = true;
    for (const weft::resumer& each : resumers_) each.resume();
    for (weft::handle<void>& each : handles_) each.join();
    return turns_;
  }

 private:
  void take_turns(std::size_t i) {
    weft::suspend("its turn", [this, i](const weft::resumer& by) {
      resumers_[i] = by;
      waiting_.fetch_add(1, std::memory_order_release);
    });
    while (!is_over_) {
      ++turns_[i];
      weft::suspend("its turn", [this, i](const weft::resumer& by) {
        resumers_[i] = by;
        answered_ = i;
        const weft::resumer who_asks = asking_;
        who_asks.resume();
      });
    }
  }

  std::vector<weft::handle<void>> handles_;
  std::vector<weft::resumer> resumers_;
  std::vector<std::uint64_t> turns_;
  std::atomic<std::size_t> waiting_{0};
  // Whoever is woken sees what was written before.
  weft::resumer asking_;
  std::size_t answered_ = 0;
  bool is_over_ = false;
};

}  // namespace

// NOLINTNEXTLINE(bugprone-exception-escape): without memory or threads the program may as well end
int main(int argc, char** argv) {
  const bench::options opts = bench::parse(argc, argv);
  bench::waking::check(opts);
  return weft::run(
      [&] {
        waiting_fibers all;
        std::uint64_t asked = 0;
        const double us =
            bench::waking::us_per_round_trip(opts, asked, [&](std::size_t i) { return all.ask(i); });
        bench::waking::check_turns(all.end(), asked);
        bench::report(us, "us", "weft", WEFT_VERSION_STRING);
      },
      {.workers = static_cast<std::uint32_t>(opts.threads)});
}
