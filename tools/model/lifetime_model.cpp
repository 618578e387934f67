// SPDX-License-Identifier: Apache-2.0
//
// lifetime_model — the checker's own test, continued: whoever uses an object too early or too late, or ends it under
// others, is seen.
#include "model/model.hpp"

#include <optional>

namespace weft::model {
namespace {

constexpr auto relaxed = std::memory_order_relaxed;
constexpr auto acquire = std::memory_order_acquire;
constexpr auto release = std::memory_order_release;
constexpr auto acq_rel = std::memory_order_acq_rel;

MODEL_FINDS(Lifetime, EarlyTouchIsSeen, "has made") {
  struct state {
    platform::atomic<platform::atomic<int>*> shared{nullptr};
    platform::atomic<int> used{0};
  };
  auto& s = world.make<state>();
  world.thread("maker", [&s] {
    platform::atomic<int> mine{0};
    s.shared.store(&mine, relaxed);
    while (s.used.load(acquire) == 0) platform::pause();
  });
  world.thread("friend", [&s] {
    platform::atomic<int>* theirs = nullptr;
    while ((theirs = s.shared.load(acquire)) == nullptr) platform::pause();
    theirs->store(1, relaxed);
    s.used.store(1, release);
  });
}

MODEL_FINDS(Lifetime, LateTouchIsSeen, "destroy") {
  struct state {
    platform::atomic<platform::atomic<int>*> shared{nullptr};
  };
  auto& s = world.make<state>();
  world.thread("owner", [&s] {
    platform::atomic<int> mine{0};
    s.shared.store(&mine, release);
    while (mine.load(acquire) == 0) platform::pause();
  });
  world.thread("friend", [&s] {
    platform::atomic<int>* theirs = nullptr;
    while ((theirs = s.shared.load(acquire)) == nullptr) platform::pause();
    theirs->store(1, release);
    theirs->store(2, release);
  });
}

/// Something with plain and with atomic data, and a word by which its users say that they are done.
struct thing {
  platform::plain<int> data{0};
  platform::atomic<int> word{0};
};
struct shared_thing {
  std::optional<thing> object{std::in_place};
  platform::atomic<int> done{0};
};

/// A user says that it is done with the object; whoever sees that destroys it.
template <class Use>
void destroy_after_use(world& in, std::memory_order said, Use use) {
  auto& s = in.make<shared_thing>();
  in.thread("user", [&s, said, use] {
    use(*s.object);
    s.done.store(1, said);
  });
  in.thread("owner", [&s] {
    if (s.done.exchange(2, acquire) == 1) s.object.reset();
  });
}
constexpr auto reads_data = [](auto& thing) { (void)thing.data.read(); };
constexpr auto loads_word = [](auto& thing) { (void)thing.word.load(relaxed); };

MODEL(Lifetime, AnEndThatIsWaitedForIsFine) { destroy_after_use(world, release, reads_data); }
MODEL_FINDS(Lifetime, AnEndRacesWithReaders, "data race") { destroy_after_use(world, relaxed, reads_data); }
MODEL_FINDS(Lifetime, AnEndRacesWithAtomicOperations, "destroys an atomic") {
  destroy_after_use(world, relaxed, loads_word);
}

/// A count of references; the last user destroys.
void count_references(world& in, std::memory_order counted) {
  auto& s = in.make<shared_thing>();
  for (const char* const called : {"one", "other"}) {
    in.thread(called, [&s, counted] {
      (void)s.object->word.load(relaxed);
      if (s.done.fetch_add(1, counted) == 1) s.object.reset();
    });
  }
}
MODEL(Lifetime, ACountOfReferencesReleasesAndAcquires) { count_references(world, acq_rel); }
MODEL_FINDS(Lifetime, ACountOfReferencesNeedsTheRelease, "destroys an atomic") {
  count_references(world, acquire);
}
MODEL_FINDS(Lifetime, ACountOfReferencesNeedsTheAcquire, "destroys an atomic") {
  count_references(world, release);
}

}  // namespace
}  // namespace weft::model
