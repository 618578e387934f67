// SPDX-License-Identifier: Apache-2.0
//
// work_deque_model — the worker's deque: whatever is pushed goes to exactly one, by pop, by grant or by claim.
//
// Small programs for both kinds of barriers, then the faults that the protocol is made to exclude, each planted
// and found. Every item carries plain data, so that whoever gets it unordered with its pusher is a race.
#include "queue/work_deque.hpp"

#include "model/model.hpp"
#include "support/bench_in.hpp"
#include "support/broken_deques.hpp"
#include "support/model_items.hpp"

#include <array>
#include <cstddef>

namespace weft::impl {
namespace {

using model::platform;
using model::world;
using testing::bench_in;

constexpr thief_id first{1};
constexpr thief_id second{2};

/// A victim, and two thieves with deques of their own.
template <class Rules, barrier_kind Kind>
struct bench {
  using deque = basic_work_deque<platform, Rules>;

  static work_deque_options small(std::uint32_t capacity) {
    // Counting begins where it will wrap.
    return {.capacity = capacity, .most = 2, .least_after_push = 1, .first_index = 0xfffffffe};
  }

  explicit bench(std::uint32_t capacity) : victim(Kind, small(capacity)) {}

  // The owner.
  void push(std::size_t i, runnable::kind what = runnable::kind::task) {
    items.write(i);
    // As an inlined spawn does it: by the shortest way, where there is one.
    const runnable added = word(i, what);
    const bool quietly = victim.try_push_quietly(added);
    model::require(quietly || victim.push(added), "there is memory");
    ++pushed;
  }
  void pop() { got(victim.pop()); }
  void pop_oldest() { got(victim.pop_oldest()); }
  void take_back(std::size_t i) {
    if (victim.pop_if(word(i, runnable::kind::join))) items.take(word(i, runnable::kind::join));
  }
  void answer() {
    if (victim.asked()) victim.answer_between();
  }

  // A thief.
  void steal(thief_id who) {
    const std::uint32_t count = victim.steal(who, loot_of(who), 2);
    empty(who, count);
  }
  void ask_and_take(thief_id who) {
    if (!victim.ask(who)) return;
    const top_word word = watch(who);
    if (word.by() != who) return;
    if (word.is_claimed()) {
      empty(who, victim.take(word, loot_of(who)));
    } else {
      victim.withdraw(who);
    }
  }
  void ask_and_steal(thief_id who) {
    if (!victim.ask(who)) return;
    const top_word word = watch(who);
    if (word.by() != who) return;
    if (word.is_claimed()) {
      empty(who, victim.take(word, loot_of(who)));
    } else {
      steal(who);
    }
  }
  top_word watch(thief_id who) {
    top_word word = victim.at_door();
    if (word.by() == who && !word.is_claimed()) word = victim.at_door();
    return word;
  }
  void empty(thief_id who, std::uint32_t count) {
    for (std::uint32_t i = 0; i < count; ++i) {
      const runnable r = loot_of(who).pop();
      model::require(static_cast<bool>(r), "a thief got fewer than it was told");
      got(r);
    }
  }

  void got(runnable r) {
    if (r) items.take(r);
  }
  /// What is left comes out in the end, and then everything has been taken once.
  void settle() {
    while (victim.size() > 0) pop();
    model::require(loot_of(first).size() + loot_of(second).size() == 0, "a thief has more than it was told");
    items.expect_all(pushed);
  }

  [[nodiscard]] runnable word(std::size_t i, runnable::kind what) { return {what, items.word(i).address()}; }
  [[nodiscard]] deque& loot_of(thief_id who) { return loot[who == first ? 0 : 1]; }

