// SPDX-License-Identifier: Apache-2.0

#include "sched/environment.hpp"

#include <gtest/gtest.h>
#include <initializer_list>
#include <stdexcept>
#include <string>
#include <vector>

namespace weft::impl {
namespace {

environment_settings parse(std::vector<const char*> variables) {
  variables.push_back(nullptr);
  return parse_environment(variables.data());
}
std::string error_of(const char* variable) {
  try {
    (void)parse({variable});
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "none";
}

TEST(Environment, WithoutVariablesNothingIsSet) {
  const environment_settings settings = parse({"PATH=/bin", "WEFT", "HOME=WEFT_WORKERS=3"});
  EXPECT_FALSE(settings.workers);
  EXPECT_FALSE(settings.stack_bytes);
  EXPECT_FALSE(settings.seed);
  EXPECT_FALSE(settings.prints_statistics);
  EXPECT_FALSE(settings.debugs_sysmon);
}

TEST(Environment, WorkersAreANumberOrTwo) {
  EXPECT_EQ(parse({"WEFT_WORKERS=1"}).workers, (worker_range{1, 1}));
  EXPECT_EQ(parse({"WEFT_WORKERS=256"}).workers, (worker_range{256, 256}));
  EXPECT_EQ(parse({"WEFT_WORKERS=2-8"}).workers, (worker_range{2, 8}));
  EXPECT_EQ(parse({"WEFT_WORKERS=3-3"}).workers, (worker_range{3, 3}));
}
TEST(Environment, WorkersThatCannotBeAreNamed) {
  for (const char* const bad : {"0", "257", "300", "-1", "1-", "-", "8-2", "0-4", "4-257", "four", "4 ", " 4",
                                "", "4.5", "0x4", "99999999999999999999"}) {
    const std::string error = error_of(("WEFT_WORKERS=" + std::string(bad)).c_str());
    EXPECT_EQ(error,
              "the environment variable WEFT_WORKERS is '" + std::string(bad) +
                  "'; it is a number of workers from 1 to 256, or two as in 1-8: at first, and at most");
  }
}

TEST(Environment, AStackIsBytesOrMore) {
  EXPECT_EQ(parse({"WEFT_STACK_SIZE=8192"}).stack_bytes, 8192U);
  EXPECT_EQ(parse({"WEFT_STACK_SIZE=100000"}).stack_bytes, 100000U);
  EXPECT_EQ(parse({"WEFT_STACK_SIZE=64K"}).stack_bytes, 65536U);
  EXPECT_EQ(parse({"WEFT_STACK_SIZE=8M"}).stack_bytes, 8388608U);
}
TEST(Environment, AStackThatCannotBeIsNamed) {
  for (const char* const bad : {"1024", "1K", "0", "8191", "8388609", "9M", "K", "", "64k", "64KB", "-8192",
                                "18446744073709551615", "18014398509481985K", "17592186044417M"}) {
    const std::string error = error_of(("WEFT_STACK_SIZE=" + std::string(bad)).c_str());
    EXPECT_EQ(error, "the environment variable WEFT_STACK_SIZE is '" + std::string(bad) +
                         "'; it is a number of bytes from 8192 to 8388608, or as in 64K and 1M");
  }
}

TEST(Environment, ASeedIsAnyNumberButZero) {
  EXPECT_EQ(parse({"WEFT_SEED=1"}).seed, 1U);
  EXPECT_EQ(parse({"WEFT_SEED=0x2A"}).seed, 42U);
  EXPECT_EQ(parse({"WEFT_SEED=18446744073709551615"}).seed, ~std::uint64_t{0});
  for (const char* const bad : {"0", "0x0", "", "0x", "x", "1e3", "18446744073709551616", "-1"})
    EXPECT_NE(error_of(("WEFT_SEED=" + std::string(bad)).c_str()), "none") << bad;
}

TEST(Environment, SwitchesAreOnOrOff) {
  EXPECT_TRUE(parse({"WEFT_STATS=1"}).prints_statistics);
  EXPECT_FALSE(parse({"WEFT_STATS=0"}).prints_statistics);
  EXPECT_TRUE(parse({"WEFT_DEBUG_SYSMON=1"}).debugs_sysmon);
  for (const char* const bad : {"yes", "2", "", "true", "01"}) {
    EXPECT_EQ(error_of(("WEFT_STATS=" + std::string(bad)).c_str()),
              "the environment variable WEFT_STATS is '" + std::string(bad) + "'; it is 0 or 1");
  }
}

std::vector<unknown_variable> unknown_among(std::vector<const char*> variables) {
  variables.push_back(nullptr);
  return find_unknown(variables.data());
}
TEST(Environment, WhatIsUnknownIsFoundWithWhatIsNear) {
  const std::vector<unknown_variable> found =
      unknown_among({"WEFT_WORKRES=4", "WEFT_STACKSIZE=64K", "WEFT_WORKERS=2", "weft_workers=2", "WEFT_=1",
                     "WEFT_TEST_LONG=1", "WEFT_SOMETHING_ELSE_ENTIRELY=1"});
  ASSERT_EQ(found.size(), 4U);
  EXPECT_EQ(found[0].name, "WEFT_WORKRES");
  EXPECT_EQ(found[0].nearest, "WEFT_WORKERS");
  EXPECT_EQ(found[1].name, "WEFT_STACKSIZE");
  EXPECT_EQ(found[1].nearest, "WEFT_STACK_SIZE");
  EXPECT_EQ(found[2].name, "WEFT_");
  EXPECT_EQ(found[2].nearest, "");
  EXPECT_EQ(found[3].name, "WEFT_SOMETHING_ELSE_ENTIRELY");
  EXPECT_EQ(found[3].nearest, "");
}
// It may be for another version: no error.
TEST(Environment, AnUnknownNameIsNoError) { EXPECT_FALSE(parse({"WEFT_WORKRES=4"}).workers); }

}  // namespace
}  // namespace weft::impl
