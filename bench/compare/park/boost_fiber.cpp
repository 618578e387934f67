// SPDX-License-Identifier: Apache-2.0
//
// E for Boost.Fiber: fibers with guarded stacks that wait for a condition variable.
#include "compare/park/config.hpp"

#include <boost/fiber/condition_variable.hpp>
#include <boost/fiber/fiber.hpp>
#include <boost/fiber/mutex.hpp>
#include <boost/fiber/operations.hpp>
#include <boost/fiber/protected_fixedsize_stack.hpp>
#include <boost/version.hpp>
#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace {

namespace bench = weft::bench;
namespace fibers = boost::fibers;

constexpr std::size_t most_fibers = 20'000;

struct parked_fibers {
  std::vector<fibers::fiber> all;
  fibers::mutex mutex;
  fibers::condition_variable end;
  bool ended = false;
  std::size_t waiting = 0;
  std::size_t woken = 0;

  explicit parked_fibers(std::size_t count) : all(count) {}

  void park_all(bool use_stack) {
    for (fibers::fiber& each : all) {
      each = fibers::fiber(std::allocator_arg, fibers::protected_fixedsize_stack(), [this, use_stack] {
        if (use_stack) bench::parking::use_stack();
        std::unique_lock lock(mutex);
        ++waiting;
        end.wait(lock, [this] { return ended; });
        ++woken;
      });
    }
    while (waiting != all.size()) boost::this_fiber::yield();
  }

  void wake_all() {
    ended = true;
    end.notify_all();
    for (fibers::fiber& each : all) each.join();
    if (woken != all.size()) bench::fail("only " + std::to_string(woken) + " fibers have been woken");
  }
};

}  // namespace

int main(int argc, char** argv) {
  const bench::options opts = bench::parse(argc, argv);
  const auto asked = bench::parking::chosen(opts);
  const bool use_stack = asked == bench::parking::question::bytes_after_use;
  const std::string version = std::to_string(BOOST_VERSION / 100000) + "." +
                              std::to_string(BOOST_VERSION / 100 % 1000) + "." +
                              std::to_string(BOOST_VERSION % 100);
  parked_fibers all(bench::parking::fibers(opts, asked, most_fibers));
  bench::parking::run(opts, "boost.fiber", version.c_str(), all.all.size(), [&] { all.park_all(use_stack); });
  all.wake_all();
}
