// SPDX-License-Identifier: Apache-2.0
//
// main — of every program of models: the models as tests, or, with --mutants=FILE, their mutants.
#include "model/mutation.hpp"

#include <cstring>
#include <gtest/gtest.h>
#include <string>

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  for (int i = 1; i < argc; ++i) {
    if (std::strncmp(argv[i], "--mutants", 9) == 0) return weft::model::mutation_main(argc, argv);
  }
  return RUN_ALL_TESTS();
}
