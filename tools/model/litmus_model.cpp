// SPDX-License-Identifier: Apache-2.0
//
// litmus_model — the checker's own test: small programs whose possible outcomes everybody agrees on.
//
// MODEL says that an outcome cannot be; MODEL_FINDS that it can, and that the checker sees it.
#include "model/model.hpp"

namespace weft::model {
namespace {

constexpr auto relaxed = std::memory_order_relaxed;
constexpr auto acquire = std::memory_order_acquire;
constexpr auto release = std::memory_order_release;
constexpr auto acq_rel = std::memory_order_acq_rel;
constexpr auto seq_cst = std::memory_order_seq_cst;

/// Two locations and what two threads read.
struct pair {
  platform::atomic<int> x{0};
  platform::atomic<int> y{0};
  int first = -1;
  int second = -1;
};

/// Each thread stores, passes something, and looks at what the other stored.
template <class F, class G>
void store_buffering(world& in, F left_between, G right_between) {
  auto& s = in.make<pair>();
  in.thread("left", [&s, left_between] {
    s.x.store(1, release);
    left_between();
    s.first = s.y.load(acquire);
  });
  in.thread("right", [&s, right_between] {
    s.y.store(1, release);
    right_between();
    s.second = s.x.load(acquire);
  });
  in.finally([&s] { require(s.first == 1 || s.second == 1, "neither saw the other"); });
}

constexpr auto kind = impl::barrier_kind::asymmetric;
void nothing() {}
void fence() { platform::full_fence(); }
void light() { platform::light_barrier(kind); }
void heavy() { platform::heavy_barrier(kind); }

MODEL_FINDS(StoreBuffering, HappensWithReleaseAndAcquire, "neither saw") {
  store_buffering(world, nothing, nothing);
}
MODEL(StoreBuffering, IsForbiddenByFences) { store_buffering(world, fence, fence); }
MODEL_FINDS(StoreBuffering, NeedsBothFences, "neither saw") { store_buffering(world, fence, nothing); }
MODEL(StoreBuffering, IsForbiddenByLightAndHeavy) { store_buffering(world, light, heavy); }
MODEL_FINDS(StoreBuffering, LightDoesNotPairWithLight, "neither saw") {
  store_buffering(world, light, light);
}
MODEL_FINDS(StoreBuffering, HeavyNeedsTheLightOne, "neither saw") { store_buffering(world, nothing, heavy); }
MODEL(StoreBuffering, IsForbiddenByHeavyAndHeavy) {
  store_buffering(
      world,
      [] {
        heavy();
        light();
      },
      heavy);
}
MODEL(StoreBuffering, SymmetricBarriersAreFences) {
  const auto full = [] { platform::light_barrier(impl::barrier_kind::symmetric); };
  store_buffering(world, full, [] { platform::heavy_barrier(impl::barrier_kind::symmetric); });
}

MODEL(StoreBuffering, IsForbiddenBySequentialConsistency) {
  auto& s = world.make<pair>();
  world.thread("left", [&s] {
    s.x.store(1, seq_cst);
    s.first = s.y.load(seq_cst);
  });
  world.thread("right", [&s] {
    s.y.store(1, seq_cst);
    s.second = s.x.load(seq_cst);
  });
  world.finally([&s] { require(s.first == 1 || s.second == 1, "neither saw the other"); });
}

MODEL_FINDS(StoreBuffering, AReadModifyWriteIsNoFence, "neither saw") {
  auto& s = world.make<pair>();
  world.thread("left", [&s] {
    s.x.fetch_add(1, seq_cst);
    s.first = s.y.load(relaxed);
  });
  world.thread("right", [&s] {
    s.y.fetch_add(1, seq_cst);
    s.second = s.x.load(relaxed);
  });
  world.finally([&s] { require(s.first == 1 || s.second == 1, "neither saw the other"); });
}

/// What hung mutexes of another library on machines weaker than x86: the side that unlocks changes the state by a
/// read-modify-write and then looks for waiters, with or without a fence between.
void unlock_and_look(world& in, bool fenced) {
  auto& s = in.make<pair>();  // x: the lock is free; y: somebody waits
  in.thread("unlocks", [&s, fenced] {
    s.x.fetch_add(1, seq_cst);
    if (fenced) platform::full_fence();
    s.first = s.y.load(relaxed);
  });
  in.thread("waits", [&s] {
    s.y.fetch_add(1, seq_cst);
    platform::full_fence();
    s.second = s.x.load(relaxed);
  });
  in.finally([&s] { require(s.first == 1 || s.second == 1, "neither saw the other"); });
}

MODEL_FINDS(StoreBuffering, AReadModifyWriteIsNoFenceBesideOne, "neither saw") {
  unlock_and_look(world, false);
}
MODEL(StoreBuffering, AReadModifyWriteNeedsItsFence) { unlock_and_look(world, true); }

MODEL(StoreBuffering, SequentiallyConsistentAccessesPairWithAFence) {
  auto& s = world.make<pair>();
  world.thread("accesses", [&s] {
    s.x.store(1, seq_cst);
    s.first = s.y.load(seq_cst);
  });
  world.thread("fence", [&s] {
    s.y.store(1, relaxed);
    platform::full_fence();
    s.second = s.x.load(relaxed);
  });
  world.finally([&s] { require(s.first == 1 || s.second == 1, "neither saw the other"); });
}

/// One heavy barrier pairs with the light ones of two threads, whose fences come at different moments.
MODEL(StoreBuffering, OneHeavyBarrierPairsWithMany) {
  struct state : pair {
    platform::atomic<int> z{0};
    int third = -1;
  };
  auto& s = world.make<state>();
  world.thread("one", [&s] {
    s.x.store(1, release);
    light();
    s.first = s.z.load(acquire);
  });
  world.thread("two", [&s] {
    s.y.store(1, release);
    light();
    s.second = s.z.load(acquire);
  });
  world.thread("heavy", [&s] {
    s.z.store(1, release);
    heavy();
    s.third = s.x.load(acquire) + 2 * s.y.load(acquire);
  });
  world.finally([&s] {
    require(s.first == 1 || s.third % 2 == 1, "one and heavy missed each other");
    require(s.second == 1 || s.third / 2 == 1, "two and heavy missed each other");
  });
}

/// One thread writes data and then a flag; the other reads the flag and then the data.
void message_passing(world& in, std::memory_order publish, std::memory_order look) {
  auto& s = in.make<pair>();
  in.thread("writer", [&s, publish] {
    s.x.store(1, relaxed);
    s.y.store(1, publish);
  });
  in.thread("reader", [&s, look] {
    if (s.y.load(look) == 1) require(s.x.load(relaxed) == 1, "the flag came without the data");
  });
}

MODEL(MessagePassing, WorksByReleaseAndAcquire) { message_passing(world, release, acquire); }
MODEL_FINDS(MessagePassing, NeedsTheRelease, "without the data") { message_passing(world, relaxed, acquire); }
MODEL_FINDS(MessagePassing, NeedsTheAcquire, "without the data") { message_passing(world, release, relaxed); }

/// The same, with a reader that exchanges what it reads: that it reads the newest of all is a promise of nobody's.
void message_passing_by_exchange(world& in, std::memory_order stored, std::memory_order taken) {
  auto& s = in.make<pair>();
  in.thread("writer", [&s, stored] {
    s.x.store(1, relaxed);
    s.y.store(1, stored);
  });
  in.thread("reader", [&s, taken] {
    if (s.y.exchange(2, taken) == 1) require(s.x.exchange(5, relaxed) == 1, "without the data");
  });
}
MODEL(MessagePassing, WorksByExchanges) { message_passing_by_exchange(world, release, acquire); }
MODEL_FINDS(MessagePassing, ByExchangesNeedsTheRelease, "without the data") {
  message_passing_by_exchange(world, relaxed, acquire);
}
MODEL_FINDS(MessagePassing, ByExchangesNeedsTheAcquire, "without the data") {
  message_passing_by_exchange(world, release, relaxed);
}
MODEL_FINDS(MessagePassing, ByCompareExchangeNeedsTheRelease, "without the data") {
  auto& s = world.make<pair>();
  world.thread("writer", [&s] {
    s.x.store(1, relaxed);
    s.y.store(1, relaxed);
  });
  world.thread("reader", [&s] {
    int one = 1;
    if (!s.y.compare_exchange_strong(one, 2, acquire, relaxed)) return;
    int none = 0;
    require(!s.x.compare_exchange_strong(none, 5, relaxed, relaxed), "without the data");
  });
}

MODEL(MessagePassing, PassesThroughAReadModifyWrite) {  // the release sequence
  auto& s = world.make<pair>();
  world.thread("writer", [&s] {
    s.x.store(1, relaxed);
    s.y.store(1, release);
  });
  world.thread("middle", [&s] { s.y.fetch_add(1, relaxed); });
  world.thread("reader", [&s] {
    if (s.y.load(acquire) == 2)
      require(s.x.load(relaxed) == 1 || s.first == 0, "the flag came without the data");
  });
}

/// Plain data behind a flag.
struct guarded {
  platform::plain<int> data{0};
  platform::atomic<int> flag{0};
};

void pass_plain_data(world& in, std::memory_order publish, std::memory_order look) {
  auto& s = in.make<guarded>();
  in.thread("writer", [&s, publish] {
    s.data.write(1);
    s.flag.store(1, publish);
  });
  in.thread("reader", [&s, look] {
    if (s.flag.load(look) == 1) require(s.data.read() == 1, "data");
  });
}

MODEL(PlainData, IsPassedByReleaseAndAcquire) { pass_plain_data(world, release, acquire); }
MODEL_FINDS(PlainData, IsRacedForWithoutRelease, "data race") { pass_plain_data(world, relaxed, acquire); }
MODEL_FINDS(PlainData, IsRacedForWithoutAcquire, "data race") { pass_plain_data(world, release, relaxed); }

MODEL_FINDS(PlainData, IsNotOrderedByFencesAlone, "data race") {
  auto& s = world.make<guarded>();
  world.thread("writer", [&s] {
    s.data.write(1);
    platform::full_fence();
  });
  world.thread("reader", [&s] {
    platform::full_fence();
    (void)s.data.read();
  });
}

MODEL(PlainData, IsOrderedByFencesAroundRelaxedAccesses) {
  auto& s = world.make<guarded>();
  world.thread("writer", [&s] {
    s.data.write(1);
    platform::full_fence();
    s.flag.store(1, relaxed);
  });
  world.thread("reader", [&s] {
    if (s.flag.load(relaxed) == 0) return;
    platform::full_fence();
    require(s.data.read() == 1, "data");
  });
}

/// Each thread loads one location and stores the other.
void load_buffering(world& in, std::memory_order load, std::memory_order store) {
  auto& s = in.make<pair>();
  in.thread("left", [&s, load, store] {
    s.first = s.x.load(load);
    s.y.store(1, store);
  });
  in.thread("right", [&s, load, store] {
    s.second = s.y.load(load);
    s.x.store(1, store);
  });
  in.finally([&s] { require(s.first == 0 || s.second == 0, "both read the future"); });
}

MODEL_FINDS(LoadBuffering, HappensWhenRelaxed, "both read the future") {
  load_buffering(world, relaxed, relaxed);
}
MODEL(LoadBuffering, IsForbiddenByAcquire) { load_buffering(world, acquire, relaxed); }
MODEL(LoadBuffering, IsForbiddenByRelease) { load_buffering(world, relaxed, release); }

/// As above, where the left thread's store is a read-modify-write.
void load_buffering_by_exchange(world& in, std::memory_order order) {
  auto& s = in.make<pair>();
  in.thread("left", [&s, order] {
    s.first = s.x.load(relaxed);
    s.y.fetch_add(1, order);
  });
  in.thread("right", [&s] {
    s.second = s.y.load(acquire);
    s.x.store(1, relaxed);
  });
  in.finally([&s] { require(s.first == 0 || s.second == 0, "both read the future"); });
}

MODEL_FINDS(LoadBuffering, HappensWithAReadModifyWrite, "both read the future") {
  load_buffering_by_exchange(world, acquire);
}
MODEL(LoadBuffering, IsForbiddenByAReadModifyWriteThatReleases) {
  load_buffering_by_exchange(world, release);
}

MODEL(LoadBuffering, MakesNothingOutOfThinAir) {
  auto& s = world.make<pair>();
  world.thread("left", [&s] {
    s.first = s.x.load(relaxed);
    s.y.store(s.first, relaxed);
  });
  world.thread("right", [&s] {
    s.second = s.y.load(relaxed);
    s.x.store(s.second, relaxed);
  });
  world.finally([&s] { require(s.first == 0 && s.second == 0, "a value that nobody wrote"); });
}

MODEL(Coherence, ReadersOfOneLocationAgreeOnItsOrder) {
  auto& s = world.make<pair>();
  world.thread("writer", [&s] {
    s.x.store(1, relaxed);
    s.x.store(2, relaxed);
  });
  world.thread("reader", [&s] {
    const int before = s.x.load(relaxed);
    const int after = s.x.load(relaxed);
    require(before <= after, "a location went back in time");
  });
}

/// Each thread stores to both locations, in opposite order.
void two_writes_each(world& in, std::memory_order second) {
  auto& s = in.make<pair>();
  in.thread("left", [&s, second] {
    s.x.store(1, relaxed);
    s.y.store(2, second);
  });
  in.thread("right", [&s, second] {
    s.y.store(1, relaxed);
    s.x.store(2, second);
  });
  in.finally(
      [&s] { require(s.x.load(relaxed) == 2 || s.y.load(relaxed) == 2, "both first stores came last"); });
}

MODEL_FINDS(Coherence, TwoStoresOfTwoThreadsMayCrossOver, "both first stores") {
  two_writes_each(world, relaxed);
}

MODEL_FINDS(Coherence, AnExchangeMayGoBeforeAStoreThatItsThreadDoesNotKnow, "overtaken") {
  auto& s = world.make<pair>();
  world.thread("left", [&s] {
    s.x.store(2, relaxed);
    s.y.store(1, release);
  });
  world.thread("right", [&s] {
    s.first = s.y.load(relaxed);
    s.second = s.x.exchange(1, relaxed);
  });
  world.finally([&s] { require(s.first != 1 || s.second == 2, "overtaken"); });
}

MODEL(Coherence, AStoreComesAfterWhatItsThreadKnows) {
  auto& s = world.make<pair>();
  world.thread("first", [&s] {
    s.x.store(1, relaxed);
    s.y.store(1, release);
  });
  world.thread("second", [&s] {
    if (s.y.load(acquire) == 1) s.x.store(2, relaxed);
  });
  world.finally([&s] {
    require(s.y.load(relaxed) == 1, "stored");
    s.second = s.x.load(relaxed);
    require(s.second == 1 || s.second == 2, "one of the two");
  });
}

MODEL(Coherence, NothingComesBetweenAReadModifyWriteAndWhatItRead) {
  auto& s = world.make<pair>();
  world.thread("adds", [&s] { s.first = s.x.fetch_add(10, relaxed); });
  world.thread("stores", [&s] { s.x.store(1, relaxed); });
  world.finally([&s] {
    const int last = s.x.load(relaxed);
    require((s.first == 0 && (last == 1 || last == 10)) || (s.first == 1 && last == 11),
            "a store was overwritten unread");
  });
}

/// Two writers, two readers who look at them in opposite order.
void independent_reads(world& in, std::memory_order order, bool fenced) {
  struct state : pair {
    int third = -1;
    int fourth = -1;
  };
  auto& s = in.make<state>();
  in.thread("writes x", [&s, order] { s.x.store(1, order == seq_cst ? seq_cst : release); });
  in.thread("writes y", [&s, order] { s.y.store(1, order == seq_cst ? seq_cst : release); });
  in.thread("x then y", [&s, order, fenced] {
    s.first = s.x.load(order);
    if (fenced) platform::full_fence();
    s.second = s.y.load(order);
  });
  in.thread("y then x", [&s, order, fenced] {
    s.third = s.y.load(order);
    if (fenced) platform::full_fence();
    s.fourth = s.x.load(order);
  });
  in.finally([&s] {
    require(!(s.first == 1 && s.second == 0 && s.third == 1 && s.fourth == 0), "the readers disagree");
  });
}

MODEL_FINDS(IndependentReads, MayDisagreeWithAcquire, "disagree") {
  independent_reads(world, acquire, false);
}
MODEL(IndependentReads, AgreeByFences) { independent_reads(world, acquire, true); }
MODEL(IndependentReads, AgreeBySequentialConsistency) { independent_reads(world, seq_cst, false); }

MODEL(Atomicity, NoIncrementIsLost) {
  auto& s = world.make<pair>();
  for (const char* const name_of_thread : {"one", "two", "three"}) {
    world.thread(name_of_thread, [&s] { s.x.fetch_add(1, relaxed); });
  }
  world.finally([&s] { require(s.x.load(relaxed) == 3, "an increment was lost"); });
}

MODEL_FINDS(Atomicity, LoadAndStoreAreTwo, "lost") {
  auto& s = world.make<pair>();
  for (const char* const name_of_thread : {"one", "two"}) {
    world.thread(name_of_thread, [&s] { s.x.store(s.x.load(acquire) + 1, release); });
  }
  world.finally([&s] { require(s.x.load(relaxed) == 2, "an increment was lost"); });
}

MODEL(Atomicity, CompareExchangeLoopsEnd) {
  auto& s = world.make<pair>();
  for (const char* const name_of_thread : {"one", "two"}) {
    world.thread(name_of_thread, [&s] {
      int seen = s.x.load(relaxed);
      while (!s.x.compare_exchange_weak(seen, seen + 1, acq_rel, relaxed)) {
      }
    });
  }
  world.finally([&s] { require(s.x.load(relaxed) == 2, "an increment was lost"); });
}

MODEL(Waiting, LoopsThatPauseSeeTheStore) {
  auto& s = world.make<pair>();
  world.thread("waits", [&s] {
    while (s.x.load(acquire) == 0) platform::pause();
  });
  world.thread("stores", [&s] { s.x.store(1, release); });
}

MODEL_FINDS(Waiting, ForNobodyIsALivelock, "livelock") {
  auto& s = world.make<pair>();
  world.thread("waits", [&s] {
    while (s.x.load(acquire) == 0) platform::pause();
  });
  world.thread("does not store", [] {});
}

}  // namespace
}  // namespace weft::model
