// SPDX-License-Identifier: Apache-2.0
//
// explore — runs a model under many schedules, and makes the first failing one short and readable.
//
// Three searches, one after the other: all schedules with at most so many preemptions (and every value that a load may
// read in them), then PCT (random priorities, few changes: finds bugs of small depth with a probability one can compute),
// then a random walk.
#pragma once

#include "model/execution.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace weft::model {

/// How hard to look.
struct effort {
  unsigned preemptions = 2;
  std::uint64_t exhaustive_limit =
      3'000'000;  // executions; beyond it the search says that it is not exhaustive
  std::uint64_t pct = 100'000;
  unsigned depth = 3;
  std::uint64_t random = 20'000;
  std::uint64_t seed = 1;
  bool promises = true;  // whether loads may read what is yet to be stored
};

/// A failing schedule.
struct finding {
  std::string why;
  std::string found_by;     // "exhaustive", "PCT", "random walk"
  std::uint64_t after = 0;  // executions
  trail schedule;           // shrunk
  std::vector<std::string> trace;
};

/// What a search came to.
struct verdict {
  std::optional<finding> found;
  bool exhausted = false;              // all schedules up to the bound were tried
  std::optional<unsigned> odd_values;  // but with no more than so many odd values in each (world::is_large)
  std::uint64_t executions = 0;
  std::uint64_t infeasible = 0;
  std::size_t longest = 0;  // steps
};

/// Looks for a failing schedule; shrinks it if asked to.
[[nodiscard]] verdict explore(execution& on, const execution::body& model, const effort& how, bool shrink);

/// Runs one schedule, with a trace.
[[nodiscard]] std::optional<finding> replay(execution& on, const execution::body& model,
                                            const trail& schedule);

/// Makes a failing schedule shorter, as long as it fails for the same reason.
[[nodiscard]] trail shrink_schedule(execution& on, const execution::body& model, trail schedule);

}  // namespace weft::model
