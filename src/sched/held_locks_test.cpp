// SPDX-License-Identifier: Apache-2.0
//
// In a library that is built with WEFT_CHECK.

#include "base/report.hpp"

#include <weft/execution_context.hpp>
#include <weft/nursery.hpp>
#include <weft/runtime.hpp>
#include <weft/this_fiber.hpp>

#include <chrono>
#include <condition_variable>
#include <gtest/gtest.h>
#include <mutex>
#include <pthread.h>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace weft {

// Exported, so that a backtrace has their names. Each is a place of its own, and is reported once.
[[gnu::noinline]] void take_mutex(std::mutex& lock) {
  lock.lock();
  asm volatile("" ::: "memory");
}
[[gnu::noinline]] void try_mutex(std::mutex& lock) {
  EXPECT_TRUE(lock.try_lock());
  asm volatile("" ::: "memory");
}
[[gnu::noinline]] void take_timed(std::timed_mutex& lock) {
  EXPECT_TRUE(lock.try_lock_for(std::chrono::seconds(1)));
  asm volatile("" ::: "memory");
}
[[gnu::noinline]] void take_shared(std::shared_mutex& lock) {
  lock.lock_shared();
  asm volatile("" ::: "memory");
}
[[gnu::noinline]] void take_exclusive(std::shared_mutex& lock) {
  lock.lock();
  asm volatile("" ::: "memory");
}
[[gnu::noinline]] void take_spin(pthread_spinlock_t& lock) {
  pthread_spin_lock(&lock);
  asm volatile("" ::: "memory");
}
[[gnu::noinline]] void wait_a_while() {
  this_fiber::sleep_for(std::chrono::microseconds(10));
  asm volatile("" ::: "memory");
}
[[gnu::noinline]] void wait_by_yield() {
  this_fiber::yield();
  asm volatile("" ::: "memory");
}

namespace {

std::mutex said_lock;
std::string said;
void listen(std::string_view line) noexcept {
  const std::lock_guard hold(said_lock);
  said += line;
}

/// What weft says while the function runs as a task.
template <class F>
std::string heard_from(F&& function) {
  impl::set_report_sink(&listen);
  run(function, {.workers = 1});
  impl::set_report_sink(nullptr);
  const std::lock_guard hold(said_lock);
  return std::exchange(said, {});
}

bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

TEST(HeldLocks, AWaitWithAMutexIsReportedWithBothPlaces) {
  std::mutex lock;
  const auto waits = [&] {
    take_mutex(lock);
    wait_a_while();
    lock.unlock();
  };
  const std::string report = heard_from(waits);
  EXPECT_TRUE(has(report, "waits while it holds a lock of the system's")) << report;
  EXPECT_TRUE(has(report, "held_locks_test.cpp")) << "where the task was spawned\n" << report;
  const std::size_t taken = report.find("take_mutex");
  const std::size_t waited = report.find("wait_a_while");
  ASSERT_NE(taken, std::string::npos) << report;
  ASSERT_NE(waited, std::string::npos) << report;
  EXPECT_LT(taken, waited);
  EXPECT_EQ(heard_from(waits), "") << "the same place is reported once";
}

TEST(HeldLocks, AllKindsOfLocksCount) {
  std::mutex plain;
  std::timed_mutex timed;
  std::shared_mutex shared;
  pthread_spinlock_t spin{};
  pthread_spin_init(&spin, PTHREAD_PROCESS_PRIVATE);
  EXPECT_TRUE(has(heard_from([&] {
                    try_mutex(plain);
                    wait_a_while();
                    plain.unlock();
                  }),
                  "try_mutex"));
  EXPECT_TRUE(has(heard_from([&] {
                    take_timed(timed);
                    wait_a_while();
                    timed.unlock();
                  }),
                  "take_timed"));
  EXPECT_TRUE(has(heard_from([&] {
                    take_shared(shared);
                    wait_a_while();
                    shared.unlock_shared();
                  }),
                  "take_shared"));
  EXPECT_TRUE(has(heard_from([&] {
                    take_exclusive(shared);
                    wait_by_yield();
                    shared.unlock();
                  }),
                  "take_exclusive"));
  EXPECT_TRUE(has(heard_from([&] {
                    take_spin(spin);
                    wait_a_while();
                    pthread_spin_unlock(&spin);
                  }),
                  "take_spin"));
  pthread_spin_destroy(&spin);
}

TEST(HeldLocks, WhoGivesItBackFirstIsNotReported) {
  std::mutex lock;
  std::mutex other;
  std::condition_variable changed;
  EXPECT_EQ(heard_from([&] {
              for (int i = 0; i < 100; ++i) {
                {
                  const std::lock_guard hold(lock);
                  const std::lock_guard hold_other(other);
                }
                {
                  std::unique_lock hold(lock);
                  changed.wait_for(hold, std::chrono::microseconds(1));
                }
                std::vector<int> memory(1000);
                wait_a_while();
                spawn([] {}).join();
              }
            }),
            "");
}

TEST(HeldLocks, WhatThreadsHoldIsTheirOwnAffair) {
  std::mutex lock;
  runtime rt({.workers = 1});
  impl::set_report_sink(&listen);
  {
    const std::lock_guard hold(lock);
    rt.spawn([] { wait_a_while(); }).join();
  }
  impl::set_report_sink(nullptr);
  const std::lock_guard hold(said_lock);
  EXPECT_EQ(std::exchange(said, {}), "");
}

TEST(HeldLocks, TasksAreToldApart) {
  std::mutex lock;
  EXPECT_EQ(heard_from([&] {
              nursery([&](nursery& n) {
                n.spawn([&] {
                  for (int i = 0; i < 50; ++i) {
                    { const std::lock_guard hold(lock); }
                    this_fiber::yield();
                  }
                });
                n.spawn([] {
                  for (int i = 0; i < 50; ++i) this_fiber::yield();
                });
              });
            }),
            "");
}

}  // namespace
}  // namespace weft
