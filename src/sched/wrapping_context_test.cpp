// SPDX-License-Identifier: Apache-2.0

#include "support/own_process.hpp"
#include "support/where.hpp"

#include <weft/cancelled.hpp>
#include <weft/custom_context.hpp>
#include <weft/execution_context.hpp>
#include <weft/join.hpp>
#include <weft/nursery.hpp>
#include <weft/pin_guard.hpp>
#include <weft/runtime.hpp>
#include <weft/this_fiber.hpp>

#include <atomic>
#include <chrono>
#include <gtest/gtest.h>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace weft {
namespace {

using namespace std::chrono_literals;

using testing::error_of;
using testing::here;

/// Counts who comes and who goes, and may hold back what is ready.
class counting_context final : public wrapping_context {
 public:
  explicit counting_context(execution_context& inner, std::string_view name = "counting",
                            leftovers at_end = leftovers::cancelled)
      : wrapping_context(name, inner, {.at_end = at_end}) {}
  counting_context(const counting_context&) = delete;
  counting_context& operator=(const counting_context&) = delete;
  ~counting_context() override {
    hold_back(false);
    end();
  }

  using wrapping_context::end;

  [[nodiscard]] int begun() const { return begun_.load(); }
  [[nodiscard]] int ready() const { return ready_.load(); }
  [[nodiscard]] int left() const { return left_.load(); }
  [[nodiscard]] std::string last_name() {
    const std::lock_guard hold(lock_);
    return last_name_;
  }
  void hold_back(bool on) {
    std::vector<ready_task> held;
    {
      const std::lock_guard hold(lock_);
      holds_back_ = on;
      if (!on) held.swap(held_);
    }
    for (ready_task& each : held) pass_on(std::move(each));
  }

 private:
  void enqueue(ready_task ready) noexcept override {
    begun_.fetch_add(ready.is_fresh() ? 1 : 0);
    ready_.fetch_add(1);
    {
      const std::lock_guard hold(lock_);
      if (holds_back_) return held_.push_back(std::move(ready));
    }
    pass_on(std::move(ready));
  }
  void on_leave(const left_task& gone) noexcept override {
    left_.fetch_add(1);
    const std::lock_guard hold(lock_);
    last_name_ = gone.name;
  }

