// SPDX-License-Identifier: Apache-2.0
//
// B2 for Boost.Fiber: this_fiber::yield(), with the scheduler that every thread has of itself, round robin.
#include "compare/yield/config.hpp"

#include <boost/fiber/fiber.hpp>
#include <boost/fiber/operations.hpp>
#include <boost/version.hpp>
#include <string>

namespace {

struct yield {
  void operator()() const { boost::this_fiber::yield(); }
};

}  // namespace

int main(int argc, char** argv) {
  namespace bench = weft::bench;
  const bench::options opts = bench::parse(argc, argv);
  const std::string version = std::to_string(BOOST_VERSION / 100000) + "." +
                              std::to_string(BOOST_VERSION / 100 % 1000) + "." +
                              std::to_string(BOOST_VERSION % 100);
  bench::yielding::run<yield>(opts, "boost.fiber", version.c_str(),
                              [](auto f) { return boost::fibers::fiber(boost::fibers::launch::post, f); });
}
