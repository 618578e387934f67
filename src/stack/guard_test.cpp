// SPDX-License-Identifier: Apache-2.0

#include "stack/guard.hpp"

#include "sys/platform_interposed.hpp"

#include <gtest/gtest.h>
#include <string>

namespace weft::impl {
namespace {

using memory = interposed_platform::memory;

std::string heard;
void listen(std::string_view line) noexcept { heard += line; }

struct GuardTest : ::testing::Test {
  void SetUp() override {
    doors.reset();
    heard.clear();
    set_report_sink(&listen);
  }
  void TearDown() override {
    doors.reset();
    set_report_sink(nullptr);
  }
};

TEST_F(GuardTest, AKernelWithoutLightGuardsGetsProtection) {
  doors.fail_from(door::guard_light, 1);
  EXPECT_EQ(probe_guard_method<memory>(), guard_method::protection);
}

TEST_F(GuardTest, AKernelThatLiesGetsProtection) {
  doors.guards_lie = true;
  EXPECT_EQ(probe_guard_method<memory>(), guard_method::protection);
}

TEST_F(GuardTest, ProbingLeavesNothingBehind) {
  (void)probe_guard_method<memory>();
  EXPECT_EQ(doors.calls(door::reserve), 1U);
  EXPECT_EQ(doors.calls(door::release), 1U);
}

TEST_F(GuardTest, WithoutMemoryToProbeItFallsBack) {
  doors.fail_from(door::reserve, 1);
  EXPECT_EQ(probe_guard_method<memory>(), guard_method::protection);
  EXPECT_EQ(doors.calls(door::release), 0U);
}

TEST_F(GuardTest, ALightGuardThatFailsOnceIsMadeByProtection) {
  const result<void*> page = memory::reserve(guard_bytes);
  ASSERT_TRUE(page.has_value());
  doors.reset();
  doors.fail_nth(door::guard_light, 1);
  EXPECT_TRUE(install_guard<memory>(guard_method::light, *page, 1000).has_value());
  EXPECT_TRUE(system_memory::guard_holds(*page));
  split_guards.fetch_sub(1);
  memory::release(*page, guard_bytes);
}

// Runs alone in its process (each notice is given once per process).
TEST_F(GuardTest, TheFallbackIsAnnouncedWithTheLimitThatCounts) {
  doors.guards_lie = true;
  doors.limit_override = 65530;
  (void)probe_guard_method<memory>();
  (void)probe_guard_method<memory>();
  if (!heard.empty()) {  // an earlier test of this process may have used the one notice up
    EXPECT_EQ(
        heard,
        "weft: this kernel cannot guard stacks without splitting mappings (Linux 6.13 and newer can); with "
        "vm.max_map_count=65530 about 28669 stacks are possible; raise vm.max_map_count for more\n");
  }
}

TEST_F(GuardTest, AGuardThatCannotBeMadeIsAnErrorNamingTheLimit) {
  doors.fail_from(door::guard_by_protection, 1);
  doors.limit_override = 1000;
  const result<guard_method> none = install_guard<memory>(guard_method::protection, nullptr, 1000);
  EXPECT_EQ(none.error(), errc::mapping_limit);
  if (!heard.empty()) {
    EXPECT_EQ(heard,
              "weft: no guard for another stack: 0 stacks take two mappings each, and vm.max_map_count=1000; "
              "raise it: sysctl -w vm.max_map_count=4000\n");
  }
}

TEST_F(GuardTest, AnEighthOfTheMappingsIsLeftToOthers) {
  doors.limit_override = 65530;
  EXPECT_EQ(split_guard_limit<memory>(), 28669U);
  EXPECT_EQ(split_guards.load(), 0U);
  EXPECT_EQ(install_guard<memory>(guard_method::protection, nullptr, 0).error(), errc::mapping_limit);
  EXPECT_EQ(doors.calls(door::guard_by_protection), 0U) << "the kernel is not even asked";
  EXPECT_EQ(split_guards.load(), 0U) << "what failed is not counted";
}

}  // namespace
}  // namespace weft::impl
