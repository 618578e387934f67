// SPDX-License-Identifier: Apache-2.0

#include "queue/ready_line.hpp"

#include <array>
#include <cstddef>
#include <gtest/gtest.h>
#include <vector>

namespace weft::impl {
namespace {

constexpr thief_id alice{1};
constexpr thief_id bob{2};

class ReadyLineTest : public ::testing::Test {
 protected:
  runnable item(std::size_t i) { return {runnable::kind::fiber, &links_.at(i)}; }
  void push(std::size_t from, std::size_t until) {
    for (std::size_t i = from; i < until; ++i) line.push(item(i));
  }
  std::size_t index(runnable r) {
    return static_cast<std::size_t>(static_cast<run_link<default_platform>*>(r.address()) - links_.data());
  }
  std::vector<std::size_t> pop_all() {
    std::vector<std::size_t> all;
    while (const runnable r = line.pop()) all.push_back(index(r));
    return all;
  }
  std::vector<std::size_t> indices(run_batch batch) {
    std::vector<std::size_t> all;
    while (const runnable r = batch.pop_front()) all.push_back(index(r));
    return all;
  }
  using numbers = std::vector<std::size_t>;

  ready_line line{default_platform::barriers(), {.most = 4, .most_in_a_row = 2}};

 private:
  std::array<run_link<default_platform>, 32> links_;
};

TEST_F(ReadyLineTest, FirstInFirstOut) {
  push(0, 3);
  EXPECT_EQ(line.size(), 3U);
  EXPECT_EQ(pop_all(), (numbers{0, 1, 2}));
  EXPECT_FALSE(line.pop());
}
TEST_F(ReadyLineTest, ABatchGoesToTheEndInItsOrder) {
  push(0, 1);
  run_batch more;
  more.push_back(item(1));
  more.push_back(item(2));
  line.push(std::move(more));
  line.push(run_batch());
  EXPECT_EQ(pop_all(), (numbers{0, 1, 2}));
}
TEST_F(ReadyLineTest, OneMayJumpTheQueueAndTheOneBeforeGoesToTheEnd) {
  push(0, 2);
  line.push_first(item(2));
  line.push_first(item(3));
  EXPECT_EQ(line.size(), 4U);
  EXPECT_EQ(pop_all(), (numbers{3, 0, 1, 2}));
}
TEST_F(ReadyLineTest, TheFirstPlaceIsUsedSoOftenInARowAndNoMore) {
  push(0, 3);
  numbers taken;
  for (std::size_t i = 10; i < 16; ++i) {
    line.push_first(item(i));
    taken.push_back(index(line.pop()));
  }
  EXPECT_EQ(taken, (numbers{10, 11, 0, 13, 1, 15})) << "each of the others earns one more";
  EXPECT_EQ(pop_all(), (numbers{2, 12, 14})) << "who may not jump goes to the end";
}
TEST_F(ReadyLineTest, NoJumpIsEarnedWhileTheLineTakesTurns) {
  push(0, 4);
  numbers taken;
  for (std::size_t i = 10; i < 16; ++i) {
    line.push_first(item(i));
    taken.push_back(index(line.pop_in_turn()));
  }
  EXPECT_EQ(taken, (numbers{10, 11, 0, 1, 2, 3}));
  EXPECT_EQ(pop_all(), (numbers{12, 13, 14, 15}));
}
TEST_F(ReadyLineTest, OneTakesThePlaceOfAnother) {
  push(0, 3);
  EXPECT_EQ(index(line.exchange(item(10))), 0U);
  line.leave();
  EXPECT_EQ(line.size(), 3U);
  EXPECT_EQ(pop_all(), (numbers{1, 2, 10}));
}
TEST_F(ReadyLineTest, OneTakesThePlaceOfTheOnlyOther) {
  push(0, 1);
  for (std::size_t i = 10; i < 13; ++i) {
    EXPECT_EQ(index(line.exchange(item(i))), i == 10 ? 0U : i - 1);
    line.leave();
  }
  EXPECT_EQ(pop_all(), (numbers{12}));
}
TEST_F(ReadyLineTest, ThereIsNoPlaceToTakeInAnEmptyLine) {
  EXPECT_FALSE(line.exchange(item(0)));
  EXPECT_EQ(line.size(), 0U);
}
TEST_F(ReadyLineTest, WhoMayJumpDoesNotChangePlaces) {
  push(0, 1);
  line.push_first(item(1));
  EXPECT_FALSE(line.exchange(item(2)));
  EXPECT_EQ(pop_all(), (numbers{1, 0}));
}
TEST_F(ReadyLineTest, OneOfAnotherKindDoesNotChangePlaces) {
  line.push({runnable::kind::task, item(0).address()});
  push(1, 2);
  EXPECT_FALSE(line.exchange(item(2)));
  EXPECT_EQ(line.pop().what(), runnable::kind::task);
  EXPECT_EQ(index(line.exchange(item(2))), 1U);
  line.leave();
  EXPECT_EQ(pop_all(), (numbers{2}));
}
TEST_F(ReadyLineTest, WhoChangesPlacesLetsTheFirstPlaceEarnAJump) {
  push(0, 3);
  for (std::size_t i = 10; i < 12; ++i) {  // as many as are allowed
    line.push_first(item(i));
    EXPECT_EQ(index(line.pop()), i);
  }
  EXPECT_EQ(index(line.exchange(item(3))), 0U);
  line.leave();
  line.push_first(item(12));
  EXPECT_EQ(index(line.pop()), 12U);
  line.push_first(item(13));
  EXPECT_EQ(pop_all(), (numbers{1, 2, 3, 13}));
}
TEST_F(ReadyLineTest, NobodyGetsInWhileAPlaceIsChanged) {
  push(0, 3);
  EXPECT_EQ(index(line.exchange(item(3))), 0U);
  EXPECT_TRUE(line.ask(alice));
  EXPECT_TRUE(line.seize(alice).empty());
  line.leave();
  EXPECT_TRUE(line.ask(alice));
  EXPECT_EQ(indices(line.seize(alice)), (numbers{1, 2}));
  EXPECT_EQ(pop_all(), (numbers{3}));
}
TEST_F(ReadyLineTest, WhoAsksIsSentTheOldestHalf) {
  push(0, 5);
  EXPECT_FALSE(line.asked());
  EXPECT_TRUE(line.ask(alice));
  EXPECT_FALSE(line.ask(bob)) << "RL3";
  EXPECT_TRUE(line.asked());
  auto [items, to] = line.answer(0);
  EXPECT_EQ(to, alice);
  EXPECT_EQ(indices(std::move(items)), (numbers{0, 1, 2}));
  EXPECT_FALSE(line.is_waiting(alice));
  EXPECT_FALSE(line.withdraw(alice)) << "it has been sent something";
  EXPECT_EQ(pop_all(), (numbers{3, 4}));
}
TEST_F(ReadyLineTest, NoMoreLeaveTogetherThanTheOptionsSay) {
  push(0, 20);
  EXPECT_TRUE(line.ask(alice));
  EXPECT_EQ(indices(line.answer(0).items).size(), 4U);
  EXPECT_EQ(pop_all().size(), 16U);
}
TEST_F(ReadyLineTest, AnOwnerMayKeepSome) {
  push(0, 2);
  EXPECT_TRUE(line.ask(alice));
  EXPECT_TRUE(line.answer(2).items.empty());
  EXPECT_TRUE(line.is_waiting(alice)) << "it goes on asking";
  EXPECT_EQ(indices(line.answer(1).items), (numbers{0}));
  EXPECT_EQ(pop_all(), (numbers{1}));
}
TEST_F(ReadyLineTest, WithoutAQuestionThereIsNoAnswer) {
  push(0, 2);
  EXPECT_TRUE(line.answer(0).items.empty());
  EXPECT_EQ(pop_all().size(), 2U);
}
TEST_F(ReadyLineTest, WhoGetsNoAnswerTakesItByItself) {
  push(0, 3);
  EXPECT_TRUE(line.ask(alice));
  EXPECT_EQ(indices(line.seize(alice)), (numbers{0, 1}));
  EXPECT_FALSE(line.asked()) << "it has left";
  EXPECT_EQ(pop_all(), (numbers{2}));
}
TEST_F(ReadyLineTest, AlsoTheFirstPlaceCanBeTaken) {
  line.push_first(item(0));
  EXPECT_TRUE(line.ask(alice));
  EXPECT_EQ(indices(line.seize(alice)), (numbers{0}));
  EXPECT_FALSE(line.pop());
}
TEST_F(ReadyLineTest, WhoHasNotAskedTakesNothing) {
  push(0, 2);
  EXPECT_TRUE(indices(line.seize(alice)).empty());
  EXPECT_TRUE(line.ask(bob));
  EXPECT_TRUE(indices(line.seize(alice)).empty());
  EXPECT_TRUE(line.withdraw(bob));
  EXPECT_EQ(pop_all().size(), 2U);
}

}  // namespace
}  // namespace weft::impl
