// SPDX-License-Identifier: Apache-2.0

#include "support/on_workers.hpp"
#include "support/stack_user.hpp"

#include <weft/nursery.hpp>
#include <weft/runtime.hpp>
#include <weft/this_fiber.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstring>
#include <gtest/gtest.h>
#include <stdexcept>
#include <string>
#include <vector>

namespace weft {
namespace {

class SpawnOptionsTest : public testing::on_workers {};
INSTANTIATE_TEST_SUITE_P(, SpawnOptionsTest, ::testing::Values(1U, 3U), testing::name_by_workers);

// [options]
weft::handle<int> spawn_parser() {
  return weft::spawn({.name = "parser", .stack_bytes = 1 << 20, .priority = weft::priority::high},
                     [] { return static_cast<int>(weft::this_fiber::name().size()); });
}
// [options]
TEST_P(SpawnOptionsTest, TheGuidesExample) {
  EXPECT_EQ(run([] { return spawn_parser().join(); }), 6);
}

// -- Names ------------------------------------------------------------------------------------------------------------

TEST_P(SpawnOptionsTest, ATaskKnowsItsName) {
  run([] {
    EXPECT_EQ(this_fiber::name(), "");
    auto named = spawn({.name = std::string("reader of ") + "socket 7"}, [] {
      std::string before(this_fiber::name());
      this_fiber::yield();
      return before + "|" + std::string(this_fiber::name());
    });
    EXPECT_EQ(named.join(), "reader of socket 7|reader of socket 7");
    EXPECT_EQ(spawn([] { return this_fiber::name().size(); }).join(), 0U)
        << "not even in a record used before";
  });
  EXPECT_EQ(this_fiber::name(), "") << "a plain thread has none";
}

TEST_P(SpawnOptionsTest, ChildrenOfANurseryMayHaveNames) {
  run([] {
    std::atomic<int> right{0};
    nursery([&right](nursery& n) {
      for (int i = 0; i < 50; ++i) {
        n.spawn({.name = std::to_string(i)}, [&right, i] {
          if (this_fiber::name() == std::to_string(i)) right.fetch_add(1);
        });
      }
    });
    EXPECT_EQ(right.load(), 50);
  });
}

TEST(SpawnOptionsDeathTest, AFailureIsReportedWithTheName) {
  const auto fail = [] {
    weft::run([] {
      spawn({.name = "the importer"}, [] { throw std::runtime_error("no space"); }).detach();
      for (;;) this_fiber::yield();
    });
  };
  EXPECT_DEATH(fail(),
               "task [0-9]+ 'the importer' \\(spawned at .*\\) failed and nobody looked at it: no space");
}

// -- Stacks -----------------------------------------------------------------------------------------------------------

TEST_P(SpawnOptionsTest, ALargeStackIsLarge) {
  run([] {
    std::vector<handle<int>> all;
    for (int i = 0; i < 5; ++i)
      all.push_back(spawn({.stack_bytes = std::size_t{8} << 20U}, [] {
        const int before = testing::use_stack(std::size_t{4} << 20U);
        this_fiber::yield();
        return before + testing::use_stack(std::size_t{4} << 20U);
      }));
    for (auto& each : all) EXPECT_EQ(each.join(), 2 * 256);
  });
}

TEST_P(SpawnOptionsTest, ASmallStackServesItsTaskAlone) {
  run([] {
    std::atomic<int> ended{0};
    nursery([&ended](nursery& n) {
      for (int i = 0; i < 100; ++i) {
        n.spawn({.stack_bytes = 16 * 1024}, [&ended] {
          this_fiber::yield();
          ended.fetch_add(1);
        });
        // These would not fit on it.
        n.spawn([&ended] { ended.fetch_add(testing::use_stack(64 * 1024) == 4 ? 1 : 0); });
      }
    });
    EXPECT_EQ(ended.load(), 200);
  });
}

TEST_P(SpawnOptionsTest, AStackThatCannotBeIsRefused) {
  run([] {
    for (const std::size_t bytes : {std::size_t{1}, std::size_t{1024}, std::size_t{1} << 30U}) {
      try {
        (void)spawn({.stack_bytes = bytes}, [] { ADD_FAILURE() << "it ran"; });
        ADD_FAILURE() << bytes;
      } catch (const std::invalid_argument& error) {
        EXPECT_EQ(std::string(error.what()),
                  "spawn_options::stack_bytes is " + std::to_string(bytes) +
                      "; a stack has 8192 to 8388608 bytes, or 0 for one like all others");
      }
    }
  });
}

// -- Priorities -------------------------------------------------------------------------------------------------------

/// In which order tasks came by. They are ordered by nothing but the scheduler, so each writes a place of its own.
class order_of {
 public:
  void add(char who) noexcept { places_[count_.fetch_add(1)].store(who); }
  [[nodiscard]] std::string text() const {
    std::string all;
    for (std::size_t i = 0; i < count_.load(); ++i) all += places_[i].load();
    return all;
  }