  std::atomic<int> begun_{0};
  std::atomic<int> ready_{0};
  std::atomic<int> left_{0};
  std::mutex lock_;
  std::string last_name_;
  bool holds_back_ = false;
  std::vector<ready_task> held_;
};

TEST(WrappingContext, ItsTasksRunInTheOneThatItWraps) {
  runtime rt({.workers = 1});
  parallel_context inner(rt, "inner", {.workers = 1});
  counting_context mine(inner);
  EXPECT_EQ(&mine.inner(), &inner);
  const auto thread = inner.spawn([] { return std::this_thread::get_id(); }).join();
  const auto [where, on] = mine.spawn([] { return std::pair(here(), std::this_thread::get_id()); }).join();
  EXPECT_EQ(where, "counting");
  EXPECT_EQ(on, thread);
  EXPECT_EQ(mine.begun(), 1);
}

TEST(WrappingContext, SeesWhateverItsTasksSpawn) {
  run([] {
    counting_context mine(*execution_context::current());
    const std::string found = mine.spawn([] {
                                    std::string all = spawn(here).join();  // a closure of bytes
                                    const std::string text = "captured";
                                    all += spawn([text] { return here(); }).join();  // one that is more
                                    nursery([&](nursery& n) { n.spawn([&all] { all += here(); }); });
                                    all += spawn({.name = "named"}, here).join();
                                    return all;
                                  })
                                  .join();
    EXPECT_EQ(found, "countingcountingcountingcounting");
    EXPECT_EQ(mine.begun(), 5);
    while (mine.left() != 5) this_fiber::yield();
  });
}

TEST(WrappingContext, WhoSaysWhereToIsObeyed) {
  run([] {
    execution_context& inner = *execution_context::current();
    counting_context mine(inner);
    const std::string found =
        mine.spawn([&] {
              std::string all = inner.spawn(here).join();
              all += " " + spawn({.context = &inner}, here).join();
              nursery([&](nursery& n) { n.spawn({.context = &inner}, [&all] { all += " " + here(); }); });
              return all;
            })
            .join();
    EXPECT_EQ(found, "DEFAULT DEFAULT DEFAULT");
    EXPECT_EQ(mine.begun(), 1);
    EXPECT_EQ(spawn({.context = &mine}, here).join(), "counting");
  });
}

TEST(WrappingContext, SeesEachWaitThatEnds) {
  run([] {
    counting_context mine(*execution_context::current());
    mine.spawn({.name = "sleeper"},
               [] {
                 this_fiber::sleep_for(1us);
                 this_fiber::yield();
                 this_fiber::sleep_for(1us);
                 EXPECT_EQ(here(), "counting");
               })
        .join();
    while (mine.left() != 1) this_fiber::yield();
    EXPECT_GE(mine.ready(), 3);  // a yield that finds nobody else goes on at once
    EXPECT_LE(mine.ready(), 4);
    EXPECT_EQ(mine.last_name(), "sleeper");
  });
}

TEST(WrappingContext, MayHoldBackWhatIsReady) {
  run([] {
    counting_context mine(*execution_context::current());
    mine.hold_back(true);
    auto held = mine.spawn([] { return 1; });
    this_fiber::sleep_for(2ms);
    EXPECT_FALSE(held.is_done());
    mine.hold_back(false);
    EXPECT_EQ(held.join(), 1);
  });
}

int fib(int n) {
  if (n < 2) return n;
  if (n == 4) {
    EXPECT_EQ(spawn(here).join(), "counting");
  }
  const auto [a, b] = join([n] { return fib(n - 1); }, [n] { return fib(n - 2); });
  return a + b;
}

TEST(WrappingContext, HalvesOfJoinsAreOfItToo) {
  run(
      [] {
        counting_context mine(*execution_context::current());
        EXPECT_EQ(mine.spawn([] { return fib(16); }).join(), 987);
        const auto [a, b] = mine.spawn([] {
                                  return join(
                                      [] {
                                        this_fiber::sleep_for(1ms);  // so that somebody takes the other one
                                        return here();
                                      },
                                      [] {
                                        this_fiber::sleep_for(1ms);
                                        return here();
                                      });
                                })
                                .join();
        EXPECT_EQ(a, "counting");
        EXPECT_EQ(b, "counting");
        while (mine.left() < 2) this_fiber::yield();
        this_fiber::sleep_for(2ms);
        EXPECT_EQ(mine.left(), mine.begun()) << "halves of joins neither come nor go";
      },
      {.workers = 4});
}

// One half goes elsewhere, and with it the wrapper is left by all; the other half may be about to begin.
TEST(WrappingContext, MayEndWhileAHalfOfAJoinIsTaken) {
  runtime rt({.workers = 4});
  parallel_context other(rt, "other", {.workers = 2});
  execution_context& first = *rt.spawn([] { return execution_context::current(); }).join();
  for (int i = 0; i < 300; ++i) {
    handle<int> going;
    {
      counting_context mine(first, "mine", i % 2 == 0 ? leftovers::awaited : leftovers::cancelled);
      std::atomic<bool> has_gone{false};
      going = mine.spawn([&other, &has_gone] {
        const auto [one, two] = join(
            [&] {
              move_to(other);
              has_gone.store(true);
              return 1;
            },
            [] { return 2; });
        return one + two;
      });
      while (!has_gone.load() && !going.is_done()) std::this_thread::yield();
    }
    int sum = 0;
    const std::error_code failed = error_of([&] { sum = going.join(); });
    EXPECT_TRUE(failed ? failed == errc::cancelled : sum == 3) << failed.message();
  }
}

/// A task of a context forks in two on one of two workers, and nobody takes its second half before it is let: the other worker is held.
class late_half {
 public:
  /// Returns when the first half runs.
  template <class F>
  late_half(runtime& rt, execution_context& in, F second) {
    holder_ = rt.spawn([this] {
      busy_.fetch_add(1);
      while (!may_take_.load()) std::this_thread::yield();
    });
    while (busy_.load() < 1) std::this_thread::yield();
    maker_ = in.spawn([this, second] {
      join(
          [this] {
            busy_.fetch_add(1);
            while (!has_begun_.load()) std::this_thread::yield();  // keeps its worker
          },
          [this, second] {
            has_begun_.store(true);
            second();
          });
    });
    while (busy_.load() < 2) std::this_thread::yield();
  }

