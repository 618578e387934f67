// SPDX-License-Identifier: Apache-2.0
//
// checker_test — what of the checker is not about memory: schedules as text, shrinking, replay, the survivor file.
#include "model/model.hpp"
#include "model/mutation.hpp"
#include "model/ordered_calls.hpp"

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <stdexcept>
#include <unistd.h>

namespace weft::model {
namespace {

TEST(Schedule, SurvivesBeingWrittenAndRead) {
  trail t(5);
  t[1].taken = 2;
  t[4].promised = true;
  t[4].made = {2, 12, 7, false};
  EXPECT_EQ(to_text(t), "1:2,4:p2.12=7");
  t[4].made.follows = true;
  EXPECT_EQ(to_text(t), "1:2,4:m2.12=7");
  const trail again = from_text(to_text(t));
  ASSERT_EQ(again.size(), 5U);
  EXPECT_EQ(to_text(again), to_text(t));
  EXPECT_TRUE(from_text("").empty());
}

TEST(Schedule, NonsenseIsNamed) {
  for (const char* const text : {"x", "1", "1:", "1:2;3:4", "3:1,2:1", "1:p2", "1:p2.3", "9999999:1"}) {
    EXPECT_THROW((void)from_text(text), std::invalid_argument) << text;
  }
  try {
    (void)from_text("3:1,oops");
    FAIL();
  } catch (const std::invalid_argument& wrong) {
    EXPECT_STREQ(wrong.what(),
                 "schedule '3:1,oops': a number is missing at character 5; "
                 "a schedule is what a failing model prints, as in 3:1,17:2");
  }
}

/// Loses an increment if the two threads overlap; the rest is noise that a shrunk schedule should not contain.
void lossy(world& in) {
  struct state {
    platform::atomic<int> count{0};
    platform::atomic<int> noise{0};
  };
  auto& s = in.make<state>();
  for (const char* const called : {"one", "two"}) {
    in.thread(called, [&s] {
      for (int i = 0; i < 3; ++i) s.noise.fetch_add(1, std::memory_order_relaxed);
      const int seen = s.count.load(std::memory_order_acquire);
      s.count.store(seen + 1, std::memory_order_release);
      for (int i = 0; i < 3; ++i) s.noise.fetch_add(1, std::memory_order_relaxed);
    });
  }
  in.finally([&s] { require(s.count.load(std::memory_order_relaxed) == 2, "an increment was lost"); });
}

TEST(Explore, ShrinksToWhatMatters) {
  effort how;
  how.exhaustive_limit = 0;  // a random schedule is long
  how.pct = 0;
  const verdict v = explore(the_execution(), lossy, how, true);
  ASSERT_TRUE(v.found);
  EXPECT_EQ(v.found->found_by, "random walk");
  const auto choices = static_cast<std::size_t>(std::count_if(
      v.found->schedule.begin(), v.found->schedule.end(), [](const choice& c) { return c.taken != 0; }));
  EXPECT_EQ(choices, 1U) << to_text(v.found->schedule);  // one stale read, or one preemption
  EXPECT_FALSE(v.found->trace.empty());
}

TEST(Explore, AScheduleRepeatsTheFailure) {
  effort how;
  const verdict v = explore(the_execution(), lossy, how, true);
  ASSERT_TRUE(v.found);
  const std::string text = to_text(v.found->schedule);
  for (int i = 0; i < 3; ++i) {
    const std::optional<finding> again = replay(the_execution(), lossy, from_text(text));
    ASSERT_TRUE(again);
    EXPECT_EQ(again->why, v.found->why);
    EXPECT_EQ(again->trace, v.found->trace);
  }
}

TEST(Explore, EachSearchFindsItAlone) {
  effort pct_only;
  pct_only.exhaustive_limit = 0;
  pct_only.random = 0;
  const verdict by_pct = explore(the_execution(), lossy, pct_only, false);
  ASSERT_TRUE(by_pct.found);
  EXPECT_EQ(by_pct.found->found_by, "PCT");

  effort all_only;
  all_only.pct = 0;
  all_only.random = 0;
  const verdict by_all = explore(the_execution(), lossy, all_only, false);
  ASSERT_TRUE(by_all.found);
  EXPECT_EQ(by_all.found->found_by, "exhaustive");
}

TEST(Explore, CountsAllSchedulesOfASmallProgram) {
  const auto two_stores = [](world& in) {
    struct state {
      platform::atomic<int> a{0};
      platform::atomic<int> b{0};
    };
    auto& s = in.make<state>();
    in.thread("one", [&s] { s.a.store(1, std::memory_order_relaxed); });
    in.thread("two", [&s] { s.b.store(2, std::memory_order_relaxed); });
  };
  effort how;
  how.pct = 0;
  how.random = 0;
  // Who begins; then each preemption is one more place to turn, until both have stored.
  for (const unsigned preemptions : {0U, 1U, 2U}) {
    how.preemptions = preemptions;
    const verdict v = explore(the_execution(), two_stores, how, false);
    EXPECT_TRUE(v.exhausted);
    EXPECT_EQ(v.executions, 2 * (preemptions + 1));
  }
}

TEST(Mutants, AreOneStepWeaker) {
  const auto weaker = [](operation what, std::memory_order from) {
    std::vector<std::memory_order> to;
    for (const mutant& m : weakenings({"f", 1, what, from, from})) to.push_back(m.to);
    return to;
  };
  using orders = std::vector<std::memory_order>;
  EXPECT_EQ(weaker(operation::load, std::memory_order_seq_cst), orders{std::memory_order_acquire});
  EXPECT_EQ(weaker(operation::load, std::memory_order_acquire), orders{std::memory_order_relaxed});
  EXPECT_EQ(weaker(operation::load, std::memory_order_relaxed), orders{});
  EXPECT_EQ(weaker(operation::store, std::memory_order_seq_cst), orders{std::memory_order_release});
  EXPECT_EQ(weaker(operation::rmw, std::memory_order_acq_rel),
            (orders{std::memory_order_acquire, std::memory_order_release}));
  EXPECT_EQ(weaker(operation::cas, std::memory_order_seq_cst), orders{std::memory_order_acq_rel});
  EXPECT_EQ(weaker(operation::heavy_barrier, std::memory_order_seq_cst).size(), 1U);
}

class SurvivorFileTest : public ::testing::Test {
 protected:
  void TearDown() override { std::remove(path_.c_str()); }

