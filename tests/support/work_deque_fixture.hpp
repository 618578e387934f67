// SPDX-License-Identifier: Apache-2.0
//
// work_deque_fixture — a victim, two thieves with a deque each, and words to push.
#pragma once

#include "queue/work_deque.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <gtest/gtest.h>
#include <vector>

namespace weft::testing {

using impl::default_platform;
using impl::runnable;
using impl::thief_id;
using impl::top_word;
using impl::work_deque_options;

inline constexpr thief_id alice{1};
inline constexpr thief_id bob{2};

/// Words to push. What they point to is never looked at.
inline runnable task(std::size_t i) {
  static std::array<std::uint64_t, 4096> anything;
  return {runnable::kind::task, &anything.at(i)};
}
inline runnable join(std::size_t i) { return {runnable::kind::join, task(i).address()}; }

template <class Deque>
class BasicWorkDequeTest : public ::testing::Test {
 protected:
  static work_deque_options small() { return {.capacity = 4, .most = 8, .least_after_push = 3}; }

  void push_tasks(std::size_t from, std::size_t until) {
    for (std::size_t i = from; i < until; ++i) ASSERT_TRUE(victim.push(task(i)));
  }
  std::vector<runnable> drain(Deque& from) {
    std::vector<runnable> all;
    while (const runnable r = from.pop()) all.push_back(r);
    return all;
  }
  static std::vector<runnable> tasks(std::vector<std::size_t> numbers) {
    std::vector<runnable> all;
    for (const std::size_t i : numbers) all.push_back(task(i));
    return all;
  }
  /// What a granted thief holds now.
  top_word granted(thief_id who) {
    const top_word word = victim.at_door();
    EXPECT_TRUE(word.is_claimed());
    EXPECT_EQ(word.by(), who);
    return word;
  }

  Deque victim{default_platform::barriers(), small()};
  Deque loot{default_platform::barriers(), small()};
  Deque other_loot{default_platform::barriers(), small()};
};

}  // namespace weft::testing