 private:
  std::atomic<std::size_t> count_{0};
  std::array<std::atomic<char>, 16> places_{};
};

TEST(Priorities, HighBeforeNormalBeforeLow) {
  run(
      [] {
        order_of order;
        nursery([&order](nursery& n) {
          n.spawn({.priority = priority::low}, [&order] { order.add('l'); });
          for (int i = 0; i < 3; ++i) n.spawn([&order] { order.add('n'); });
          n.spawn({.priority = priority::high}, [&order] { order.add('h'); });
        });
        EXPECT_EQ(order.text(), "hnnnl");
      },
      {.workers = 1});
}

TEST(Priorities, ATaskKeepsItsLaneWhenItGoesOn) {
  run(
      [] {
        order_of order;
        nursery([&order](nursery& n) {
          n.spawn({.priority = priority::high}, [&order] {
            order.add('h');
            this_fiber::yield();
            order.add('h');
          });
          for (int i = 0; i < 3; ++i) {
            n.spawn([&order] {
              this_fiber::yield();
              order.add('n');
            });
          }
        });
        EXPECT_EQ(order.text().substr(0, 2), "hh");
      },
      {.workers = 1});
}

// [aging] Whatever others do, everybody runs within so many slices.
TEST(Priorities, NobodyStarves) {
  run(
      [] {
        std::atomic<bool> stop{false};
        std::atomic<int> slices{0};
        std::atomic<int> normal_after{0};
        std::atomic<int> low_after{0};
        nursery([&](nursery& n) {
          for (int i = 0; i < 3; ++i) {
            n.spawn({.priority = priority::high}, [&] {
              while (!stop) {
                slices.fetch_add(1);
                this_fiber::yield();
              }
            });
          }
          n.spawn([&] { normal_after = slices.load(); });
          n.spawn({.priority = priority::low}, [&] {
            low_after = slices.load();
            stop = true;
          });
        });
        EXPECT_LE(normal_after.load(), 64);
        EXPECT_LE(low_after.load(), 61 * 8 * 20);
      },
      {.workers = 1});
}

TEST(Priorities, LowRunsBesideTasksThatNeverEnd) {
  run(
      [] {
        std::atomic<bool> stop{false};
        nursery([&stop](nursery& n) {
          for (int i = 0; i < 3; ++i) {
            n.spawn([&stop] {
              while (!stop) this_fiber::yield();
            });
          }
          n.spawn({.priority = priority::low}, [&stop] { stop = true; });
        });
      },
      {.workers = 1});
}

TEST(Priorities, AreForAllWorkers) {
  run(
      [] {
        std::atomic<int> ended{0};
        nursery([&ended](nursery& n) {
          for (const priority each : {priority::low, priority::high, priority::normal}) {
            for (int i = 0; i < 300; ++i) {
              n.spawn({.priority = each}, [&ended] {
                this_fiber::yield();
                ended.fetch_add(1);
              });
            }
          }
        });
        EXPECT_EQ(ended.load(), 900);
      },
      {.workers = 4});
}

}  // namespace
}  // namespace weft
