// SPDX-License-Identifier: Apache-2.0

#include <weft/error.hpp>

#include <gtest/gtest.h>
#include <set>
#include <string>

namespace weft {
namespace {

constexpr errc all[] = {errc::closed,
                        errc::timed_out,
                        errc::cancelled,
                        errc::would_block,
                        errc::spawn_budget_exhausted,
                        errc::memory_budget_exhausted,
                        errc::nursery_not_active,
                        errc::stack_overflow,
                        errc::worker_panic,
                        errc::invalid_stack_size,
                        errc::out_of_stacks,
                        errc::mapping_limit,
                        errc::shadow_stack_active,
                        errc::out_of_memory};

TEST(Error, EveryCodeHasWordsOfItsOwn) {
  std::set<std::string> messages;
  for (errc code : all) messages.insert(std::error_code(code).message());
  EXPECT_EQ(messages.size(), std::size(all));
  EXPECT_EQ(messages.count("unknown weft error"), 0U);
  EXPECT_EQ(error_category().message(9999), "unknown weft error");
}

TEST(Error, CodesConvertByThemselvesAndNameTheirCategory) {
  const std::error_code code = errc::closed;
  EXPECT_TRUE(code);
  EXPECT_STREQ(code.category().name(), "weft");
  EXPECT_EQ(code, errc::closed);
  EXPECT_NE(code, errc::timed_out);
}

TEST(Error, StandardConditionsRecogniseTheCodes) {
  EXPECT_EQ(std::error_code(errc::closed), std::errc::broken_pipe);
  EXPECT_EQ(std::error_code(errc::timed_out), std::errc::timed_out);
  EXPECT_EQ(std::error_code(errc::cancelled), std::errc::operation_canceled);
  EXPECT_EQ(std::error_code(errc::would_block), std::errc::operation_would_block);
  EXPECT_EQ(std::error_code(errc::out_of_stacks), std::errc::not_enough_memory);
  EXPECT_EQ(std::error_code(errc::mapping_limit), std::errc::not_enough_memory);
  EXPECT_EQ(std::error_code(errc::out_of_memory), std::errc::not_enough_memory);
  EXPECT_EQ(std::error_code(errc::invalid_stack_size), std::errc::invalid_argument);
  EXPECT_NE(std::error_code(errc::worker_panic), std::errc::not_enough_memory);
}

// The five errors that SPEC-021 names (S2-129 to S2-133) exist under those names.
TEST(Error, BudgetAndNurseryErrorsOfTheSpecificationExist) {
  EXPECT_NE(std::error_code(errc::spawn_budget_exhausted).message().find("spawn budget exhausted"),
            std::string::npos);
  EXPECT_NE(std::error_code(errc::memory_budget_exhausted).message().find("memory budget exhausted"),
            std::string::npos);
  EXPECT_NE(std::error_code(errc::nursery_not_active).message().find("no nursery is active"),
            std::string::npos);
  EXPECT_NE(std::error_code(errc::stack_overflow).message().find("past the end of its stack"),
            std::string::npos);
  EXPECT_NE(std::error_code(errc::worker_panic).message().find("worker failed"), std::string::npos);
}

}  // namespace
}  // namespace weft