  deque victim;
  std::array<deque, 2> loot{deque(Kind, small(2)), deque(Kind, small(2))};
  model_items<6> items;
  std::size_t pushed = 0;
};

using asymmetric = bench<work_deque_rules, barrier_kind::asymmetric>;
using fall_back = bench<work_deque_rules, barrier_kind::symmetric>;

template <class Bench>
void last_item(world& in) {
  auto& b = bench_in<Bench>(in, 2);
  in.thread("owner", [&b] {
    b.push(0);
    b.pop();
    b.pop();
  });
  in.thread("thief", [&b] { b.steal(first); });
}

/// What lies at an index is popped, and another pushed there, while a thief claims it.
template <class Bench>
void push_again(world& in) {
  auto& b = bench_in<Bench>(in, 2);
  b.push(0);
  in.thread("owner", [&b] {
    b.pop();
    b.push(1);
  });
  in.thread("thief", [&b] { b.steal(first); });
}

template <class Bench>
void push_and_pop(world& in) {
  auto& b = bench_in<Bench>(in, 4);
  in.thread("owner", [&b] {
    b.push(0);
    b.push(1);
    b.pop();
    b.push(2);
    b.pop();
    b.pop();
  });
  in.thread("thief", [&b] { b.steal(first); });
}

template <class Bench>
void two_thieves(world& in) {
  auto& b = bench_in<Bench>(in, 2);
  b.push(0);
  b.push(1);
  in.thread("owner", [&b] { b.pop(); });
  in.thread("thief", [&b] { b.steal(first); });
  in.thread("other", [&b] { b.steal(second); });
}

/// What a thief has taken is stolen from it.
template <class Bench>
void stolen_again(world& in) {
  auto& b = bench_in<Bench>(in, 2);
  b.push(0);
  in.thread("thief", [&b] {
    (void)b.victim.steal(first, b.loot_of(first), 2);
    b.got(b.loot_of(first).pop());
  });
  in.thread("other", [&b] { b.empty(second, b.loot_of(first).steal(second, b.loot_of(second), 2)); });
}

/// The ring is full of items that a thief takes, and pushes go round it, or grow it.
template <class Bench>
void reuse(world& in) {
  auto& b = bench_in<Bench>(in, 2);
  b.push(0);
  b.push(1);
  in.thread("owner", [&b] {
    b.push(2);
    b.push(3);
    b.pop();
  });
  in.thread("thief", [&b] {
    b.steal(first);
    b.steal(first);
  });
}

template <class Bench>
void growth(world& in) {
  auto& b = bench_in<Bench>(in, 1);
  in.thread("owner", [&b] {
    b.push(0);
    b.push(1);
    b.push(2);
  });
  in.thread("thief", [&b] {
    b.steal(first);
    b.steal(first);
  });
}

template <class Bench>
void grant(world& in) {
  auto& b = bench_in<Bench>(in, 4);
  in.thread("owner", [&b] {
    b.push(0);
    b.push(1);
    b.push(2);
    b.answer();
    b.pop();
    b.answer();
    b.pop();
    b.pop();
  });
  in.thread("thief", [&b] { b.ask_and_take(first); });
}

/// A thief that loses patience while the owner is about to answer.
template <class Bench>
void impatience(world& in) {
  auto& b = bench_in<Bench>(in, 4);
  b.push(0);
  b.push(1);
  in.thread("owner", [&b] {
    b.answer();
    b.pop();
    b.pop();
  });
  in.thread("thief", [&b] { b.ask_and_steal(first); });
}

/// A slot that was granted is written again only after it was copied.
template <class Bench>
void grant_and_reuse(world& in) {
  auto& b = bench_in<Bench>(in, 2);
  b.push(0);
  b.push(1);
  model::require(b.victim.ask(first), "nobody is in the way");
  in.thread("owner", [&b] {
    b.answer();
    b.push(2);
    b.push(3);
  });
  in.thread("thief", [&b] {
    const top_word word = b.watch(first);
    if (word.is_claimed()) b.empty(first, b.victim.take(word, b.loot_of(first)));
  });
}

/// One thief puts another aside that has claimed something and not yet settled.
template <class Bench>
void broken_thief(world& in) {
  auto& b = bench_in<Bench>(in, 2);
  b.push(0);
  in.thread("owner", [&b] { b.pop(); });
  in.thread("thief", [&b] { b.steal(first); });
  in.thread("other", [&b] {
    const top_word stands = b.victim.at_door();
    if (stands.is_claimed() && b.victim.ask(second, stands)) b.steal(second);
  });
}

template <class Bench>
void oldest_first(world& in) {
  auto& b = bench_in<Bench>(in, 2);
  b.push(0);
  b.push(1);
  in.thread("owner", [&b] {
    b.pop_oldest();
    b.push(2);
    b.pop_oldest();
    b.pop();
  });
  in.thread("thief", [&b] { b.ask_and_steal(first); });
}

template <class Bench>
void joins(world& in) {
  auto& b = bench_in<Bench>(in, 2);
  in.thread("owner", [&b] {
    b.push(0, runnable::kind::join);
    b.push(1, runnable::kind::join);
    b.answer();
    b.take_back(1);
    b.take_back(0);
  });
  in.thread("thief", [&b] { b.ask_and_steal(first); });
}

MODEL(WorkDequeModel, TheLastItemGoesToOne) { last_item<asymmetric>(world); }
MODEL(WorkDequeModel, AnIndexIsUsedAgainWhileItIsClaimed) { push_again<asymmetric>(world); }
MODEL(WorkDequeModel, PushesAndPopsWhileStolenFrom) { push_and_pop<asymmetric>(world); }
MODEL(WorkDequeModel, TwoThievesAndTheOwnerShare) { two_thieves<asymmetric>(world); }
MODEL(WorkDequeModel, LootIsStolenAgain) { stolen_again<asymmetric>(world); }
MODEL(WorkDequeModel, ASlotIsReusedOnlyAfterItWasCopied) { reuse<asymmetric>(world); }
MODEL(WorkDequeModel, GrowsWhileStolenFrom) { growth<asymmetric>(world); }
MODEL(WorkDequeModel, GrantsWhileItPops) { grant<asymmetric>(world); }
MODEL(WorkDequeModel, AnswersAThiefThatLosesPatience) { impatience<asymmetric>(world); }
MODEL(WorkDequeModel, AGrantedSlotIsReusedOnlyAfterItWasCopied) { grant_and_reuse<asymmetric>(world); }
MODEL(WorkDequeModel, ABrokenThiefIsPutAside) { broken_thief<asymmetric>(world); }
MODEL(WorkDequeModel, TheOwnerTakesTheOldest) { oldest_first<asymmetric>(world); }
MODEL(WorkDequeModel, JoinsAreTakenBackOrGoAlone) { joins<asymmetric>(world); }

MODEL(FallBackWorkDequeModel, TheLastItemGoesToOne) { last_item<fall_back>(world); }
MODEL(FallBackWorkDequeModel, AnIndexIsUsedAgainWhileItIsClaimed) { push_again<fall_back>(world); }
MODEL(FallBackWorkDequeModel, PushesAndPopsWhileStolenFrom) { push_and_pop<fall_back>(world); }
MODEL(FallBackWorkDequeModel, TwoThievesAndTheOwnerShare) { two_thieves<fall_back>(world); }
MODEL(FallBackWorkDequeModel, AnswersAThiefThatLosesPatience) { impatience<fall_back>(world); }
MODEL(FallBackWorkDequeModel, ABrokenThiefIsPutAside) { broken_thief<fall_back>(world); }

// The faults.

template <class Faulty>
using planted = bench<Faulty, barrier_kind::asymmetric>;

MODEL_FINDS(PlantedWorkDequeModel, OwnerWithoutBarrier, "taken twice") {
  last_item<planted<testing::owner_without_barrier>>(world);
}

MODEL_FINDS(PlantedWorkDequeModel, ThiefWithoutBarrier, "taken twice") {
  last_item<planted<testing::thief_without_barrier>>(world);
}

struct published_relaxed : work_deque_rules {
  static constexpr std::memory_order publish = std::memory_order_relaxed;
};
MODEL_FINDS(PlantedWorkDequeModel, PublishedRelaxed, "fewer than it was told") {
  push_and_pop<planted<published_relaxed>>(world);
}

struct granted_relaxed : work_deque_rules {
  static constexpr std::memory_order grant = std::memory_order_relaxed;
};
MODEL_FINDS(PlantedWorkDequeModel, GrantedRelaxed, "wild pointer") { grant<planted<granted_relaxed>>(world); }

struct reused_relaxed : work_deque_rules {
  static constexpr std::memory_order reuse = std::memory_order_relaxed;
};
MODEL_FINDS(PlantedWorkDequeModel, ReusedRelaxed, "data race") { reuse<planted<reused_relaxed>>(world); }

MODEL_FINDS(PlantedWorkDequeModel, ReusesClaimedSlots, "taken twice") {
  grant_and_reuse<planted<testing::reuses_claimed_slots>>(world);
}

}  // namespace
}  // namespace weft::impl