  void let_it_be_taken() { may_take_.store(true); }
  /// Waits for both. Returns the error of the one that has forked.
  std::error_code end() {
    holder_.join();
    return error_of([this] { maker_.join(); });
  }

 private:
  std::atomic<bool> may_take_{false};
  std::atomic<int> busy_{0};
  std::atomic<bool> has_begun_{false};
  handle<void> holder_;
  handle<void> maker_;
};

// The wrapper in the middle ends, and so the half does not come into any: it is asked to stop all the same, since nobody else would ask.
TEST(WrappingContext, AHalfOfAJoinThatIsRefusedIsAskedToStop) {
  runtime rt({.workers = 2, .autoscale = {.is_on = false}});
  execution_context& first = *rt.spawn([] { return execution_context::current(); }).join();
  counting_context middle(first, "middle");
  counting_context outer(middle, "outer");
  late_half late(rt, outer, [] { this_fiber::sleep_for(1h); });
  std::thread ending([&] { middle.end(); });
  while (error_of([&] { middle.spawn([] {}).detach(); }) != errc::shut_down) std::this_thread::yield();
  late.let_it_be_taken();
  ending.join();  // else this hangs
  EXPECT_EQ(late.end(), errc::cancelled);
}

/// Runs its tasks on the thread that has made it. Whatever is ready while it asks, it asks another thread about the runtime first.
class asking_context final : public custom_context {
 public:
  explicit asking_context(runtime& in) : custom_context(in, "asking"), in_(in) {}
  asking_context(const asking_context&) = delete;
  asking_context& operator=(const asking_context&) = delete;
  ~asking_context() override {
    for (close(); !is_over();) run_ready();
  }

  std::atomic<bool> asks{false};

  void run_ready() {
    std::vector<ready_task> all;
    {
      const std::lock_guard hold(lock_);
      all.swap(ready_);
    }
    for (ready_task& each : all) here_.run(std::move(each));
  }

 private:
  void enqueue(ready_task ready) noexcept override {
    if (asks.load()) std::thread([this] { (void)in_.statistics(); }).join();
    const std::lock_guard hold(lock_);
    ready_.push_back(std::move(ready));
  }

