// SPDX-License-Identifier: Apache-2.0
//
// on_workers — tests that are run on several numbers of workers.
#pragma once

#include "support/seed.hpp"

#include <weft/execution_context.hpp>
#include <weft/runtime.hpp>

#include <chrono>
#include <cstdint>
#include <gtest/gtest.h>
#include <string>
#include <thread>
#include <utility>

namespace weft::testing {

/// As many workers as were asked for, and never more: for tests that count what each does.
inline constexpr autoscale never_more{.is_on = false};

/// ThreadSanitizer takes a thread that has ended when the process does, and is not joined, for a leak. In a runtime that never ends sysmon
/// joins those that have gone; soon.
inline void await_those_that_go() {
  using namespace std::chrono_literals;
  while (default_context().threads() > default_context().workers()) std::this_thread::sleep_for(1ms);
  std::this_thread::sleep_for(50ms);
}

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
