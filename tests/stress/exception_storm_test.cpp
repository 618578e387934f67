// SPDX-License-Identifier: Apache-2.0
//
// Tasks that wait with several exceptions in hand: in handlers inside of handlers, and in destructors that run because of one. They
// go on wherever a worker is free, and each still has its own exceptions and nobody else's.

#include "base/rng.hpp"
#include "support/scale.hpp"
#include "support/seed.hpp"

#include <weft/join.hpp>
#include <weft/nursery.hpp>
#include <weft/runtime.hpp>
#include <weft/suspend.hpp>
#include <weft/this_fiber.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <gtest/gtest.h>
#include <stdexcept>
#include <string>
#include <thread>

namespace weft {
namespace {

using impl::xoshiro256ss;

// Afresh each time: a compiler may believe that a function stays on its thread.
[[gnu::noinline]] std::thread::id this_thread_now() {
  asm volatile("" ::: "memory");
  return std::this_thread::get_id();
}

/// What a task throws: no other has the same.
struct thrown_by {
  std::uint64_t task;
  std::uint64_t number;
  friend bool operator==(const thrown_by&, const thrown_by&) noexcept = default;
};

struct totals {
  std::atomic<std::uint64_t> waits{0};
  std::atomic<std::uint64_t> migrations{0};  // waits that ended on another thread
  std::atomic<std::uint64_t> mistakes{0};

  void check(bool holds) noexcept {
    if (!holds) ++mistakes;
  }
};

// A fresh task handles nothing, whoever had its worker before.
void check_that_nothing_is_thrown(totals& all) {
  all.check(std::uncaught_exceptions() == 0);
  all.check(std::current_exception() == nullptr);
}

class wanderer {
 public:
  wanderer(totals& all, std::uint64_t id, xoshiro256ss random) : all_(all), id_(id), random_(random) {}

  /// A random tree of throws, handlers and waits.
  void wander(int depth) {
    if (depth == 0) return wait();
    const std::uint64_t number = next_++;
    switch (random_.below(5)) {
      case 0: rethrow(depth, number); break;
      case 1: unwind(depth, number); break;
      case 2: keep(depth, number); break;
      case 3: nest(depth, number); break;
      default: wait(); wander(depth - 1);
    }
  }

 private:
  // A handler that waits, and others inside of it; then `throw;` still means this one.
  void rethrow(int depth, std::uint64_t number) {
    try {
      try {
        throw thrown_by{id_, number};
      } catch (const thrown_by& caught) {
        check_it_is(caught, number);
        wander(depth - 1);
        check_current(number);
        throw;
      }
    } catch (const thrown_by& again) {
      check_it_is(again, number);
      wait();
    }
  }

  // A destructor that waits while the stack is unwound, also with handlers of its own.
  void unwind(int depth, std::uint64_t number) {
    struct waits_at_end {
      waits_at_end(wanderer& w, int d) : self(w), depth(d), before(std::uncaught_exceptions()) {}
      waits_at_end(const waits_at_end&) = delete;
      waits_at_end& operator=(const waits_at_end&) = delete;
      // NOLINTNEXTLINE(bugprone-exception-escape): whatever is thrown in there is caught in there
      ~waits_at_end() {
        self.all_.check(std::uncaught_exceptions() == before + 1);
        self.wander(depth - 1);
        self.all_.check(std::uncaught_exceptions() == before + 1);
      }
      wanderer& self;
      int depth;
      int before;
    };
    try {
      const waits_at_end guard(*this, depth);
      throw thrown_by{id_, number};
    } catch (const thrown_by& caught) {
      check_it_is(caught, number);
    }
  }

  // One that was kept, and is thrown again later.
  void keep(int depth, std::uint64_t number) {
    std::exception_ptr kept;
    try {
      throw thrown_by{id_, number};
    } catch (...) {
      wait();
      kept = std::current_exception();
    }
    wander(depth - 1);
    try {
      std::rethrow_exception(kept);
    } catch (const thrown_by& caught) {
      wait();
      check_it_is(caught, number);
    }
  }

