// SPDX-License-Identifier: Apache-2.0

#include "model/model.hpp"

#include "support/scale.hpp"

#include <weft/detail/sanitizers.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace weft::model {
namespace {

/// The trace, with a waiting loop's rounds counted instead of repeated.
void print_trace(const std::vector<std::string>& trace) {
  for (std::size_t i = 0; i < trace.size();) {
    std::size_t same = 1;
    while (i + same < trace.size() && trace[i + same] == trace[i]) ++same;
    std::printf("    %s\n", trace[i].c_str());
    if (same > 1) std::printf("    ... %zu times\n", same);
    i += same;
  }
}

void print(const registered& m, const finding& f) {
  std::printf("%s.%s: %s\n  found by %s in execution %llu; the schedule, shortened:\n", m.suite, m.name,
              f.why.c_str(), f.found_by.c_str(), static_cast<unsigned long long>(f.after));
  print_trace(f.trace);
  std::printf("  repeat it: WEFT_MODEL_SCHEDULE='%s' PROGRAM --gtest_filter=%s.%s\n",
              to_text(f.schedule).c_str(), m.suite, m.name);
}

std::string extent(const verdict& v) {
  if (!v.exhausted) return "bound not exhausted";
  std::string all = "all schedules up to the bound";
  if (!v.odd_values) return all;
  if (*v.odd_values == 0) return all + ", as far as memory is sequentially consistent";
  return all + ", with up to " + std::to_string(*v.odd_values) + " odd values in each";
}

void repeat(const registered& m, const char* text) {
  const std::optional<finding> found = replay(the_execution(), m.body, from_text(text));
  if (found) {
    print(m, *found);
    FAIL() << found->why;
  }
  print_trace(the_execution().trace());
  std::printf("  this schedule does not fail\n");
}

}  // namespace

std::vector<registered>& all_models() {
  static std::vector<registered> models;
  return models;
}

execution& the_execution() {
  static execution one;
  return one;
}

effort affordable_effort() {
  effort how;
  const bool long_run = testing::is_long_run();
  how.pct = testing::scaled(long_run ? 1'000'000U : 100'000U, 100U);
  how.random = how.pct / 5;
  how.preemptions = testing::scaled(long_run ? 3U : 2U, 1U);
  how.exhaustive_limit = testing::scaled(3'000'000U, 1'000U);
  // An impossible execution may fail an assertion before it is found to be impossible; a sanitizer's build cannot be
  // brought back from there.
  how.promises = testing::scaled(true, false);
  if (const char* const seed = ::secure_getenv("WEFT_SEED")) how.seed = std::strtoull(seed, nullptr, 0);
  return how;
}

void run_test(const char* suite, const char* name) {
  const auto& models = all_models();
  const auto found = std::find_if(models.begin(), models.end(), [&](const registered& r) {
    return std::strcmp(r.suite, suite) == 0 && std::strcmp(r.name, name) == 0;
  });
  ASSERT_NE(found, models.end());
  const registered& m = *found;
  if (const char* const schedule = ::secure_getenv("WEFT_MODEL_SCHEDULE")) return repeat(m, schedule);

#if WEFT_ADDRESS_SANITIZER || WEFT_THREAD_SANITIZER
  if (m.must_find != nullptr) GTEST_SKIP() << "what a planted fault does, a sanitizer ends the process for";
#endif
  effort how = affordable_effort();
  verdict v = explore(the_execution(), m.body, how, true);
  // A planted fault that only chance finds is found sooner or later: a failure says that it is not there to be found.
  constexpr int more_seeds = testing::scaled(8, 0);
  for (int i = 0; i < more_seeds && m.must_find != nullptr && !v.found; ++i) {
    ++how.seed;
    v = explore(the_execution(), m.body, how, true);
  }
  std::printf("  %llu executions, at most %zu steps, %llu impossible; %s\n",
              static_cast<unsigned long long>(v.executions), v.longest,
              static_cast<unsigned long long>(v.infeasible), extent(v).c_str());
  if (v.found) print(m, *v.found);
  if (m.must_find != nullptr) {
    if (!v.found && !testing::scaled(true, false))
      return;  // slow builds do not look long enough to find everything
    ASSERT_TRUE(v.found) << "the planted fault was not found";
    EXPECT_NE(v.found->why.find(m.must_find), std::string::npos) << v.found->why;
    return;
  }
  EXPECT_FALSE(v.found) << v.found->why;
  if (!v.found && how.preemptions <= 2 && testing::scaled(true, false)) {
    EXPECT_TRUE(v.exhausted) << "the model is too large to try all schedules with " << how.preemptions
                             << " preemptions: shrink it";
  }
}

}  // namespace weft::model