  const std::string& written(const char* text) {
    std::ofstream(path_) << text;
    return path_;
  }

 private:
  std::string path_ = ::testing::TempDir() + "survivors." + std::to_string(::getpid());
};

TEST_F(SurvivorFileTest, HasAReasonForEach) {
  const auto survivors =
      read_survivors(written("# note\na | b | c\n    first line\n    second\n\nd | e | f\n  why\n"));
  ASSERT_EQ(survivors.size(), 2U);
  EXPECT_EQ(survivors.at("a | b | c"), "first line second ");
}

TEST_F(SurvivorFileTest, NonsenseIsNamed) {
  EXPECT_THROW((void)read_survivors(written("a | b | c\n")), std::runtime_error);
  EXPECT_THROW((void)read_survivors(written("  why\n")), std::runtime_error);
  EXPECT_THROW((void)read_survivors(written("a\n  why\na\n  why\n")), std::runtime_error);
  EXPECT_THROW((void)read_survivors("/does/not/exist"), std::runtime_error);
}

using calls = std::vector<ordered_call>;

TEST(OrderedCalls, AreThoseThatAMutantCouldWeaken) {
  EXPECT_EQ(ordered_calls("template <class Platform>\n"
                          "void f() {\n"
                          "  a.load(std::memory_order_relaxed);\n"
                          "  a.load(std::memory_order_acquire);\n"
                          "  a.compare_exchange_weak(x, g(y),\n"
                          "                          std::memory_order_release, std::memory_order_relaxed);\n"
                          "  a.store(1, Rules::publish);\n"
                          "  Platform::light_barrier(kind);\n"
                          "}\n"),
            (calls{{4, 4}, {5, 6}, {7, 7}, {8, 8}}));
}
TEST(OrderedCalls, MayGoThroughAPointer) {
  EXPECT_EQ(ordered_calls("template <typename Platform>\np->load(std::memory_order_acquire);\n"),
            (calls{{2, 2}}));
}
TEST(OrderedCalls, AreNotInComments) {
  EXPECT_EQ(ordered_calls("template <class Platform>\n/* a.load(std::memory_order_acquire)\n */ x\n"),
            calls());
  EXPECT_EQ(ordered_calls("template <class Platform>\n// a.load(std::memory_order_acquire)\n"), calls());
}
TEST(OrderedCalls, AreOnlyInCodeThatTakesAPlatform) {
  EXPECT_EQ(ordered_calls("a.load(std::memory_order_acquire);\n"), calls());
}
TEST(OrderedCalls, AreLookedForInHeadersOfTheRepository) {
  const std::vector<std::string> found = headers_below("src/sched");
  EXPECT_NE(std::find(found.begin(), found.end(), "src/sched/idle.hpp"), found.end());
  EXPECT_FALSE(ordered_calls(repository_text("src/sched/idle.hpp")).empty());
  EXPECT_THROW((void)headers_below("src/nowhere"), std::runtime_error);
  EXPECT_THROW((void)repository_text("src/nowhere.hpp"), std::runtime_error);
}

}  // namespace
}  // namespace weft::model
