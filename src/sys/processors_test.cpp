// SPDX-License-Identifier: Apache-2.0

#include "sys/processors.hpp"

#include <array>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <sched.h>
#include <string>
#include <thread>

namespace weft::impl {
namespace {

TEST(ProcessorLimits, APartOfAProcessorCountsAsOne) {
  EXPECT_EQ((processor_limits{8, 0.5}.effective()), 1U);
  EXPECT_EQ((processor_limits{8, 1.0}.effective()), 1U);
  EXPECT_EQ((processor_limits{8, 1.5}.effective()), 2U);
  EXPECT_EQ((processor_limits{8, 3.0}.effective()), 3U);
}
TEST(ProcessorLimits, TheTighterOneHolds) {
  EXPECT_EQ((processor_limits{2, 7.5}.effective()), 2U);
  EXPECT_EQ((processor_limits{2, processor_limits::no_quota}.effective()), 2U);
  EXPECT_EQ((processor_limits{1, 0.001}.effective()), 1U);
}

TEST(ProcessorLimits, OfThisProcess) {
  const processor_limits now = read_processor_limits();
  EXPECT_GE(now.allowed, 1U);
  EXPECT_LE(now.effective(), now.allowed);
}

TEST(ProcessorLimits, AreThoseOfTheAffinityMask) {
  std::thread([] {  // so that the mask of the test stays as it is
    cpu_set_t all;
    ASSERT_EQ(::sched_getaffinity(0, sizeof all, &all), 0);
    std::size_t first = 0;
    while (!CPU_ISSET(first, &all)) ++first;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(first, &one);
    ASSERT_EQ(::sched_setaffinity(0, sizeof one, &one), 0);
    EXPECT_EQ(read_processor_limits().allowed, 1U);
    EXPECT_EQ(read_processor_limits().effective(), 1U);
  })
      .join();
}

/// A tree of files as the kernel shows them.
class ControlGroups : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = ::testing::TempDir() + "/weft-groups-XXXXXX";
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    root = name;
  }
  void TearDown() override { std::filesystem::remove_all(root); }

  void write(const std::string& path, const std::string& text) const {
    const std::filesystem::path at = root + path;
    std::filesystem::create_directories(at.parent_path());
    std::ofstream(at) << text;
  }
  void is_in(const std::string& memberships) const { write("/proc/self/cgroup", memberships); }
  void has_mounts(const std::string& mounts) const { write("/proc/self/mountinfo", mounts); }

  void has_version_two(const std::string& group) const {
    has_mounts(
        "21 1 0:20 / /proc rw,nosuid - proc proc rw\n"
        "30 1 0:26 / /sys/fs/cgroup rw,nosuid shared:4 master:2 - cgroup2 cgroup2 rw,nsdelegate\n");
    is_in("0::" + group + "\n");
  }
  void has_version_one(const std::string& shows, const std::string& group) const {
    has_mounts("33 32 0:29 " + shows + " /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n" +
               "34 32 0:30 " + shows + " /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n");
    is_in("9:memory:/elsewhere\n4:cpu,cpuacct:" + group + "\n1:name=systemd:/\n");
  }
  void limit_one(const std::string& group, const std::string& quota, const std::string& period) const {
    write("/sys/fs/cgroup/cpu,cpuacct" + group + "/cpu.cfs_quota_us", quota + "\n");
    write("/sys/fs/cgroup/cpu,cpuacct" + group + "/cpu.cfs_period_us", period + "\n");
  }

  [[nodiscard]] double quota() const { return read_processor_limits(0, root).quota; }

  static constexpr double none = processor_limits::no_quota;
  std::string root;
};

TEST_F(ControlGroups, WhereThereAreNoneNothingIsLimited) {
  EXPECT_EQ(quota(), none);
  has_mounts("21 1 0:20 / /proc rw - proc proc rw\n");
  is_in("0::/\n");
  EXPECT_EQ(quota(), none);
}

