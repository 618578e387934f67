// SPDX-License-Identifier: Apache-2.0

#include "support/on_workers.hpp"

#include <weft/cancelled.hpp>
#include <weft/fiber_local.hpp>
#include <weft/join.hpp>
#include <weft/no_suspend.hpp>
#include <weft/nursery.hpp>
#include <weft/runtime.hpp>
#include <weft/task_context.hpp>
#include <weft/this_fiber.hpp>

#include <atomic>
#include <gtest/gtest.h>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace weft {
namespace {

class BelongingsTest : public testing::on_workers {};
INSTANTIATE_TEST_SUITE_P(, BelongingsTest, ::testing::Values(1U, 3U), testing::name_by_workers);

// -- fiber_local ------------------------------------------------------------------------------------------------------

TEST_P(BelongingsTest, EachTaskHasAValueOfItsOwn) {
  const fiber_local<int> number;
  run([&number] {
    *number = -1;
    nursery([&number](nursery& n) {
      for (int i = 0; i < 100; ++i) {
        n.spawn([&number, i] {
          EXPECT_EQ(*number, 0) << "as T() makes it, also in a record that was used before";
          *number = i;
          for (int turn = 0; turn < 3; ++turn) this_fiber::yield();
          EXPECT_EQ(*number, i);
        });
      }
    });
    EXPECT_EQ(*number, -1);
  });
}

TEST_P(BelongingsTest, ValuesGoWithTheirTask) {
  static std::atomic<int> alive{0};
  struct counted {
    counted() { alive.fetch_add(1); }
    counted(const counted&) = delete;
    counted& operator=(const counted&) = delete;
    ~counted() { alive.fetch_sub(1); }
  };
  const fiber_local<counted> first;
  const fiber_local<counted> second;
  run([&] {
    spawn([&] {
      (void)second.get();
      (void)first.get();
      EXPECT_EQ(alive.load(), 2);
    }).join();
    EXPECT_EQ(alive.load(), 0);
    auto held = spawn([&] { (void)first.get(); });
    while (!held.is_done()) this_fiber::yield();
    EXPECT_EQ(alive.load(), 0) << "they go when it ends, not with its handle";
    held.join();
  });
}

TEST(FiberLocal, APlainThreadHasOneToo) {
  const fiber_local<std::string> text;
  *text = "main";
  std::thread([&text] {
    EXPECT_EQ(*text, "");
    *text = "other";
  }).join();
  EXPECT_EQ(*text, "main");
}

// -- task_context -----------------------------------------------------------------------------------------------------

TEST_P(BelongingsTest, AContextIsInherited) {
  const context_key<std::string> trace;
  const context_key<int> tenant;
  run([&] {
    EXPECT_EQ(trace.get(), nullptr);
    with_context(trace, "abc", [&] {
      with_context(tenant, 7, [&] {
        nursery([&](nursery& n) {
          for (int i = 0; i < 20; ++i) {
            n.spawn([&] {
              this_fiber::yield();
              EXPECT_EQ(*trace.get(), "abc");
              EXPECT_EQ(*tenant.get(), 7);
              EXPECT_EQ(spawn([&] { return *tenant.get(); }).join(), 7) << "and its children's children";
            });
          }
        });
      });
      EXPECT_EQ(tenant.get(), nullptr);
      EXPECT_EQ(with_context(trace, "def", [&] { return *trace.get(); }), "def");
      EXPECT_EQ(*trace.get(), "abc");
    });
    EXPECT_EQ(trace.get(), nullptr);
    EXPECT_EQ(spawn([&] { return trace.get() == nullptr; }).join(), true);
  });
}

TEST_P(BelongingsTest, AValueLivesAsLongAsATaskThatHasIt) {
  const auto value = std::make_shared<int>(5);
  const context_key<std::shared_ptr<int>> key;
  run([&] {
    std::atomic<bool> go{false};
    auto late = with_context(key, value, [&] {
      return spawn([&] {
        while (!go) this_fiber::yield();
        return **key.get();
      });
    });
    EXPECT_EQ(key.get(), nullptr);
    go = true;
    EXPECT_EQ(late.join(), 5);
  });
  EXPECT_EQ(value.use_count(), 1);
}

TEST_P(BelongingsTest, AThreadPassesItsContextOn) {
  const context_key<int> key;
  runtime one({.workers = GetParam()});
  with_context(key, 3, [&] { EXPECT_EQ(one.spawn([&] { return *key.get(); }).join(), 3); });
  EXPECT_TRUE(one.spawn([&] { return key.get() == nullptr; }).join());
  EXPECT_EQ(key.get(), nullptr);
}

// The second half of a join has the context that the join was made in, whoever runs it, and however far its caller has gone in
// meanwhile.
TEST(TaskContext, GoesAlongWithAJoinThatIsTakenByAnother) {
  const context_key<int> key;
  run(
      [&] {
        for (int round = 0; round < 50; ++round) {
          with_context(key, round, [&] {
            std::atomic<bool> taken{false};
            join(
                [&] {
                  with_context(key, -1, [&] {
                    for (int turn = 0; turn < 10'000 && !taken; ++turn) this_fiber::yield();
                    EXPECT_EQ(*key.get(), -1);
                  });
                },
                [&] {
                  taken = true;
                  EXPECT_EQ(*key.get(), round);
                });
            EXPECT_EQ(*key.get(), round);
          });
        }
      },
      {.workers = 2});
}

// The same where all is one function, and the first half does not leave its worker.
TEST(TaskContext, OfTheFirstHalfIsNotTheSecondHalfs) {
  static const context_key<int> key;
  run(
      [] {
        for (int round = 0; round < 200; ++round) {
          std::atomic<bool> done{false};
          std::atomic<bool> leaked{false};
          spawn([&] {
            join(
                [&] {
                  with_context(key, 7, [&] {
                    while (!done) {
                    }
                  });
                },
                [&] {
                  leaked = key.get() != nullptr;
                  done = true;
                });
          }).join();
          ASSERT_FALSE(leaked);
        }
      },
      {.workers = 2});
}

// A child stands where its parent stood when it opened the block, and joins further out.
[[gnu::noinline]] handle<bool> spawn_deep_within(const context_key<int>& key) {
  volatile char deep[4096];
  volatile char& somewhere = deep[0];
  somewhere = 1;
  return with_context(key, 7, [&key] {
    return spawn([&key] {
      std::atomic<bool> done{false};
      std::atomic<bool> has_value{false};
      join(
          [&] {
            while (!done) {
            }
          },
          [&] {
            has_value = key.get() != nullptr && *key.get() == 7;
            done = true;
          });
      return has_value.load();
    });
  });
}
TEST(TaskContext, ThatWasInheritedGoesAlongWherever) {
  static const context_key<int> key;
  run(
      [] {
        for (int round = 0; round < 200; ++round)
          ASSERT_TRUE(spawn([] { return spawn_deep_within(key); }).join().join());
      },
      {.workers = 2});
}

// What is left of a task that has ended goes as part of it: it may spawn, and wait.
struct last_words {
  std::atomic<int>* heard = nullptr;
  last_words() noexcept = default;
  explicit last_words(std::atomic<int>& by) noexcept : heard(&by) {}
  last_words(last_words&& other) noexcept : heard(std::exchange(other.heard, nullptr)) {}
  last_words& operator=(last_words&&) = delete;
  ~last_words() {
    if (heard == nullptr) return;
    try {
      spawn([by = heard] { ++*by; }).join();
    } catch (const cancelled&) {  // main has heard it, and has ended
    }
  }
};
TEST_P(BelongingsTest, AResultThatNobodyWantsMaySpawnAndWaitAsItGoes) {
  std::atomic<int> heard{0};
  run([&] {
    spawn([&heard] { return last_words(heard); }).detach();
    while (heard == 0) this_fiber::yield();
  });
  EXPECT_EQ(heard.load(), 1);
}
TEST_P(BelongingsTest, AValueOfAContextMaySpawnAndWaitAsItGoes) {
  static const context_key<last_words> key;
  std::atomic<int> heard{0};
  run([&] {
    std::atomic<bool> go{false};
    with_context(key, last_words(heard), [&go] {
      spawn([&go] {
        while (!go) this_fiber::yield();
      }).detach();
    });
    go = true;
    while (heard == 0) this_fiber::yield();
  });
  EXPECT_EQ(heard.load(), 1);
}

// -- no_suspend -------------------------------------------------------------------------------------------------------

TEST_P(BelongingsTest, WithinNoSuspendMuchCanBeDone) {
  run([] {
    handle<int> child;
    {
      const no_suspend outer;
      const no_suspend inner;
      child = spawn([] { return 1; });
      nursery([](nursery&) {});
    }
    this_fiber::yield();
    EXPECT_EQ(child.join(), 1);
    EXPECT_EQ(spawn([] {
                this_fiber::yield();
                return 2;
              }).join(),
              2)
        << "nobody else is concerned";
  });
  const no_suspend on_a_thread;
}

TEST(NoSuspendDeathTest, AWaitIsMisuse) {
  const auto wait = [](auto&& how) { weft::run([&how] { how(); }, {.workers = 1}); };
  EXPECT_DEATH(wait([] {
                 const no_suspend guard;
                 spawn([] {}).join();
               }),
               "a task waits although a no_suspend forbids it");
  EXPECT_DEATH(wait([] {
                 const no_suspend guard;
                 this_fiber::yield();
               }),
               "a task yields although a no_suspend forbids it to wait");
}

// Not even by spawning more than may wait on a worker.
TEST(NoSuspend, ManyMayBeSpawned) {
  run(
      [] {
        std::atomic<int> ran{0};
        nursery([&ran](nursery& n) {
          const no_suspend guard;
          for (int i = 0; i < 5'000; ++i) n.spawn([&ran] { ++ran; });
          EXPECT_EQ(ran.load(), 0);
        });
        EXPECT_EQ(ran.load(), 5'000);
      },
      {.workers = 1});
}

// -- In the guide ------------------------------------------------------------------------------------------------------

// [carried]
weft::context_key<std::string> tenant;  // who a request is for
weft::fiber_local<int> tries;           // each task's own

std::string try_twice() {
  for (*tries = 1; *tries < 2; ++*tries) weft::this_fiber::yield();
  return *tenant.get() + ": try " + std::to_string(*tries);  // get(): null where nobody has given it a value
}

std::string serve() {
  return weft::with_context(tenant, "acme", [] { return weft::spawn(try_twice).join(); });
}
// [carried]

TEST_P(BelongingsTest, TheExampleOfTheGuide) { EXPECT_EQ(run(serve), "acme: try 2"); }

}  // namespace
}  // namespace weft
