// SPDX-License-Identifier: Apache-2.0

#include "queue/record_slab.hpp"

#include "base/rng.hpp"
#include "support/record_tenant.hpp"

#include <algorithm>
#include <cstdint>
#include <gtest/gtest.h>
#include <memory>
#include <set>
#include <vector>

namespace weft::impl {
namespace {

using testing::live_records;
using testing::tenant;
using testing::test_record;
using tiny = testing::tiny_policy;

using test_slab = basic_record_slab<default_platform, test_record<default_platform>>;
using record = test_record<default_platform>;

TEST(RecordSlab, RecordsBeginOnCacheLinesAndHaveRoomBehindTheirHeads) {
  test_slab records({.body_bytes = 100});
  const tenant<test_slab> home(records);
  EXPECT_GE(records.body_bytes(), 100U);
  std::vector<record*> taken;
  for (int i = 0; i < 200; ++i) taken.push_back(&home.published());
  std::sort(taken.begin(), taken.end());
  for (std::size_t i = 0; i < taken.size(); ++i) {
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(taken[i]) % cache_line_bytes, 0U);
    auto* const body = static_cast<std::byte*>(records.body_of(*taken[i]));
    EXPECT_GE(body, reinterpret_cast<std::byte*>(taken[i] + 1));
    if (i + 1 < taken.size()) {
      EXPECT_LE(body + records.body_bytes(), reinterpret_cast<std::byte*>(taken[i + 1]));
    }
    std::fill_n(body, records.body_bytes(), std::byte{0x5a});
  }
  for (record* each : taken) home->free(*each);
}

TEST(RecordSlab, WhatWasFreedLastIsHandedOutFirst) {
  test_slab records;
  const tenant<test_slab> home(records);
  record& first = home.published();
  record& second = home.published();
  home->free(first);
  home->free(second);
  EXPECT_EQ(*home->allocate(), &second);
  EXPECT_EQ(*home->allocate(), &first);
  home->discard(first);
  home->discard(second);
}

TEST(RecordSlab, MemoryIsTouchedOnlyWhenItIsNeeded) {
  test_slab records({.body_bytes = 0, .first_block = 64});
  const tenant<test_slab> home(records);
  record& only = home.published();
  EXPECT_EQ(records.records_made(), record_policy::fresh_run);
  home->free(only);
  for (int i = 0; i < 1000; ++i) home->free(home.published());
  EXPECT_EQ(records.records_made(), record_policy::fresh_run);
}

TEST(RecordSlab, AHandleIsGoodForOneLife) {
  test_slab records;
  const tenant<test_slab> home(records);
  record& made = *home->allocate().value();
  EXPECT_EQ(live_records(records), 0U) << "H2: a blank record can be found";
  const record_handle first = test_slab::publish(made);
  EXPECT_EQ(made.handle(), first);
  EXPECT_EQ(records.resolve(first), &made);
  home->free(made);
  EXPECT_EQ(records.resolve(first), nullptr);
  ASSERT_EQ(*home->allocate(), &made);
  EXPECT_EQ(records.resolve(first), nullptr);
  const record_handle second = test_slab::publish(made);
  EXPECT_NE(first, second);
  EXPECT_EQ(records.resolve(first), nullptr);
  EXPECT_EQ(records.resolve(second), &made);
  home->free(made);
}

TEST(RecordSlab, WhatIsDiscardedWasNeverSeen) {
  test_slab records;
  const tenant<test_slab> home(records);
  record& blank = *home->allocate().value();
  home->discard(blank);
  record& again = home.published();
  EXPECT_EQ(&again, &blank);
  home->free(again);
}

TEST(RecordSlab, ForgedHandlesNameNothing) {
  test_slab records;
  const tenant<test_slab> home(records);
  record& used_before = home.published();
  home->free(used_before);
  std::vector<record*> taken;
  for (int i = 0; i < 100; ++i) taken.push_back(&home.published());
  std::set<std::uint64_t> good;
  for (const record* each : taken) good.insert(each->handle().word());
  EXPECT_EQ(records.resolve(record_handle()), nullptr);
  EXPECT_EQ(records.resolve(record_handle::from_word(~std::uint64_t{0})), nullptr);
  xoshiro256ss random(7);
  for (int i = 0; i < 10'000; ++i) EXPECT_EQ(records.resolve(record_handle::from_word(random())), nullptr);
  for (const std::uint64_t word : good) {
    for (int bit = 0; bit < 64; ++bit) {
      const std::uint64_t forged = word ^ (std::uint64_t{1} << bit);
      const record* const found = records.resolve(record_handle::from_word(forged));
      EXPECT_EQ(found != nullptr, good.contains(forged)) << "bit " << bit;
    }
  }
  for (record* each : taken) home->free(*each);
  // The name of a record that does not live is no handle either, though it is the name.
  for (const record* each : taken) EXPECT_EQ(records.resolve(each->handle()), nullptr);
}

// Two bits of generation: a record lives twice, and then its generations have come round.
struct short_lived : record_policy {
  using name = basic_record_name<62>;
};

TEST(RecordSlab, ARecordWhoseGenerationsHaveComeRoundIsNotUsedAgain) {
  using short_slab = basic_record_slab<default_platform, record, short_lived>;
  short_slab records({.body_bytes = 0, .first_block = 16});
  const tenant<short_slab> home(records);
  std::set<std::uint64_t> given;
  for (int i = 0; i < 100; ++i) {
    record& made = home.published();
    EXPECT_TRUE(given.insert(made.handle().word()).second) << "N2: two lives have one name";
    home->free(made);
  }
  for (const std::uint64_t word : given) EXPECT_EQ(records.resolve(record_handle::from_word(word)), nullptr);
  EXPECT_EQ(records.records_made(), 64U) << "100 lives, two each, blocks of 16, 32 and the next 16";
}

// What the generation is for: names that only say whether a record lives.
struct untagged : record_policy {
  struct name : record_policy::name {
    static constexpr name first_of(std::uint64_t position) {
      return from(record_policy::name::first_of(position));
    }
    static constexpr name from_word(std::uint64_t word) { return from(record_policy::name::from_word(word)); }
    static constexpr name from(record_policy::name plain) {
      name made;
      static_cast<record_policy::name&>(made) = plain;
      return made;
    }
    [[nodiscard]] constexpr name next() const { return from_word(word() ^ one_generation); }
    [[nodiscard]] static constexpr bool came_round() { return false; }
  };
};

TEST(RecordSlab, WithoutGenerationsAStaleHandleWouldNameAStranger) {
  using untagged_slab = basic_record_slab<default_platform, record, untagged>;
  untagged_slab records;
  const tenant<untagged_slab> home(records);
  record& first = home.published();
  const record_handle stale = first.handle();
  home->free(first);
  record& stranger = home.published();
  EXPECT_EQ(records.resolve(stale), &stranger) << "the planted fault is not there";
  home->free(stranger);
}

TEST(RecordSlab, RecordsGoHomeByTheParcel) {
  test_slab records({.body_bytes = 0, .first_block = 64});
  const tenant<test_slab> home(records);
  const tenant<test_slab> other(records);
  constexpr std::size_t parcel = record_policy::parcel_size;
  std::vector<record*> taken;
  for (std::size_t i = 0; i < parcel; ++i) taken.push_back(&home.published());
  EXPECT_EQ(records.records_made(), parcel);
  for (std::size_t i = 0; i + 1 < parcel; ++i) other->free(*taken[i]);
  EXPECT_EQ(live_records(records), 1U) << "freed is freed, wherever the record lies";
  record& fresh = home.published();
  EXPECT_EQ(records.records_made(), parcel + record_policy::fresh_run) << "nothing has come home yet";
  // Everything the home has is in use; then the last one fills the parcel.
  std::vector<record*> rest;
  for (std::size_t i = 1; i < record_policy::fresh_run; ++i) rest.push_back(&home.published());
  other->free(*taken.back());
  std::set<record*> back;
  for (std::size_t i = 0; i < parcel; ++i) back.insert(&home.published());
  EXPECT_EQ(back, std::set<record*>(taken.begin(), taken.end()));
  EXPECT_EQ(records.records_made(), parcel + record_policy::fresh_run);
  for (record* each : back) home->free(*each);
  for (record* each : rest) home->free(*each);
  home->free(fresh);
}

TEST(RecordSlab, FlushSendsHomeWhatIsCollected) {
  test_slab records({.body_bytes = 0, .first_block = 1, .most_block = 1});
  const tenant<test_slab> home(records);
  const tenant<test_slab> other(records);
  record& made = home.published();
  other->free(made);
  other->flush();
  EXPECT_EQ(*home->allocate(), &made);
  EXPECT_EQ(records.records_made(), 1U);
  home->discard(made);
}

TEST(RecordSlab, AHomeThatFindsItsPlaceTakenSendsTheOtherParcelOff) {
  test_slab records({.body_bytes = 0, .first_block = 1, .most_block = 1});
  std::vector<std::unique_ptr<tenant<test_slab>>> tenants;
  for (std::size_t i = 0; i <= record_policy::parcels; ++i)
    tenants.push_back(std::make_unique<tenant<test_slab>>(records));
  const tenant<test_slab>& first = *tenants.front();
  const tenant<test_slab>& last = *tenants.back();  // has the same place in an outbox as the first
  const tenant<test_slab>& freeing = *tenants[1];
  record& of_first = first.published();
  record& of_last = last.published();
  freeing->free(of_first);
  freeing->free(of_last);
  EXPECT_EQ(*first->allocate(), &of_first) << "was not sent home to make room";
  first->discard(of_first);
}

TEST(RecordSlab, AHomeOutlivesItsTenant) {
  test_slab records({.body_bytes = 0, .first_block = 1, .most_block = 1});
  tenant<test_slab> first(records);
  const tenant<test_slab> other(records);
  test_slab::home* const house = first.home();
  record& abroad = first.published();
  record& left_free = first.published();
  first->free(left_free);
  first.leave();
  EXPECT_EQ(records.resolve(abroad.handle()), &abroad);
  other->free(abroad);
  other->flush();  // to a home where nobody lives
  const tenant<test_slab> next(records);
  ASSERT_EQ(next.home(), house);
  EXPECT_EQ(*next->allocate(), &left_free);
  EXPECT_EQ(*next->allocate(), &abroad);
  EXPECT_EQ(records.records_made(), 2U);
  next->discard(abroad);
  next->discard(left_free);
}

TEST(RecordSlab, AHomeIsNotSharedAndMovingOutEmptiesTheOutbox) {
  test_slab records({.body_bytes = 0, .first_block = 1, .most_block = 1});
  tenant<test_slab> first(records);
  tenant<test_slab> second(records);
  EXPECT_NE(first.home(), second.home());
  record& made = first.published();
  second->free(made);
  second.leave();
  EXPECT_EQ(*first->allocate(), &made) << "H1: a record stayed behind in the outbox of one who left";
  first->discard(made);
}

TEST(RecordSlab, TheWalkSeesWhatLivesAndNothingElse) {
  test_slab records({.body_bytes = 0, .first_block = 2, .most_block = 8});
  const tenant<test_slab> home(records);
  const tenant<test_slab> other(records);
  std::set<const record*> alive;
  std::vector<record*> taken;
  for (int i = 0; i < 50; ++i) {
    record& made = i % 3 == 0 ? other.published() : home.published();
    taken.push_back(&made);
    alive.insert(&made);
  }
  for (std::size_t i = 0; i < 50; i += 4) {
    home->free(*taken[i]);
    alive.erase(taken[i]);
  }
  std::set<const record*> seen;
  records.for_each_live([&](const record& each, record_handle handle) {
    EXPECT_TRUE(seen.insert(&each).second);
    EXPECT_EQ(records.resolve(handle), &each);
  });
  EXPECT_EQ(seen, alive);
  for (std::size_t i = 0; i < 50; ++i) {
    if (i % 4 != 0) home->free(*taken[i]);
  }
  EXPECT_EQ(live_records(records), 0U);
}

TEST(RecordSlab, AWalkerCanTellThatARecordHasDiedMeanwhile) {
  test_slab records;
  const tenant<test_slab> home(records);
  record& made = home.published();
  int visits = 0;
  records.for_each_live([&](const record& each, record_handle handle) {
    ++visits;
    EXPECT_EQ(records.resolve(handle), &each);
    home->free(made);
    EXPECT_EQ(records.resolve(handle), nullptr);
    test_slab::publish(*home->allocate().value());
    EXPECT_EQ(records.resolve(handle), nullptr) << "another life was taken for this one";
  });
  EXPECT_EQ(visits, 1);
  home->free(made);
}

TEST(RecordSlab, AFullDirectoryIsAnErrorAndFreedRecordsServeAgain) {
  using tiny_slab = basic_record_slab<default_platform, record, tiny>;
  tiny_slab records({.body_bytes = 0, .first_block = 1, .most_block = 2});
  const tenant<tiny_slab> home(records);
  std::vector<record*> taken;
  for (int i = 0; i < 1 + 2 + 2 + 2; ++i) taken.push_back(&home.published());
  EXPECT_EQ(home->allocate().error(), errc::out_of_memory);
  EXPECT_EQ(home->allocate().error(), errc::out_of_memory);
  home->free(*taken[3]);
  EXPECT_EQ(*home->allocate(), taken[3]);
  tiny_slab::publish(*taken[3]);
  EXPECT_EQ(live_records(records), taken.size());
  for (record* each : taken) home->free(*each);
}

#if WEFT_ADDRESS_SANITIZER
TEST(RecordSlab, AddressSanitizerIsToldWhichBodiesAreFree) {
  test_slab records({.body_bytes = 64});
  const tenant<test_slab> home(records);
  record& made = home.published();
  void* const body = records.body_of(made);
  EXPECT_FALSE(__asan_address_is_poisoned(body));
  home->free(made);
  EXPECT_TRUE(__asan_address_is_poisoned(body));
  EXPECT_EQ(&home.published(), &made);
  EXPECT_FALSE(__asan_address_is_poisoned(body));
  home->free(made);
}
#endif

TEST(RecordSlabDeathTest, FreeingTwiceIsNamed) {
  EXPECT_DEATH(
      {
        test_slab records;
        const tenant<test_slab> home(records);
        record& made = home.published();
        home->free(made);
        home->free(made);
      },
      "N1: a record was freed twice");
}

TEST(RecordSlabDeathTest, PublishingTwiceIsNamed) {
  EXPECT_DEATH(
      {
        test_slab records;
        const tenant<test_slab> home(records);
        test_slab::publish(home.published());
      },
      "H2: a record was published twice");
}

TEST(RecordSlabDeathTest, DiscardingWhatWasPublishedIsNamed) {
  EXPECT_DEATH(
      {
        test_slab records;
        const tenant<test_slab> home(records);
        home->discard(home.published());
      },
      "H2: a record in use was discarded");
}

TEST(RecordSlabDeathTest, ASlabIsDestroyedLast) {
  EXPECT_DEATH(
      {
        test_slab records;
        (void)records.move_in();
      },
      "RS3: a slab was destroyed under a worker");
  EXPECT_DEATH(
      {
        test_slab records;
        const tenant<test_slab> home(records);
        (void)home.published();
      },
      "RS3: a slab was destroyed while records of it were in use");
  EXPECT_DEATH(
      {
        test_slab records;
        const tenant<test_slab> home(records);
        (void)home->allocate();
      },
      "RS3: a slab was destroyed while records of it were in use");
}

}  // namespace
}  // namespace weft::impl
