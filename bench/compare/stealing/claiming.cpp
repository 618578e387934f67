// SPDX-License-Identifier: Apache-2.0
//
// W by claims of n alone.
#include "compare/stealing/run.hpp"

namespace stealing = weft::bench::stealing;

int main(int argc, char** argv) { return stealing::run<stealing::claim_only>(argc, argv, "claiming"); }