  // One inside of another.
  void nest(int depth, std::uint64_t number) {
    try {
      try {
        throw thrown_by{id_, number};
      } catch (...) {
        wander(depth - 1);
        std::throw_with_nested(std::runtime_error(std::to_string(id_)));
      }
    } catch (const std::runtime_error& outer) {
      wait();
      all_.check(outer.what() == std::to_string(id_));
      try {
        std::rethrow_if_nested(outer);
        all_.check(false);
      } catch (const thrown_by& inner) {
        check_it_is(inner, number);
      }
    }
  }

  void check_it_is(const thrown_by& caught, std::uint64_t number) {
    all_.check(caught == thrown_by{id_, number});
  }
  void check_current(std::uint64_t number) {
    try {
      throw;
    } catch (const thrown_by& caught) {
      check_it_is(caught, number);
    } catch (...) {
      all_.check(false);
    }
  }

  void wait() {
    const int uncaught = std::uncaught_exceptions();
    const std::exception_ptr handled = std::current_exception();
    const std::thread::id before = this_thread_now();
    wait_somehow();
    ++all_.waits;
    if (this_thread_now() != before) ++all_.migrations;
    all_.check(std::uncaught_exceptions() == uncaught);
    all_.check(std::current_exception() == handled);
  }

  void wait_somehow() {
    totals& all = all_;
    switch (random_.below(6)) {
      case 0: {
        handle<void> waker;
        suspend("storm", [&](const resumer& by) {
          waker = spawn([by, &all] {
            check_that_nothing_is_thrown(all);
            by.resume();
          });
        });
        return waker.join();
      }
      case 1: return this_fiber::sleep_for(std::chrono::microseconds(random_.below(20)));
      case 2: {
        auto child = spawn([&all, mine = id_]() -> int {
          check_that_nothing_is_thrown(all);
          throw thrown_by{mine, ~std::uint64_t{0}};
        });
        try {
          (void)child.join();
          all.check(false);
        } catch (const thrown_by& from_child) {
          check_it_is(from_child, ~std::uint64_t{0});
        }
        return;
      }
      case 3: {
        const auto throws_and_catches = [&all, mine = id_] {
          try {
            throw thrown_by{mine, 0};
          } catch (const thrown_by&) {
            this_fiber::yield();
            all.check(std::current_exception() != nullptr);
          }
        };
        return join(throws_and_catches, throws_and_catches);
      }
      default: this_fiber::yield();
    }
  }

  totals& all_;
  const std::uint64_t id_;
  xoshiro256ss random_;
  std::uint64_t next_ = 1;
};

TEST(ExceptionStorm, WhoeverMovesKeepsItsExceptions) {
  const std::uint64_t rounds =
      testing::storm_length{.usual = 2'000, .slow = 20, .long_run = 100'000, .long_slow = 2'000}.now();
  constexpr int tasks = 40;
  xoshiro256ss random(testing::test_seed());
  totals all;
  runtime one({.workers = 4, .seed = random()});
  for (std::uint64_t round = 0; round < rounds; ++round) {
    nursery(one, [&](nursery& n) {
      for (std::uint64_t i = 0; i < tasks; ++i) {
        n.spawn([&all, id = round * tasks + i, mine = random.split()] {
          check_that_nothing_is_thrown(all);
          wanderer(all, id, mine).wander(6);
          check_that_nothing_is_thrown(all);
        });
      }
    });
  }
  std::printf("%llu waits, %llu of them ended on another thread\n",
              static_cast<unsigned long long>(all.waits), static_cast<unsigned long long>(all.migrations));
  EXPECT_EQ(all.mistakes, 0U);
  EXPECT_GT(all.waits, 0U);
  if (testing::scaled(true, false)) {
    EXPECT_GT(all.migrations, 0U) << "nobody has moved, so nothing was shown";
  }
}

}  // namespace
}  // namespace weft
