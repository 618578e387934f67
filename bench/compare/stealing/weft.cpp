// SPDX-License-Identifier: Apache-2.0
//
// W by asking, and claiming when nobody answers: what weft does.
#include "compare/stealing/run.hpp"

namespace stealing = weft::bench::stealing;

int main(int argc, char** argv) { return stealing::run<stealing::ask_then_claim>(argc, argv, "weft"); }
