// SPDX-License-Identifier: Apache-2.0

#include <weft/result.hpp>

#include <charconv>
#include <gtest/gtest.h>
#include <memory>
#include <string>
#include <string_view>

namespace weft {
namespace {

// [example]
result<int> parse(std::string_view text) {
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc()) return std::make_error_code(error);
  return number;
}

result<int> parse_twice(std::string_view text) {
  result<int> parsed = parse(text);
  if (!parsed) return parsed.error();
  return *parsed * 2;
}
// [example]

TEST(Result, HoldsAValueOrTheReasonWhyNot) {
  EXPECT_EQ(*parse_twice("21"), 42);
  EXPECT_TRUE(parse("7").has_value());
  EXPECT_FALSE(parse("7").error());
  EXPECT_FALSE(parse("x"));
  EXPECT_EQ(parse_twice("x").error(), std::errc::invalid_argument);
}

TEST(Result, TakesWeftErrorsByThemselves) {
  const result<std::string> closed = errc::closed;
  EXPECT_FALSE(closed);
  EXPECT_EQ(closed.error(), errc::closed);
  const result<void> failed = errc::timed_out;
  EXPECT_FALSE(failed);
  EXPECT_EQ(failed.error(), errc::timed_out);
  EXPECT_TRUE(result<void>());
}

TEST(Result, ValueThrowsTheReasonForThoseWhoPreferExceptions) {
  EXPECT_EQ(parse("3").value(), 3);
  try {
    (void)parse("x").value();
    FAIL() << "value() of an error did not throw";
  } catch (const std::system_error& error) {
    EXPECT_EQ(error.code(), std::errc::invalid_argument);
  }
  EXPECT_THROW(result<void>(errc::closed).value(), std::system_error);
  EXPECT_NO_THROW(result<void>().value());
}

TEST(Result, MovesWhatCannotBeCopied) {
  result<std::unique_ptr<int>> made = std::make_unique<int>(5);
  const std::unique_ptr<int> taken = *std::move(made);
  EXPECT_EQ(*taken, 5);
  result<std::unique_ptr<int>> none = errc::closed;
  EXPECT_EQ(*std::move(none).value_or(std::make_unique<int>(9)), 9);
}

TEST(Result, FallsBackAndChains) {
  EXPECT_EQ(parse("x").value_or(1), 1);
  EXPECT_EQ(parse("8").value_or(1), 8);
  EXPECT_EQ(*parse("20").transform([](int n) { return std::to_string(n + 1); }), "21");
  EXPECT_EQ(parse("x").transform([](int n) { return n; }).error(), std::errc::invalid_argument);
  EXPECT_EQ(*parse("20").and_then([](int n) -> result<int> { return n * 2; }), 40);
  EXPECT_EQ(parse("20").and_then([](int) -> result<int> { return errc::closed; }).error(), errc::closed);
  result<int> kept = 5;
  const result<int>& constant = kept;
  EXPECT_EQ(*kept.transform([](int& n) { return n + 1; }), 6);
  EXPECT_EQ(*constant.transform([](const int& n) { return n + 2; }), 7);
  EXPECT_EQ(*kept.and_then([](int& n) -> result<int> { return n + 3; }), 8);
  EXPECT_EQ(*constant.and_then([](const int& n) -> result<int> { return n + 4; }), 9);
  int seen = 0;
  EXPECT_TRUE(parse("4").transform([&](int n) { seen = n; }).has_value());
  EXPECT_EQ(seen, 4);
}

TEST(Result, ComparesByValueAndByReason) {
  EXPECT_EQ(parse("5"), parse("5"));
  EXPECT_FALSE(parse("5") == parse("6"));
  EXPECT_FALSE(parse("5") == parse("x"));
  EXPECT_EQ(result<void>(errc::closed), result<void>(errc::closed));
  EXPECT_FALSE(result<void>(errc::closed) == result<void>());
}

TEST(Result, LooksThroughToMembers) {
  result<std::string> text = std::string("abc");
  EXPECT_EQ(text->size(), 3U);
  const result<std::string>& constant = text;
  EXPECT_EQ(constant->size(), 3U);
  EXPECT_EQ((*constant)[0], 'a');
}

TEST(ResultDeathTest, UsingAValueThatIsNotThereIsMisuse) {
  result<int> none = errc::closed;
  EXPECT_DEATH((void)*none, "the value of a weft::result that holds an error was used");
}

TEST(ResultDeathTest, AnErrorNeedsAReason) {
  EXPECT_DEATH((void)result<int>{std::error_code{}}, "needs an error code that says why");
  EXPECT_DEATH((void)result<void>{std::error_code{}}, "needs an error code that says why");
}

}  // namespace
}  // namespace weft
