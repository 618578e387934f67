// SPDX-License-Identifier: Apache-2.0

#include "base/report.hpp"

#include "support/child.hpp"

#include <weft/detail/assert.hpp>

#include <chrono>
#include <csignal>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <string>
#include <sys/time.h>
#include <thread>
#include <unistd.h>

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

// Last words survive signals that interrupt the write of them: standard error is a full pipe for a while.
TEST(Report, SurvivesInterruptedWrites) {
  const weft::testing::child_outcome outcome = weft::testing::run_in_child([] {
    const int parent = ::dup(STDERR_FILENO);
    int ends[2];
    if (::pipe2(ends, O_NONBLOCK) != 0) std::_Exit(2);
    const char dot = '.';
    while (::write(ends[1], &dot, 1) == 1) {
    }
    ::fcntl(ends[0], F_SETFL, 0);
    ::fcntl(ends[1], F_SETFL, 0);
    ::dup2(ends[1], STDERR_FILENO);
    // The signals are for the thread that writes.
    sigset_t alarm;
    ::sigemptyset(&alarm);
    ::sigaddset(&alarm, SIGALRM);
    ::pthread_sigmask(SIG_BLOCK, &alarm, nullptr);
    std::thread reader([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(60));
      std::string heard_there;
      char buffer[4096];
      while (heard_there.find("weft: last words\n") == std::string::npos) {
        const ssize_t n = ::read(ends[0], buffer, sizeof buffer);
        if (n <= 0) std::_Exit(3);
        heard_there.append(buffer, static_cast<std::size_t>(n));
      }
      (void)!::write(parent, "heard", 5);
    });
    ::pthread_sigmask(SIG_UNBLOCK, &alarm, nullptr);
    struct sigaction interrupt {};
    interrupt.sa_handler = [](int) {};  // without SA_RESTART
    ::sigaction(SIGALRM, &interrupt, nullptr);
    const itimerval often{{0, 5000}, {0, 5000}};
    ::setitimer(ITIMER_REAL, &often, nullptr);
    report(text_line() << "last words");
    ::close(ends[1]);
    ::close(STDERR_FILENO);  // a reader that waits in vain ends
    reader.join();
  });
  EXPECT_TRUE(outcome.exited_with(0)) << outcome.status;
  EXPECT_TRUE(outcome.mentioned("heard"));
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
