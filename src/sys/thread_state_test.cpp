// SPDX-License-Identifier: Apache-2.0

#include "sys/thread_state.hpp"

#include <atomic>
#include <chrono>
#include <gtest/gtest.h>
#include <thread>

namespace weft::impl {
namespace {

TEST(ThreadState, IsTheLetterAfterTheName) {
  EXPECT_EQ(parse_thread_state("12 (name) R 1 2 3"), thread_state::computing);
  EXPECT_EQ(parse_thread_state("12 (name) S 1 2 3"), thread_state::waiting);
  EXPECT_EQ(parse_thread_state("12 (name) D 1 2 3"), thread_state::waiting);
  EXPECT_EQ(parse_thread_state("12 (name) Z 1 2 3"), thread_state::unknown);
}
TEST(ThreadState, ANameMayHoldAnything) {
  EXPECT_EQ(parse_thread_state("12 (a) R (b) S 1"), thread_state::waiting);
  EXPECT_EQ(parse_thread_state("12 (\n) ) ) R 1"), thread_state::computing);
}
TEST(ThreadState, WhatIsNoLineIsUnknown) {
  for (const char* const bad : {"", ")", "12 (name)", "12 (name) ", "12 name R", "12 (name)R"})
    EXPECT_EQ(parse_thread_state(bad), thread_state::unknown) << bad;
}

template <class Body>
thread_state seen_while(Body&& body, thread_state wanted) {
  std::atomic<pid_t> number{0};
  std::atomic<bool> go_on{true};
  std::thread other([&] {
    number.store(this_thread_number());
    while (go_on.load()) body();
  });
  while (number.load() == 0) std::this_thread::yield();
  thread_state seen = thread_state::unknown;
  for (int i = 0; i < 10000 && seen != wanted; ++i) seen = look_at_thread(number.load());
  go_on.store(false);
  other.join();
  return seen;
}
TEST(ThreadState, OfOneThatComputes) {
  EXPECT_EQ(seen_while([] {}, thread_state::computing), thread_state::computing);
}
TEST(ThreadState, OfOneThatWaits) {
  const auto nap = [] { std::this_thread::sleep_for(std::chrono::milliseconds(10)); };
  EXPECT_EQ(seen_while(nap, thread_state::waiting), thread_state::waiting);
}
TEST(ThreadState, OfOneThatIsGoneIsUnknown) { EXPECT_EQ(look_at_thread(0x3ffffff), thread_state::unknown); }

}  // namespace
}  // namespace weft::impl