  runtime& in_;
  std::mutex lock_;
  std::vector<ready_task> ready_;
  runner here_{*this};
};

// The half of a join that is refused tells whoever waits for the end: a task of a context that is called then. Without any lock.
TEST(WrappingContext, WhoWaitsForItsEndIsToldWithoutALock) {
  runtime rt({.workers = 2, .autoscale = {.is_on = false}});
  execution_context& first = *rt.spawn([] { return execution_context::current(); }).join();
  counting_context middle(first, "middle");
  counting_context outer(middle, "outer");
  asking_context asking(rt);
  late_half late(rt, outer, [] {});
  handle<void> ender = asking.spawn([&] { middle.end(); });
  asking.run_ready();  // until it waits
  asking.asks.store(true);
  late.let_it_be_taken();
  while (!ender.is_done()) asking.run_ready();  // else this hangs
  ender.join();
  (void)late.end();
  asking.asks.store(false);
}

TEST(WrappingContext, EndsWithTheLastTask) {
  run([] {
    std::atomic<int> done{0};
    {
      counting_context mine(*execution_context::current(), "counting", leftovers::awaited);
      for (int i = 0; i < 10; ++i)
        mine.spawn([&] {
              this_fiber::sleep_for(1ms);
              spawn([&] {
                this_fiber::sleep_for(1ms);
                done.fetch_add(1);
              }).detach();
            })
            .detach();
    }
    EXPECT_EQ(done.load(), 10);
  });
}

TEST(WrappingContext, NobodyComesInWhileItEnds) {
  runtime rt({.workers = 2, .autoscale = {.is_on = false}});
  execution_context& first = *rt.spawn([] { return execution_context::current(); }).join();
  counting_context mine(first);
  std::atomic<bool> has_begun{false};
  std::atomic<bool> may_end{false};
  handle<void> last = mine.spawn([&] {
    has_begun.store(true);
    while (!may_end.load()) std::this_thread::yield();
  });
  while (!has_begun.load()) std::this_thread::yield();  // else it may be asked to stop before
  std::thread ending([&] { mine.end(); });
  while (error_of([&] { mine.spawn([] {}).detach(); }) != errc::shut_down) std::this_thread::yield();
  rt.spawn([&] {
      EXPECT_EQ(error_of([&] { move_to(mine); }), errc::shut_down);
      EXPECT_EQ(here(), "DEFAULT");
    }).join();
  may_end.store(true);
  ending.join();
  last.join();
}

TEST(WrappingContext, AsksItsTasksAloneToStop) {
  run([] {
    std::atomic<int> stopped{0};
    std::atomic<int> begun{0};
    const auto sleeper = [&] {
      begun.fetch_add(1);
      try {
        this_fiber::sleep_for(1h);
      } catch (const cancelled&) {
        stopped.fetch_add(1);
        throw;
      }
    };
    auto other = spawn([&] {
      begun.fetch_add(1);
      this_fiber::sleep_for(20ms);
      return 42;
    });
    counting_context mine(*execution_context::current());
    for (int i = 0; i < 5; ++i) mine.spawn(sleeper).detach();
    auto busy = mine.spawn([&] {
      begun.fetch_add(1);
      for (;;) this_fiber::checkpoint(), this_fiber::yield();
    });
    while (begun.load() != 7) this_fiber::yield();
    mine.request_cancel();
    EXPECT_EQ(error_of([&] { busy.join(); }), errc::cancelled);
    auto late = mine.spawn([] { return 1; });  // and all that are still to come
    EXPECT_EQ(error_of([&] { (void)late.join(); }), errc::cancelled);
    while (stopped.load() != 5) this_fiber::yield();
    EXPECT_EQ(other.join(), 42);
  });
}

TEST(WrappingContext, StopsWithTheOneThatItWraps) {
  runtime rt({.workers = 1});
  parallel_context inner(rt, "inner", {.workers = 1});
  counting_context mine(inner);
  std::atomic<bool> is_asleep{false};
  auto sleeper = mine.spawn([&] {
    is_asleep.store(true);
    this_fiber::sleep_for(1h);
  });
  while (!is_asleep.load()) std::this_thread::yield();
  inner.request_cancel();
  EXPECT_EQ(error_of([&] { sleeper.join(); }), errc::cancelled);
}

TEST(WrappingContext, TasksComeAndGo) {
  run([] {
    execution_context& inner = *execution_context::current();
    counting_context one(inner, "one");
    counting_context two(inner, "two");
    concurrent_context other("other");
    const std::string path = spawn([&] {
                               std::string found = here();
                               const auto go = [&found](execution_context& to) {
                                 move_to(to);
                                 found += " " + here();
                               };
                               go(one);
                               go(two);
                               go(inner);
                               go(two);
                               go(other);
                               go(one);
                               return found;
                             }).join();
    EXPECT_EQ(path, "DEFAULT one two DEFAULT two other one");
    while (one.left() != 2 || two.left() != 2) this_fiber::yield();
  });
}

TEST(WrappingContext, MayBeWrappedAgain) {
  run(
      [] {
        counting_context inside(*execution_context::current(), "inside");
        counting_context outside(inside, "outside");
        const int result = outside
                               .spawn([] {
                                 EXPECT_EQ(here(), "outside");
                                 int sum = 0;
                                 nursery([&](nursery& n) {
                                   for (int i = 0; i < 10; ++i)
                                     n.spawn([] {
                                       this_fiber::sleep_for(10us);
                                       EXPECT_EQ(here(), "outside");
                                     });
                                 });
                                 const auto [a, b] = join([] { return 20; },
                                                          [] {
                                                            this_fiber::yield();
                                                            return 22;
                                                          });
                                 sum += a + b;
                                 return sum;
                               })
                               .join();
        EXPECT_EQ(result, 42);
        while (outside.left() < 11 || inside.left() < 11) this_fiber::yield();
        EXPECT_EQ(outside.left(), inside.left());
        EXPECT_EQ(outside.begun(), 11);
        EXPECT_EQ(inside.begun(), 11);
      },
      {.workers = 2});
}

TEST(WrappingContext, PinnedTasksStayOnTheirThread) {
  run(
      [] {
        counting_context mine(*execution_context::current());
        EXPECT_TRUE(mine.spawn([] {
                          const pin_guard fast;
                          const auto thread = std::this_thread::get_id();
                          for (int i = 0; i < 20; ++i) {
                            this_fiber::sleep_for(10us);
                            if (std::this_thread::get_id() != thread) return false;
                          }
                          return true;
                        })
                        .join());
      },
      {.workers = 3});
}

TEST(WrappingContext, ManyComeFromAllSides) {
  constexpr int threads = 4;
  constexpr int each = 200;
  runtime rt({.workers = 2});
  parallel_context inner(rt, "inner", {.workers = 2});
  std::atomic<int> done{0};
  for (int round = 0; round < 5; ++round) {
    counting_context mine(inner, "counting", leftovers::awaited);
    std::vector<std::thread> spawners;
    for (int t = 0; t < threads; ++t)
      spawners.emplace_back([&] {
        for (int i = 0; i < each; ++i)
          mine.spawn([&done] {
                this_fiber::yield();
                spawn([&done] { done.fetch_add(1); }).detach();
              })
              .detach();
      });
    for (std::thread& one : spawners) one.join();
  }
  EXPECT_EQ(done.load(), 5 * threads * each);
}

TEST(WrappingContext, AnIsolatedOneCannotBeWrapped) {
  run([] {
    isolated_context only("only", [] {});
    EXPECT_EQ(error_of([&] { const counting_context mine(only); }), errc::isolated_context);
  });
}

TEST(WrappingContextDeathTest, TheInnerOneOutlivesIt) {
  WEFT_NEEDS_OWN_PROCESS();
  EXPECT_DEATH(
      {
        runtime rt({.workers = 1});
        auto inner = std::make_unique<parallel_context>(rt, "inner", context_options{.workers = 1});
        const counting_context mine(*inner);
        inner.reset();
      },
      "execution context 'inner' was destroyed before one that wraps it");
}

TEST(WrappingContextDeathTest, NoTaskOfItEndsIt) {
  WEFT_NEEDS_OWN_PROCESS();
  EXPECT_DEATH(
      {
        runtime rt({.workers = 1});
        auto mine =
            std::make_unique<counting_context>(*rt.spawn([] { return execution_context::current(); }).join());
        mine->spawn([&] { mine.reset(); }).join();
      },
      "an execution context is ended by one of its own tasks");
}

TEST(WrappingContextDeathTest, NoTaskOfOneThatWrapsItEndsIt) {
  WEFT_NEEDS_OWN_PROCESS();
  EXPECT_DEATH(
      {
        runtime rt({.workers = 1});
        auto middle =
            std::make_unique<counting_context>(*rt.spawn([] { return execution_context::current(); }).join());
        counting_context outer(*middle, "outer");
        outer.spawn([&] { middle.reset(); }).join();
      },
      "an execution context is ended by one of its own tasks");
}

}  // namespace
}  // namespace weft
