// SPDX-License-Identifier: Apache-2.0

#include "base/report.hpp"

#include "support/child.hpp"

#include <weft/detail/assert.hpp>

#include <gtest/gtest.h>
#include <string>
#include <sys/time.h>

namespace weft::impl {
namespace {

std::string heard;
void listen(std::string_view line) noexcept { heard += line; }

struct ReportTest : ::testing::Test {
  void SetUp() override {
    heard.clear();
    before = set_report_sink(&listen);
  }
  void TearDown() override { set_report_sink(before); }
  report_sink before = nullptr;
};

TEST_F(ReportTest, AddsTheNameAndTheNewline) {
  report(text_line() << "hello " << 7);
  EXPECT_EQ(heard, "weft: hello 7\n");
}

TEST_F(ReportTest, EndsEvenTheLongestLineProperly) {
  text_line line;
  for (int i = 0; i < 2000; ++i) line << "x";
  report(line);
  EXPECT_EQ(heard.size(), 1024U);
  EXPECT_EQ(heard.back(), '\n');
}

TEST_F(ReportTest, ANoticeIsGivenOnce) {
  static constinit notice_once notice;
  EXPECT_TRUE(notice.say(text_line() << "first"));
  EXPECT_FALSE(notice.say(text_line() << "second"));
  EXPECT_EQ(heard, "weft: first\n");
}

// Last words survive a signal that interrupts the write of them: here a pipe that is full for a while.
TEST(Report, SurvivesInterruptedWrites) {
  const weft::testing::child_outcome outcome = weft::testing::run_in_child([] {
    struct sigaction interrupt {};
    interrupt.sa_handler = [](int) {};  // without SA_RESTART
    ::sigaction(SIGALRM, &interrupt, nullptr);
    const itimerval often{{0, 200}, {0, 200}};
    ::setitimer(ITIMER_REAL, &often, nullptr);
    for (int i = 0; i < 3000; ++i)
      report(text_line() << "line " << i << " of 3000, and some more words to fill the pipe");
  });
  EXPECT_TRUE(outcome.exited_with(0));
  for (int i = 0; i < 3000; ++i) {
    ASSERT_TRUE(outcome.mentioned("weft: line " + std::to_string(i) +
                                  " of 3000, and some more words to fill the pipe\n"))
        << i;
  }
}

TEST(ReportDeathTest, AFailedCheckNamesConditionPlaceAndSubject) {
  EXPECT_DEATH(
      {
        set_report_subject([](text_line& line) noexcept { line << " in fiber 7 'reader'"; });
        WEFT_CHECK(1 + 1 == 3, "arithmetic is broken");
      },
      "weft: check failed: arithmetic is broken \\(1 \\+ 1 == 3, .*report_test.cpp:[0-9]+\\) in fiber 7 "
      "'reader'");
}

TEST(Assertions, DebugAssertionsAreNotEvaluatedInRelease) {
  int evaluated = 0;
  const auto evaluate = [&evaluated] { return ++evaluated > 0; };
  WEFT_ASSERT(evaluate(), "counts its evaluations");
  WEFT_CHECK(true, "always evaluated");
#ifdef NDEBUG
  EXPECT_EQ(evaluated, 0);
#else
  EXPECT_EQ(evaluated, 1);
#endif
}

}  // namespace
}  // namespace weft::impl
