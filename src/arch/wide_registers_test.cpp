// SPDX-License-Identifier: Apache-2.0
//
// Asks the processor before it calls what was compiled for wider instruction sets (wide_registers_body_test.cpp).

#include <gtest/gtest.h>
#include <sys/auxv.h>

namespace weft::impl {

bool wide_registers_are_kept();  // wide_registers_body_test.cpp

namespace {

bool processor_has_them() {
#if defined(__x86_64__)
  return __builtin_cpu_supports("avx512f");
#else
  return (::getauxval(AT_HWCAP) & HWCAP_SVE) != 0;
#endif
}

TEST(WideRegisters, AreKeptOnBothSides) {
  if (!processor_has_them()) GTEST_SKIP() << "this processor has no such registers";
  EXPECT_TRUE(wide_registers_are_kept());
}

}  // namespace
}  // namespace weft::impl
