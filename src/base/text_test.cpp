// SPDX-License-Identifier: Apache-2.0

#include "base/text.hpp"

#include <gtest/gtest.h>
#include <limits>
#include <string>

namespace weft::impl {
namespace {

TEST(Text, WritesNumbersAndText) {
  text_line line;
  line << "a" << 0 << " " << -17 << " " << std::numeric_limits<std::uint64_t>::max() << " "
       << std::numeric_limits<std::int32_t>::min() << std::uint32_t{9};
  EXPECT_EQ(line.view(), "a0 -17 18446744073709551615 -21474836489");
}

TEST(Text, CutsWhatDoesNotFit) {
  text_line line;
  for (int i = 0; i < 300; ++i) line << "12345";
  EXPECT_EQ(line.view().size(), 1024U);
  line << 99;
  EXPECT_EQ(line.view().size(), 1024U);
}

TEST(Text, ANullStringIsNamed) {
  EXPECT_EQ((text_line() << static_cast<const char*>(nullptr)).view(), "(null)");
}

TEST(Text, SizesReadAsPeopleWriteThem) {
  const auto text = [](std::uint64_t bytes) {
    text_line line;
    return std::string(append_size(line, bytes).view());
  };
  EXPECT_EQ(text(262144), "256 KiB");
  EXPECT_EQ(text(8192), "8 KiB");
  EXPECT_EQ(text(1000), "1000 bytes");
  EXPECT_EQ(text(0), "0 bytes");
}

}  // namespace
}  // namespace weft::impl
