// SPDX-License-Identifier: Apache-2.0
//
// Workers allocate task records, pass them around, free each other's, retire and come back, while somebody walks over
// all of them: no record is in two hands, no stale handle names anything, and every record comes home.

#include "base/rng.hpp"
#include "queue/inbox.hpp"
#include "queue/record_slab.hpp"
#include "support/ledger.hpp"
#include "support/scale.hpp"
#include "support/seed.hpp"

#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <gtest/gtest.h>
#include <memory>
#include <thread>
#include <vector>

namespace weft::impl {
namespace {

using testing::ledger;

struct stamped : basic_record<default_platform> {
  std::atomic<int> holder{0};           // whose hands it is in
  std::atomic<std::uint64_t> life{0};   // the handle of this life, for walkers
  std::atomic<std::uint64_t> again{0};  // the same once more
};
using slab_type = basic_record_slab<default_platform, stamped>;

std::uint64_t next_life(const stamped& blank) {
  return record_policy::name::from_word(blank.handle().word()).next().word();
}

// How many records live, so that it can be bounded: what a worker that does not run is sent would have no end.
struct population {
  static constexpr std::int64_t most = 1000;
  std::atomic<std::int64_t> alive{0};
};

// A worker: its home, what it holds, and handles of records that it has freed.
class worker {
 public:
  worker(int id, slab_type& slab, std::vector<inbox>& boxes, population& all, ledger& faults,
         xoshiro256ss random)
      : id_(id),
        slab_(slab),
        boxes_(boxes),
        population_(all),
        faults_(faults),
        random_(random),
        home_(slab.move_in().value()) {}

