// SPDX-License-Identifier: Apache-2.0

#include "support/own_process.hpp"
#include "support/where.hpp"

#include <weft/execution_context.hpp>
#include <weft/nursery.hpp>
#include <weft/runtime.hpp>
#include <weft/suspend.hpp>
#include <weft/this_fiber.hpp>

#include <atomic>
#include <chrono>
#include <gtest/gtest.h>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

namespace weft {
namespace {

using namespace std::chrono_literals;

using testing::error_of;
using testing::here;

TEST(ExecutionContext, ARuntimeHasOneToBeginWith) {
  EXPECT_EQ(here(), "nowhere");
  run([] { EXPECT_EQ(here(), "DEFAULT"); });
}

TEST(ExecutionContext, ATaskRunsInTheContextThatItIsSpawnedInto) {
  runtime one({.workers = 2});
  parallel_context other(one, "other", {.workers = 2});
  EXPECT_EQ(other.name(), "other");
  EXPECT_EQ(other.workers(), 2U);
  EXPECT_EQ(other.spawn(here).join(), "other");  // from a thread
  EXPECT_EQ(one.spawn(here).join(), "DEFAULT");
  EXPECT_EQ(one.spawn([&] { return other.spawn(here).join(); }).join(), "other");  // from a task
}

TEST(ExecutionContext, ThreadsAreNotShared) {
  run(
      [] {
        parallel_context other("other", {.workers = 2});
        std::set<std::thread::id> ours;
        std::set<std::thread::id> theirs;
        for (int i = 0; i < 100; ++i) {
          ours.insert(spawn([] { return std::this_thread::get_id(); }).join());
          theirs.insert(other.spawn([] { return std::this_thread::get_id(); }).join());
        }
        for (const std::thread::id each : theirs) EXPECT_FALSE(ours.contains(each));
        EXPECT_LE(ours.size(), 2U);
        EXPECT_LE(theirs.size(), 2U);
      },
      {.workers = 2});
}

TEST(ExecutionContext, WhatATaskSpawnsBelongsToItsContext) {
  run([] {
    parallel_context other("other", {.workers = 1});
    EXPECT_EQ(other.spawn([] { return spawn(here).join(); }).join(), "other");
    EXPECT_EQ(other
                  .spawn([] {
                    std::string found;
                    nursery([&](nursery& n) { n.spawn([&] { found = here(); }); });
                    return found;
                  })
                  .join(),
              "other");
  });
}

TEST(ExecutionContext, WhoeverWakesATaskItGoesHome) {
  run(
      [] {
        concurrent_context a("a");
        concurrent_context b("b");
        for (int i = 0; i < 1000; ++i) {
          std::atomic<bool> is_published{false};
          std::optional<resumer> wake;
          auto sleeper = a.spawn([&] {
            suspend("a test", [&](resumer by) {
              wake.emplace(by);
              is_published.store(true);
            });
            return here();
          });
          b.spawn([&] {
             while (!is_published.load()) this_fiber::yield();
             EXPECT_TRUE(wake->resume());
           }).join();
          EXPECT_EQ(sleeper.join(), "a");
        }
      },
      {.workers = 2});
}

TEST(ExecutionContext, TimersWorkInEach) {
  run([] {
    concurrent_context a("a");
    parallel_context b("b", {.workers = 2});
    auto one = a.spawn([] {
      this_fiber::sleep_for(2ms);
      return here();
    });
    auto two = b.spawn([] {
      this_fiber::sleep_for(1ms);
      return here();
    });
    EXPECT_EQ(one.join(), "a");
    EXPECT_EQ(two.join(), "b");
  });
}

// -- Concurrent ---------------------------------------------------------------------------------------------------------------

TEST(ConcurrentContext, ItsTasksNeverRunAtTheSameTime) {
  runtime one({.workers = 2});
  concurrent_context turns(one, "turns");
  EXPECT_EQ(turns.workers(), 1U);
  int counter = 0;  // no lock, no atomic; and ThreadSanitizer agrees
  std::vector<handle<void>> all;
  constexpr int tasks = 200;
  constexpr int rounds = 50;
  for (int i = 0; i < tasks; ++i) {
    all.push_back(turns.spawn([&counter] {
      for (int k = 0; k < rounds; ++k) {
        const int seen = counter;
        counter = seen + 1;
        this_fiber::yield();
      }
    }));
  }
  for (auto& each : all) each.join();
  EXPECT_EQ(counter, tasks * rounds);
}

TEST(ConcurrentContext, ItsTasksStayOnOneThread) {
  run(
      [] {
        concurrent_context other("other");
        const auto thread = [] { return std::this_thread::get_id(); };
        const std::thread::id first = other.spawn(thread).join();
        for (int i = 0; i < 100; ++i) {
          auto later = other.spawn([&] {
            this_fiber::sleep_for(i % 10 == 0 ? 1ms : 0ms);
            return thread();
          });
          EXPECT_EQ(other.spawn(thread).join(), first);
          EXPECT_EQ(later.join(), first);
        }
      },
      {.workers = 2});
}

// -- Isolated -----------------------------------------------------------------------------------------------------------------

TEST(IsolatedContext, HasAThreadOfItsOwn) {
  run(
      [] {
        std::thread::id before;
        std::thread::id after;
        std::string where;
        isolated_context alone("alone", [&] {
          before = std::this_thread::get_id();
          this_fiber::sleep_for(1ms);
          after = std::this_thread::get_id();
          where = here();
        });
        const std::thread::id ours = std::this_thread::get_id();
        alone.join();
        EXPECT_EQ(before, after);
        EXPECT_NE(before, ours);
        EXPECT_EQ(where, "alone");
      },
      {.workers = 1});
}

TEST(IsolatedContext, WhatItSpawnsGoesElsewhere) {
  run([] {
    concurrent_context given("given");
    std::vector<std::string> found;
    isolated_context first("first", [&] {
      found.push_back(spawn(here).join());
      nursery([&](nursery& n) { n.spawn([&] { found.push_back(here()); }); });
    });
    first.join();
    isolated_context second("second",
                            [&] {
                              found.push_back(spawn(here).join());
                              found.push_back(spawn({.name = "named"}, here).join());
                              nursery([&](nursery& n) { n.spawn([&] { found.push_back(here()); }); });
                            },
                            {.spawns_into = &given});
    second.join();
    EXPECT_EQ(found, (std::vector<std::string>{"DEFAULT", "DEFAULT", "given", "given", "given"}));
    EXPECT_EQ(first.spawn(here).join(), "DEFAULT");
    EXPECT_EQ(second.spawn(here).join(), "given");
  });
}

TEST(IsolatedContext, SpawnsIntoNoneThatIsIsolatedItself) {
  run([] {
    isolated_context first("first", [] {});
    EXPECT_EQ(error_of([&] { isolated_context("second", [] {}, {.spawns_into = &first}); }),
              errc::isolated_context);
  });
}

TEST(IsolatedContext, MayBlockItsThread) {
  run(
      [] {
        std::atomic<bool> go{false};
        isolated_context blocked("blocked", [&] {
          while (!go.load()) std::this_thread::sleep_for(1ms);
        });
        for (int i = 0; i < 100; ++i) spawn([] {}).join();  // nobody is kept waiting
        go.store(true);
        blocked.join();
      },
      {.workers = 1});
}

TEST(IsolatedContext, RethrowsWhatItsFunctionThrew) {
  run([] {
    isolated_context failing("failing", [] { throw std::runtime_error("gone"); });
    EXPECT_THROW(failing.join(), std::runtime_error);
  });
}

TEST(IsolatedContext, IsAskedToStopAtItsEnd) {
  run([] {
    std::atomic<bool> has_begun{false};
    bool was_stopped = false;
    {
      isolated_context sleeping("sleeping", [&] {
        has_begun.store(true);
        try {
          this_fiber::sleep_for(24h);
        } catch (const cancelled&) {
          was_stopped = true;
          throw;
        }
      });
      while (!has_begun.load()) this_fiber::yield();
    }
    EXPECT_TRUE(was_stopped);
  });
}

// -- move_to() ----------------------------------------------------------------------------------------------------------------

TEST(MoveTo, ATaskGoesOnInTheOtherContext) {
  run(
      [] {
        concurrent_context other("other");
        execution_context& home = *execution_context::current();
        const std::uint64_t id = this_fiber::id();
        for (int i = 0; i < 100; ++i) {
          move_to(other);
          EXPECT_EQ(here(), "other");
          EXPECT_EQ(this_fiber::id(), id);
          EXPECT_EQ(spawn(here).join(), "other");
          this_fiber::sleep_for(1us);
          EXPECT_EQ(here(), "other");
          move_to(home);
          EXPECT_EQ(here(), "DEFAULT");
        }
        move_to(home);  // where it is already
        EXPECT_EQ(here(), "DEFAULT");
      },
      {.workers = 2});
}

TEST(MoveTo, ANurserySpawnsWhereItsOwnerIs) {
  run([] {
    concurrent_context other("other");
    execution_context& home = *execution_context::current();
    std::vector<std::string> found;
    nursery([&](nursery& n) {
      move_to(other);
      n.spawn([&] { found.push_back(here()); });
      this_fiber::yield();
      move_to(home);
    });
    EXPECT_EQ(found, std::vector<std::string>{"other"});
  });
}

TEST(MoveTo, WhatCannotBeIsAnErrorAndTheTaskStays) {
  runtime foreign({.workers = 1});
  parallel_context theirs(foreign, "theirs", {.workers = 1});
  run([&] {
    isolated_context alone("alone", [] {});
    EXPECT_EQ(error_of([&] { move_to(alone); }), errc::isolated_context);
    EXPECT_EQ(error_of([&] { move_to(theirs); }), errc::wrong_context);
    EXPECT_EQ(here(), "DEFAULT");
    alone.join();
  });
  EXPECT_EQ(error_of([&] { move_to(theirs); }), errc::no_runtime);  // a plain thread
}

// One that was asked to stop with all others of its context is so elsewhere, too.
TEST(MoveTo, WhoWasAskedToStopGoesWithThat) {
  run(
      [] {
        concurrent_context other("other");
        parallel_context left("left", {.workers = 1});
        std::atomic<bool> begun{false};
        std::atomic<bool> is_asked{false};
        handle<void> moving = left.spawn([&] {
          begun.store(true);
          while (!is_asked.load()) std::this_thread::yield();
          move_to(other);  // no cancellation point
          EXPECT_EQ(here(), "other");
          this_fiber::yield();
        });
        while (!begun.load()) this_fiber::yield();
        left.request_cancel();
        is_asked.store(true);
        EXPECT_EQ(error_of([&] { moving.join(); }), errc::cancelled);
        EXPECT_EQ(other.spawn(here).join(), "other") << "nobody else was asked to stop there";
      },
      {.workers = 2});
}

TEST(MoveTo, ManyTasksGoToAndFro) {
  run(
      [] {
        parallel_context a("a", {.workers = 2});
        concurrent_context b("b");
        execution_context& home = *execution_context::current();
        std::atomic<int> trips{0};
        nursery([&](nursery& n) {
          for (int i = 0; i < 64; ++i) {
            n.spawn([&] {
              for (int k = 0; k < 50; ++k) {
                move_to(a);
                if (here() != "a") ADD_FAILURE();
                move_to(b);
                if (here() != "b") ADD_FAILURE();
                move_to(home);
                if (here() != "DEFAULT") ADD_FAILURE();
                trips.fetch_add(1);
              }
            });
          }
        });
        EXPECT_EQ(trips.load(), 64 * 50);
      },
      {.workers = 2});
}

// -- Ends ---------------------------------------------------------------------------------------------------------------------

TEST(ExecutionContext, ItsEndAsksItsTasksToStopAndWaits) {
  run([] {
    std::atomic<int> begun{0};
    std::atomic<int> stopped{0};
    handle<void> ours = spawn([] { this_fiber::sleep_for(24h); });
    {
      parallel_context other("other", {.workers = 2});
      for (int i = 0; i < 10; ++i) {
        other
            .spawn([&] {
              begun.fetch_add(1);
              try {
                this_fiber::sleep_for(24h);
              } catch (const cancelled&) {
                stopped.fetch_add(1);
                throw;
              }
            })
            .detach();
      }
      while (begun.load() != 10) this_fiber::yield();
    }
    EXPECT_EQ(stopped.load(), 10);
    EXPECT_FALSE(ours.is_done()) << "a task of another context was stopped, too";
    ours.request_cancel();
    EXPECT_THROW(ours.join(), std::system_error);
  });
}

TEST(ExecutionContext, ItsEndMayOnlyWait) {
  run([] {
    std::atomic<bool> has_ended{false};
    {
      parallel_context other("other", {.workers = 1, .at_end = leftovers::awaited});
      other
          .spawn([&] {
            this_fiber::sleep_for(5ms);
            has_ended.store(true);
          })
          .detach();
    }
    EXPECT_TRUE(has_ended.load());
  });
}

TEST(ExecutionContext, RequestCancelIsForItAlone) {
  run([] {
    concurrent_context other("other");
    handle<void> theirs = other.spawn([] { this_fiber::sleep_for(24h); });
    handle<void> ours = spawn([] { this_fiber::sleep_for(24h); });
    while (theirs.state() != task_state::blocked) this_fiber::yield();
    other.request_cancel();
    EXPECT_EQ(error_of([&] { theirs.join(); }), errc::cancelled);
    EXPECT_EQ(error_of([&] { other.spawn([] { this_fiber::yield(); }).join(); }), errc::cancelled);
    EXPECT_FALSE(ours.is_done());
    ours.request_cancel();
    EXPECT_EQ(error_of([&] { ours.join(); }), errc::cancelled);
  });
}

TEST(ExecutionContext, ShutdownConcernsAllContextsOfTheRuntime) {
  runtime one({.workers = 1});
  std::atomic<bool> has_begun{false};
  std::atomic<bool> go{false};
  concurrent_context other(one, "other");
  handle<void> stubborn = other.spawn({.name = "stubborn"}, [&] {
    has_begun.store(true);
    while (!go.load()) std::this_thread::sleep_for(1ms);
  });
  while (!has_begun.load()) std::this_thread::yield();
  const shutdown_report report = one.shutdown(10ms);
  ASSERT_EQ(report.still_alive.size(), 1U);
  EXPECT_EQ(report.still_alive.front().name, "stubborn");
  EXPECT_EQ(error_of([&] { (void)other.spawn([] {}); }), errc::shut_down);
  EXPECT_EQ(error_of([&] { const concurrent_context late(one, "late"); }), errc::shut_down);
  go.store(true);
  EXPECT_TRUE(one.shutdown(24h).is_complete());
  stubborn.join();
}

TEST(ExecutionContextDeath, ARuntimeThatGoesBeforeItsContextIsNamed) {
  WEFT_NEEDS_OWN_PROCESS();
  EXPECT_DEATH(
      {
        std::optional<runtime> one(runtime_options{.workers = 1});
        auto* const left = new concurrent_context(*one, "left behind");
        one.reset();
        delete left;
      },
      "left behind");
}

TEST(ExecutionContextDeath, OneThatAnotherSpawnsIntoOutlivesIt) {
  WEFT_NEEDS_OWN_PROCESS();
  EXPECT_DEATH(
      {
        runtime one({.workers = 1});
        auto given = std::make_unique<concurrent_context>(one, "given");
        std::atomic<bool> go{false};
        isolated_context only(one, "only",
                              [&] {
                                while (!go.load()) std::this_thread::yield();
                              },
                              {.spawns_into = given.get()});
        given.reset();
        go.store(true);
      },
      "execution context 'given' was destroyed before one that wraps it, or that spawns into it");
}

// An end of a context and that of its runtime close the same door, each to others.
TEST(ExecutionContext, EndsAtTheSameTimeAsItsRuntime) {
  for (int i = 0; i < 200; ++i) {
    runtime one({.workers = 1});
    auto other = std::make_unique<concurrent_context>(one, "other");
    std::atomic<int> ready{0};
    const auto meet = [&] {
      ready.fetch_add(1);
      while (ready.load() < 2) {
      }
    };
    std::thread ends([&] {
      meet();
      other.reset();
    });
    meet();
    (void)one.shutdown(1min);
    ends.join();
  }
}

// Nobody would run what waits for their tasks.
TEST(ExecutionContext, ARuntimeThatRunsOnItsCallersThreadHasNoOther) {
  runtime one({.runs_on = runs_on::caller});
  EXPECT_EQ(error_of([&] { const concurrent_context made(one, "made"); }), errc::single_threaded);
  EXPECT_EQ(error_of([&] { const parallel_context made(one, "made"); }), errc::single_threaded);
  EXPECT_EQ(error_of([&] { const isolated_context made(one, "made", [] {}); }), errc::single_threaded);
  EXPECT_EQ(one.spawn([] { return 5; }).join(), 5);
}

TEST(ExecutionContext, AreMadeBySeveralAtTheSameTime) {
  for (int i = 0; i < 50; ++i) {
    runtime one({.workers = 1});
    std::atomic<int> ready{0};
    std::atomic<int> ran{0};
    std::vector<std::thread> makers;
    for (int k = 0; k < 3; ++k) {
      makers.emplace_back([&] {
        ready.fetch_add(1);
        while (ready.load() < 3) {
        }
        concurrent_context made(one, "made", {.at_end = leftovers::awaited});
        made.spawn([&] { ran.fetch_add(1); }).detach();
      });
    }
    for (auto& each : makers) each.join();
    EXPECT_EQ(ran.load(), 3);
  }
}

TEST(ExecutionContext, OptionsThatCannotBeAreNamed) {
  run([] {
    const auto message = [](const context_options& how) -> std::string {
      try {
        const parallel_context bad("bad", how);
      } catch (const std::invalid_argument& error) {
        return error.what();
      }
      return "none";
    };
    EXPECT_EQ(message({.workers = 300}),
              "context_options::workers is 300; there are 1 to 256, or 0 for as many as this process may use "
              "processors");
    EXPECT_EQ(message({.workers = {300, 0}}), message({.workers = 300}));
    EXPECT_NE(message({.steal_attempts = 0}), "none");
    EXPECT_NE(message({.at_end = static_cast<leftovers>(7)}), "none");
    EXPECT_EQ(message({.wake_on_spawn = false}),
              "context_options::wake_on_spawn is false; then idle_poll is above 0, or those that sleep would "
              "never come");
  });
}

// Whoever wakes a task last may still be telling its context when that ends.
TEST(ExecutionContext, ComesAndGoesWhileOthersWakeItsTasks) {
  run(
      [] {
        for (int i = 0; i < 300; ++i) {
          concurrent_context brief("brief");
          std::atomic<bool> is_published{false};
          std::optional<resumer> wake;
          brief
              .spawn([&] {
                suspend("a test", [&](resumer by) {
                  wake.emplace(by);
                  is_published.store(true);
                });
              })
              .detach();
          while (!is_published.load()) this_fiber::yield();
          (void)wake->resume();
        }
      },
      {.workers = 2});
}

}  // namespace
}  // namespace weft
