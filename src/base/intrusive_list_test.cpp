// SPDX-License-Identifier: Apache-2.0

#include "base/intrusive_list.hpp"

#include "base/rng.hpp"

#include <deque>
#include <gtest/gtest.h>
#include <list>
#include <vector>

namespace weft::impl {
namespace {

struct tag_a;
struct tag_b;

struct item : list_node<tag_a>, list_node<tag_b> {
  explicit item(int n) : number(n) {}
  int number;
  item* below = nullptr;
};

using list_a = intrusive_list<item, tag_a>;
using list_b = intrusive_list<item, tag_b>;

template <class List>
std::vector<int> numbers(List& list) {
  std::vector<int> all;
  for (item& i : list) all.push_back(i.number);
  return all;
}

TEST(IntrusiveList, KeepsTheOrderOfArrival) {
  item one(1), two(2), three(3);
  list_a list;
  EXPECT_TRUE(list.empty());
  list.push_back(two);
  list.push_back(three);
  list.push_front(one);
  EXPECT_EQ(numbers(list), (std::vector{1, 2, 3}));
  EXPECT_EQ(list.size(), 3U);
  EXPECT_EQ(&list.front(), &one);
  EXPECT_EQ(&list.back(), &three);
  EXPECT_EQ(list.try_pop_front(), &one);
  EXPECT_EQ(list.try_pop_front(), &two);
  EXPECT_EQ(list.try_pop_front(), &three);
  EXPECT_EQ(list.try_pop_front(), nullptr);
  list.push_back(one);
  list.push_back(two);
  EXPECT_EQ(list.try_pop_back(), &two);
  EXPECT_EQ(list.try_pop_back(), &one);
  EXPECT_EQ(list.try_pop_back(), nullptr);
}

TEST(IntrusiveList, AnElementIsInSeveralListsByTag) {
  item one(1), two(2);
  list_a a;
  list_b b;
  a.push_back(one);
  b.push_back(two);
  b.push_back(one);
  a.erase(one);
  EXPECT_FALSE(static_cast<list_node<tag_a>&>(one).is_linked());
  EXPECT_TRUE(static_cast<list_node<tag_b>&>(one).is_linked());
  EXPECT_EQ(numbers(b), (std::vector{2, 1}));
  b.erase(two);
  b.erase(one);
}

TEST(IntrusiveList, SpliceMovesAll) {
  item one(1), two(2), three(3);
  list_a a, b;
  a.push_back(one);
  b.push_back(two);
  b.push_back(three);
  a.splice_back(b);
  EXPECT_TRUE(b.empty());
  EXPECT_EQ(numbers(a), (std::vector{1, 2, 3}));
  a.splice_back(b);  // nothing to move
  EXPECT_EQ(numbers(a), (std::vector{1, 2, 3}));
  while (a.try_pop_front() != nullptr) {
  }
}

// A thousand random operations against the standard's list.
TEST(IntrusiveList, AgreesWithTheStandardList) {
  xoshiro256ss random(20240601);
  std::deque<item> items;
  for (int i = 0; i < 32; ++i) items.emplace_back(i);
  list_a ours;
  std::list<int> theirs;
  for (int step = 0; step < 1000; ++step) {
    item& i = items[random.below(32)];
    if (static_cast<list_node<tag_a>&>(i).is_linked()) {
      ours.erase(i);
      theirs.remove(i.number);
    } else if (random.below(2) == 0) {
      ours.push_back(i);
      theirs.push_back(i.number);
    } else {
      ours.push_front(i);
      theirs.push_front(i.number);
    }
    ASSERT_EQ(numbers(ours), std::vector(theirs.begin(), theirs.end())) << "step " << step;
  }
  while (ours.try_pop_front() != nullptr) {
  }
}

TEST(IntrusiveLifo, GivesTheNewestFirst) {
  item one(1), two(2);
  intrusive_lifo<item, &item::below> chain;
  EXPECT_EQ(chain.try_pop(), nullptr);
  chain.push(one);
  chain.push(two);
  EXPECT_EQ(chain.size(), 2U);
  EXPECT_EQ(chain.try_pop(), &two);
  EXPECT_EQ(two.below, nullptr);
  EXPECT_EQ(chain.try_pop(), &one);
  EXPECT_TRUE(chain.empty());
  EXPECT_EQ(chain.size(), 0U);
}

#ifndef NDEBUG
TEST(IntrusiveListDeathTest, NamesTheInvariantThatBroke) {
  EXPECT_DEATH(
      {
        item one(1);
        list_a list;
        list.push_back(one);
        list.push_back(one);
      },
      "L1: the element is already in a list");
  EXPECT_DEATH(
      {
        list_a list;
        item one(1);
        list.push_back(one);
      },
      "L3: a node was destroyed while still in a list");
}
#endif

}  // namespace
}  // namespace weft::impl
