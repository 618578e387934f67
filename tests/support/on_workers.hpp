// SPDX-License-Identifier: Apache-2.0
//
// on_workers — tests that are run on several numbers of workers.
#pragma once

#include "support/seed.hpp"

#include <weft/runtime.hpp>

#include <cstdint>
#include <gtest/gtest.h>
#include <string>
#include <utility>

namespace weft::testing {

/// The parameter is the number of workers.
class on_workers : public ::testing::TestWithParam<std::uint32_t> {
 protected:
  /// Runs the function as the first task.
  template <class F>
  static auto run(F&& main) {
    return weft::run(std::forward<F>(main), {.workers = GetParam(), .seed = test_seed()});
  }
};

/// How such a test is called: 3Workers.
inline std::string name_by_workers(const ::testing::TestParamInfo<std::uint32_t>& workers) {
  return std::to_string(workers.param) + "Workers";
}

}  // namespace weft::testing