TEST_F(ControlGroups, OfVersionTwo) {
  has_version_two("/app");
  write("/sys/fs/cgroup/app/cpu.max", "50000 100000\n");
  EXPECT_EQ(quota(), 0.5);
  write("/sys/fs/cgroup/app/cpu.max", "250000 100000\n");
  EXPECT_EQ(quota(), 2.5) << "read anew each time";
  write("/sys/fs/cgroup/app/cpu.max", "max 100000\n");
  EXPECT_EQ(quota(), none);
}
TEST_F(ControlGroups, TheTightestOnThePathHolds) {
  has_version_two("/slice/app/part");
  write("/sys/fs/cgroup/slice/cpu.max", "150000 100000\n");
  write("/sys/fs/cgroup/slice/app/cpu.max", "400000 100000\n");
  write("/sys/fs/cgroup/slice/app/part/cpu.max", "max 100000\n");
  EXPECT_EQ(quota(), 1.5);
  write("/sys/fs/cgroup/cpu.max", "20000 100000\n");
  EXPECT_EQ(quota(), 0.2) << "of a container, whose root is somebody's group";
}
TEST_F(ControlGroups, AGroupThatIsNotSeenIsTakenForTheMount) {
  has_version_two("/../outside");
  write("/sys/fs/cgroup/cpu.max", "300000 100000\n");
  EXPECT_EQ(quota(), 3.0);
}

TEST_F(ControlGroups, OfVersionOne) {
  has_version_one("/", "/app/part");
  limit_one("/app/part", "-1", "100000");
  EXPECT_EQ(quota(), none);
  limit_one("/app/part", "25000", "50000");
  EXPECT_EQ(quota(), 0.5);
  limit_one("/app", "10000", "100000");
  EXPECT_EQ(quota(), 0.1);
}
TEST_F(ControlGroups, OfVersionOneInAContainer) {
  has_version_one("/docker/4711", "/docker/4711");
  limit_one("", "200000", "100000");
  EXPECT_EQ(quota(), 2.0);
  has_version_one("/docker/4711", "/docker/4711/inner");
  limit_one("/inner", "150000", "100000");
  EXPECT_EQ(quota(), 1.5);
  has_version_one("/docker/4711", "/docker/47110");
  EXPECT_EQ(quota(), 2.0) << "another group, though its name begins the same";
}

TEST_F(ControlGroups, OfBothVersionsAtATime) {
  has_mounts("30 1 0:26 / /two rw - cgroup2 cgroup2 rw\n34 32 0:30 / /one rw - cgroup cgroup rw,cpu\n");
  is_in("4:cpu:/a\n0::/b\n");
  write("/two/b/cpu.max", "300000 100000\n");
  write("/one/a/cpu.cfs_quota_us", "200000\n");
  write("/one/a/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(quota(), 2.0);
  write("/two/b/cpu.max", "100000 100000\n");
  EXPECT_EQ(quota(), 1.0);
}
TEST_F(ControlGroups, MountedWhereTheNameHasABlank) {
  has_mounts("30 1 0:26 / /my\\040groups rw - cgroup2 cgroup2 rw\n");
  is_in("0::/\n");
  write("/my groups/cpu.max", "70000 100000\n");
  EXPECT_EQ(quota(), 0.7);
}
TEST_F(ControlGroups, WhatMakesNoSenseLimitsNothing) {
  has_version_two("/app");
  for (const char* text : {"", "\n", "max", "0 100000\n", "-5 100000\n", "50000\n", "50000 0\n", "50000 x\n",
                           "99999999999999999999 100000\n", "50000 100000 7\n"}) {
    write("/sys/fs/cgroup/app/cpu.max", text);
    EXPECT_EQ(quota(), none) << text;
  }
  for (const char* text : {"", ":", "0", "0:", "::", "0::", "0::/", "no line end"}) {
    is_in(text);
    EXPECT_EQ(quota(), none) << text;
  }
  for (const char* text : {"", " ", "1 2 3", "1 2 3 4 5 6 7", "1 2 3 / /x rw -", "1 2 3 / /x rw - cgroup2"}) {
    has_mounts(text);
    EXPECT_EQ(quota(), none) << text;
  }
}

}  // namespace
}  // namespace weft::impl
