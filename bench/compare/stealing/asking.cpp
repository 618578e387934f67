// SPDX-License-Identifier: Apache-2.0
//
// W by asking alone.
#include "compare/stealing/run.hpp"

namespace stealing = weft::bench::stealing;

int main(int argc, char** argv) { return stealing::run<stealing::ask_only>(argc, argv, "asking"); }
