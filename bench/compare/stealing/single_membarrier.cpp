// SPDX-License-Identifier: Apache-2.0
//
// W by single steals whose heavy barrier the thief pays.
#include "compare/stealing/run.hpp"

namespace stealing = weft::bench::stealing;

int main(int argc, char** argv) {
  return stealing::run<stealing::single_steals<weft::detail::asymmetric_orders>>(argc, argv, "one a steal");
}
