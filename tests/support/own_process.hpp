// SPDX-License-Identifier: Apache-2.0
//
// own_process — death tests that start from the beginning, in a process without the threads of this one.
#pragma once

#include <gtest/gtest.h>

/// First of all in such a test: all its death tests begin in a new process. An emulator cannot start one for them.
#if defined(WEFT_TEST_EMULATED)
#define WEFT_NEEDS_OWN_PROCESS() GTEST_SKIP() << "an emulated program cannot start itself again"
#else
#define WEFT_NEEDS_OWN_PROCESS() GTEST_FLAG_SET(death_test_style, "threadsafe")
#endif