  // Gives so many lives, and goes on with taking them until all workers have.
  void run(std::uint64_t lives, std::atomic<int>& giving) {
    bool gives = true;
    while (giving.load(std::memory_order_relaxed) != 0) {
      if (gives && lives_ == lives) {
        gives = false;
        giving.fetch_sub(1, std::memory_order_relaxed);
      }
      const bool crowded = population_.alive.load(std::memory_order_relaxed) >= population::most;
      if (crowded && held_.empty()) std::this_thread::yield();  // others have them all
      if (gives && !crowded && random_.below(2) == 0) {
        give_life();
      } else if (!held_.empty()) {
        stamped& one = *take_any();
        random_.below(2) == 0 ? pass_on(one) : take_life(one);
      }
      if (random_.below(4) == 0) receive();
      check_a_stale_handle();
      if (random_.below(10'000) == 0) retire();
      if (random_.below(64) == 0) home_->flush();
    }
  }

  // After all workers have ended: nobody sends any more.
  void finish() {
    receive();
    while (!held_.empty()) take_life(*take_any());
    slab_.move_out(*home_);
  }

  [[nodiscard]] std::uint64_t lives() const { return lives_; }

 private:
  void give_life() {
    const result<stamped*> made = home_->allocate();
    faults_.check(made.has_value(), "no memory");
    if (!made) return;
    stamped& one = **made;
    take_in_hand(one);
    const std::uint64_t life = next_life(one);
    one.life.store(life, std::memory_order_release);
    one.again.store(life, std::memory_order_release);
    body_of(one) = life;
    faults_.check(slab_type::publish(one).word() == life, "a record was not given the next name");
    held_.push_back(&one);
    population_.alive.fetch_add(1, std::memory_order_relaxed);
    ++lives_;
  }

  void take_life(stamped& one) {
    check(one);
    stale_[next_stale_++ % stale_.size()] = one.handle();
    one.holder.store(0, std::memory_order_relaxed);
    population_.alive.fetch_sub(1, std::memory_order_relaxed);
    home_->free(one);
  }

  void pass_on(stamped& one) {
    one.holder.store(0, std::memory_order_relaxed);
    boxes_[random_.below(static_cast<std::uint32_t>(boxes_.size()))].push(
        runnable(runnable::kind::task, &one));
  }

  void receive() {
    run_batch batch = boxes_[static_cast<std::size_t>(id_) - 1].drain();
    while (const runnable next = batch.pop_front()) {
      auto& one = *static_cast<stamped*>(next.address());
      take_in_hand(one);
      check(one);
      held_.push_back(&one);
    }
  }

  void retire() {
    slab_.move_out(*home_);
    home_ = slab_.move_in().value();
  }

  void take_in_hand(stamped& one) {
    faults_.check(one.holder.exchange(id_, std::memory_order_relaxed) == 0, "a record was in two hands");
  }

  void check(stamped& one) {
    faults_.check(slab_.resolve(one.handle()) == &one, "a live record was not found");
    faults_.check(body_of(one) == one.handle().word(), "a record was changed by a stranger");
  }

  void check_a_stale_handle() {
    const record_handle stale = stale_[random_.below(static_cast<std::uint32_t>(stale_.size()))];
    faults_.check(slab_.resolve(stale) == nullptr, "a stale handle named a record");
  }

  stamped* take_any() {
    std::swap(held_[random_.below(static_cast<std::uint32_t>(held_.size()))], held_.back());
    stamped* const one = held_.back();
    held_.pop_back();
    return one;
  }

  std::uint64_t& body_of(stamped& one) { return *static_cast<std::uint64_t*>(slab_.body_of(one)); }

  int id_;
  slab_type& slab_;
  std::vector<inbox>& boxes_;
  population& population_;
  ledger& faults_;
  xoshiro256ss random_;
  slab_type::home* home_;
  std::vector<stamped*> held_;
  std::array<record_handle, 256> stale_{};
  std::size_t next_stale_ = 0;
  std::uint64_t lives_ = 0;
};

// Walks until told to stop; every walk must see all of `settled`, and nothing that does not fit together.
std::uint64_t walk(const slab_type& slab, std::size_t settled, const std::atomic<bool>& stop,
                   ledger& faults) {
  std::uint64_t walks = 0;
  for (; !stop.load(std::memory_order_relaxed); ++walks) {
    std::size_t seen = 0;
    slab.for_each_live([&](const stamped& each, record_handle handle) {
      const std::uint64_t life = each.life.load(std::memory_order_acquire);
      const std::uint64_t again = each.again.load(std::memory_order_acquire);
      if (each.holder.load(std::memory_order_relaxed) == -1) ++seen;
      if (slab.resolve(handle) != &each) return;  // has died meanwhile: what was read means nothing
      faults.check(life == handle.word() && again == handle.word(), "a walker was shown another life");
    });
    faults.check(seen == settled, "a walk missed a record that lived all the time");
    std::this_thread::sleep_for(std::chrono::milliseconds(1));  // the workers need the processors
  }
  return walks;
}

TEST(RecordSlabStorm, NoRecordIsInTwoHandsAndNoStaleHandleNamesOne) {
  const std::uint64_t lives =
      testing::storm_length{.usual = 1'000'000, .slow = 250'000, .long_run = 10'000'000}.now();
  constexpr int workers = 3;
  constexpr std::size_t settled = 100;
  slab_type slab({.body_bytes = 64, .first_block = 16, .most_block = 64});
  std::vector<inbox> boxes(workers);
  xoshiro256ss random(testing::test_seed());
  ledger faults;
  // Records that live through it all.
  slab_type::home* const mine = slab.move_in().value();
  std::vector<stamped*> quiet;
  for (std::size_t i = 0; i < settled; ++i) {
    stamped& one = **mine->allocate();
    one.holder.store(-1, std::memory_order_relaxed);
    one.life.store(next_life(one), std::memory_order_release);
    one.again.store(next_life(one), std::memory_order_release);
    slab_type::publish(one);
    quiet.push_back(&one);
  }
  population all_records;
  std::vector<std::unique_ptr<worker>> crew;
  for (int id = 1; id <= workers; ++id) {
    crew.push_back(std::make_unique<worker>(id, slab, boxes, all_records, faults, random.split()));
  }
  std::atomic<bool> stop{false};
  std::uint64_t walks = 0;
  std::thread walker([&] { walks = walk(slab, settled, stop, faults); });
  std::vector<std::thread> threads;
  std::atomic<int> giving{workers};
  for (const auto& each : crew) threads.emplace_back([&] { each->run(lives, giving); });
  for (std::thread& each : threads) each.join();
  stop = true;
  walker.join();
  for (const auto& each : crew) each->finish();
  for (stamped* each : quiet) mine->free(*each);
  slab.move_out(*mine);
  EXPECT_EQ(faults.faults(), 0) << faults.first();
  EXPECT_GT(walks, 0U);
  std::uint64_t all = 0;
  for (const auto& each : crew) all += each->lives();
  std::printf("%llu lives of %zu records, %llu walks\n", static_cast<unsigned long long>(all),
              slab.records_made(), static_cast<unsigned long long>(walks));
  // Each of the four homes may have met the whole population, and have some of its records in outboxes.
  EXPECT_LT(slab.records_made(), 4 * 1400U) << "records do not come home";
}

// One worker spawns, another runs: all records are freed abroad, and memory does not grow.
TEST(RecordSlabStorm, WhatIsFreedAbroadComesHome) {
  const std::uint64_t lives =
      testing::storm_length{.usual = 10'000'000, .slow = 1'000'000, .long_run = 100'000'000}.now();
  slab_type slab({.body_bytes = 64});
  inbox to_run;
  ledger faults;
  std::atomic<std::uint64_t> freed{0};
  std::thread runner([&] {
    slab_type::home* const home = slab.move_in().value();
    for (std::uint64_t done = 0; done < lives;) {
      run_batch batch = to_run.drain();
      if (batch.empty()) {
        home->flush();
        std::this_thread::yield();
      }
      while (const runnable next = batch.pop_front()) {
        auto& one = *static_cast<stamped*>(next.address());
        faults.check(one.holder.exchange(0, std::memory_order_relaxed) == 1, "a record was in two hands");
        home->free(one);
        ++done;
      }
      freed.store(done, std::memory_order_relaxed);
    }
    slab.move_out(*home);
  });
  slab_type::home* const home = slab.move_in().value();
  for (std::uint64_t spawned = 0; spawned < lives; ++spawned) {
    // Never more than so many in use, so that growth would be seen.
    while (spawned - freed.load(std::memory_order_relaxed) >= 1000) std::this_thread::yield();
    stamped& one = **home->allocate();
    faults.check(one.holder.exchange(1, std::memory_order_relaxed) == 0, "a record was in two hands");
    slab_type::publish(one);
    to_run.push(runnable(runnable::kind::task, &one));
  }
  runner.join();
  slab.move_out(*home);
  EXPECT_EQ(faults.faults(), 0) << faults.first();
  EXPECT_LE(slab.records_made(), 1000U + record_policy::parcel_size + record_policy::fresh_run);
}

// Homes change hands all the time, and what was the last worker's is the next one's.
TEST(RecordSlabStorm, HomesChangeHands) {
  const std::uint64_t tenancies =
      testing::storm_length{.usual = 1'000'000, .slow = 100'000, .long_run = 20'000'000}.now();
  constexpr int workers = 3;
  slab_type slab({.body_bytes = 64, .first_block = 4, .most_block = 4});
  ledger faults;
  std::vector<std::thread> threads;
  for (int id = 1; id <= workers; ++id) {
    threads.emplace_back([&, id] {
      for (std::uint64_t n = 0; n < tenancies; ++n) {
        slab_type::home* const home = slab.move_in().value();
        std::array<stamped*, 3> held{};
        for (stamped*& one : held) {
          one = *home->allocate();
          faults.check(one->holder.exchange(id, std::memory_order_relaxed) == 0, "a record was in two hands");
          slab_type::publish(*one);
        }
        for (stamped* one : held) {
          one->holder.store(0, std::memory_order_relaxed);
          home->free(*one);
        }
        slab.move_out(*home);
      }
    });
  }
  for (std::thread& each : threads) each.join();
  EXPECT_EQ(faults.faults(), 0) << faults.first();
  EXPECT_LE(slab.records_made(), workers * 4U) << "RS2: more homes than workers at a time";
}

// Blocks and records that are made while others look: who comes to know of a record, by its handle or on a walk, finds
// everything in place, though nothing but the slab orders the two. Many small slabs, since each thing is made once.
struct many_leaves : record_policy {
  static constexpr unsigned leaf_bits = 1;
  using name = basic_record_name<root_bits + leaf_bits + index_bits>;
};

TEST(RecordSlabStorm, WhoFindsARecordFindsItMade) {
  struct filled : basic_record<default_platform> {
    std::uint64_t life = 0;  // written once, before it is published
  };
  using growing_slab = basic_record_slab<default_platform, filled, many_leaves>;
  constexpr int growers = 2;
  constexpr int records_each = 400;
  const std::uint64_t rounds = testing::storm_length{.usual = 150, .slow = 100, .long_run = 3'000}.now();
  ledger faults;
  std::uint64_t resolved = 0;
  for (std::uint64_t round = 0; round < rounds; ++round) {
    growing_slab slab({.body_bytes = 0, .first_block = 4, .most_block = 4});
    std::atomic<int> growing{growers};
    std::atomic<std::uint64_t> told[growers] = {};  // relaxed: tells, and orders nothing
    std::vector<std::thread> threads;
    for (std::atomic<std::uint64_t>& mine : told) {
      threads.emplace_back([&] {
        growing_slab::home* const home = slab.move_in().value();
        std::vector<filled*> made;
        for (int i = 0; i < records_each; ++i) {
          filled& one = **home->allocate();
          one.life = many_leaves::name::from_word(one.handle().word()).next().word();
          mine.store(growing_slab::publish(one).word(), std::memory_order_relaxed);
          made.push_back(&one);
        }
        growing.fetch_sub(1);
        while (growing.load() > -1) std::this_thread::yield();  // nothing dies while others look
        for (filled* one : made) home->free(*one);
        slab.move_out(*home);
      });
    }
    // One way at a time: what is learnt on the one would order the other as well.
    while (growing.load(std::memory_order_relaxed) > 0) {
      if (round % 2 == 0) {
        slab.for_each_live([&](const filled& each, record_handle handle) {
          faults.check(each.life == handle.word(), "a walk led to a record that was not made");
        });
        continue;
      }
      for (const auto& handle : told) {
        const std::uint64_t word = handle.load(std::memory_order_relaxed);
        if (word == 0) continue;
        const filled* const found = slab.resolve(record_handle::from_word(word));
        // Relaxed news may come before what it is about; but what is found is whole.
        faults.check(found == nullptr || found->life == word, "a handle led to a record that was not made");
        if (found != nullptr) ++resolved;
      }
    }
    growing.store(-1);
    for (std::thread& each : threads) each.join();
  }
  EXPECT_EQ(faults.faults(), 0) << faults.first();
  EXPECT_GT(resolved, 0U);
}

}  // namespace
}  // namespace weft::impl
