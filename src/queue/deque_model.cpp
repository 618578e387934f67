// SPDX-License-Identifier: Apache-2.0
//
// deque_model — the Chase-Lev deque: each item goes to exactly one, whatever owner and thieves do.
//
// The same small programs for three deques: asymmetric, asymmetric where the kernel has no membarrier, and symmetric.
// After them the faults that have hurt other deques, each planted and found.
#include "model/model.hpp"
#include "support/bench_in.hpp"

#include <weft/detail/chase_lev.hpp>

#include <array>
#include <cstdint>
#include <optional>

namespace weft::detail {
namespace {

using model::platform;
using model::require;
using model::world;
using testing::bench_in;

/// Who has got what. Items are numbers from 1 on, so that a slot nobody has written shows.
template <class Orders, barrier_kind Kind, class Platform = platform>
struct bench {
  using item_type = std::uint64_t;
  static constexpr std::size_t most = 8;

  explicit bench(std::size_t capacity) : deque(capacity, Kind) {}

  void push(item_type item) {
    require(deque.try_push(item), "there is memory");
    ++pushed;
  }
  void pop() { got(deque.pop()); }
  void steal() {
    if (const auto stolen = deque.steal()) got(*stolen);
  }
  void got(std::optional<item_type> item) {
    if (!item) return;
    const auto id = static_cast<std::size_t>(*item);
    require(id >= 1 && id < most, "an item that nobody pushed");
    require(++times[id] == 1, "an item was taken twice");
    ++taken;
  }
  /// What is left comes out in the end, and then everything has been taken once.
  void settle() {
    while (const std::optional<item_type> left = deque.pop()) got(left);
    require(taken == pushed, "an item was lost");
  }

  chase_lev<item_type, Platform, Orders> deque;
  std::array<int, most> times{};
  int pushed = 0;
  int taken = 0;
};

using asymmetric = bench<asymmetric_orders, barrier_kind::asymmetric>;
using fall_back = bench<asymmetric_orders, barrier_kind::symmetric>;
using symmetric = bench<symmetric_orders, barrier_kind::symmetric>;

template <class Bench>
void last_item(world& in) {
  auto& b = bench_in<Bench>(in, 2);
  in.thread("owner", [&b] {
    b.push(1);
    b.pop();
    b.pop();
  });
  in.thread("thief", [&b] { b.steal(); });
}

template <class Bench>
void push_and_pop(world& in) {
  auto& b = bench_in<Bench>(in, 4);
  in.thread("owner", [&b] {
    b.push(1);
    b.push(2);
    b.pop();
    b.push(3);
    b.pop();
    b.pop();
  });
  in.thread("thief", [&b] {
    b.steal();
    b.steal();
  });
}

template <class Bench>
void two_thieves(world& in) {
  auto& b = bench_in<Bench>(in, 2);
  in.thread("owner", [&b] {
    b.push(1);
    b.push(2);
    b.pop();
    b.pop();
  });
  for (const char* const called : {"thief", "other"}) in.thread(called, [&b] { b.steal(); });
}

/// The buffer is full of items that thieves take, and pushes go round it.
template <class Bench>
void reuse(world& in) {
  auto& b = bench_in<Bench>(in, 2);
  b.push(1);
  b.push(2);
  in.thread("owner", [&b] {
    for (const std::uint64_t item : {3U, 4U}) {
      if (b.deque.try_push_bounded(item)) ++b.pushed;
    }
    b.pop();
  });
  in.thread("thief", [&b] {
    b.steal();
    b.steal();
  });
}

template <class Bench>
void growth(world& in) {
  auto& b = bench_in<Bench>(in, 1);
  in.thread("owner", [&b] {
    b.push(1);
    b.push(2);
    b.push(3);
    b.pop();
  });
  in.thread("thief", [&b] {
    b.steal();
    b.steal();
  });
}

/// As growth(), but the owner does nothing that would hurry its stores along.
template <class Bench>
void only_growth(world& in) {
  auto& b = bench_in<Bench>(in, 1);
  in.thread("owner", [&b] {
    b.push(1);
    b.push(2);
  });
  in.thread("thief", [&b] {
    b.steal();
    b.steal();
  });
}

template <class Bench>
void take_back(world& in) {
  auto& b = bench_in<Bench>(in, 2);
  in.thread("owner", [&b] {
    b.push(1);
    b.push(2);
    if (b.deque.pop_if(2)) b.got(2);
    require(!b.deque.pop_if(2), "an item is taken back once");
    if (b.deque.pop_if(1)) b.got(1);
  });
  in.thread("thief", [&b] { b.steal(); });
}

MODEL(DequeModel, TheLastItemGoesToOne) { last_item<asymmetric>(world); }
MODEL(DequeModel, PushesAndPopsWhileStolenFrom) { push_and_pop<asymmetric>(world); }
MODEL(DequeModel, TwoThievesShareTheRest) { two_thieves<asymmetric>(world); }
MODEL(DequeModel, ASlotIsReusedOnlyAfterItWasRead) { reuse<asymmetric>(world); }
MODEL(DequeModel, GrowsWhileStolenFrom) { growth<asymmetric>(world); }
MODEL(DequeModel, ItemsInANewBufferAreNotLookedForInTheOld) { only_growth<asymmetric>(world); }
MODEL(DequeModel, TakesBackByIdentity) { take_back<asymmetric>(world); }

MODEL(FallBackDequeModel, TheLastItemGoesToOne) { last_item<fall_back>(world); }
MODEL(FallBackDequeModel, PushesAndPopsWhileStolenFrom) { push_and_pop<fall_back>(world); }
MODEL(FallBackDequeModel, TwoThievesShareTheRest) { two_thieves<fall_back>(world); }
MODEL(FallBackDequeModel, ASlotIsReusedOnlyAfterItWasRead) { reuse<fall_back>(world); }
MODEL(FallBackDequeModel, GrowsWhileStolenFrom) { growth<fall_back>(world); }

MODEL(SymmetricDequeModel, TheLastItemGoesToOne) { last_item<symmetric>(world); }
MODEL(SymmetricDequeModel, PushesAndPopsWhileStolenFrom) { push_and_pop<symmetric>(world); }
MODEL(SymmetricDequeModel, TwoThievesShareTheRest) { two_thieves<symmetric>(world); }
MODEL(SymmetricDequeModel, ASlotIsReusedOnlyAfterItWasRead) { reuse<symmetric>(world); }
MODEL(SymmetricDequeModel, GrowsWhileStolenFrom) { growth<symmetric>(world); }
MODEL(SymmetricDequeModel, TakesBackByIdentity) { take_back<symmetric>(world); }

/// Items of two words are never seen half of one and half of another.
MODEL(DequeModel, WideItemsAreNotTorn) {
  struct wide {
    std::uint64_t first;
    std::uint64_t second;
  };
  struct state {
    chase_lev<wide, platform, asymmetric_orders> deque{2, barrier_kind::asymmetric};
  };
  auto& s = world.make<state>();
  const auto whole = [](const wide& w) {
    require(w.first == w.second && w.first != 0, "half of one item, half of another");
  };
  world.thread("owner", [&s, whole] {
    for (const std::uint64_t n : {1U, 2U, 3U}) (void)s.deque.try_push_bounded(wide{n, n});
    if (const auto mine = s.deque.pop()) whole(*mine);
  });
  world.thread("thief", [&s, whole] {
    for (int i = 0; i < 2; ++i) {
      if (const auto stolen = s.deque.steal()) whole(*stolen);
    }
  });
}

// The faults.

template <class Faulty, barrier_kind Kind = barrier_kind::asymmetric>
using planted = bench<Faulty, Kind>;

struct no_barrier_in_take : asymmetric_orders {
  template <class Platform>
  static void owner_barrier(barrier_kind /*kind*/) noexcept {}
};
MODEL_FINDS(PlantedDequeModel, MissingBarrierInTake, "taken twice") {
  two_thieves<planted<no_barrier_in_take>>(world);
}

struct no_barrier_in_steal : asymmetric_orders {
  template <class Platform>
  static void thief_barrier(barrier_kind /*kind*/) noexcept {}
};
MODEL_FINDS(PlantedDequeModel, MissingBarrierInSteal, "taken twice") {
  two_thieves<planted<no_barrier_in_steal>>(world);
}

struct no_fence_in_take : symmetric_orders {
  static constexpr std::memory_order reserve = std::memory_order_release;
};
MODEL_FINDS(PlantedDequeModel, DecrementThatIsNotSequentiallyConsistent, "taken twice") {
  two_thieves<planted<no_fence_in_take, barrier_kind::symmetric>>(world);
}

struct relaxed_publish : asymmetric_orders {
  static constexpr std::memory_order publish = std::memory_order_relaxed;
};
MODEL_FINDS(PlantedDequeModel, RelaxedPublish, "an item") { push_and_pop<planted<relaxed_publish>>(world); }

struct relaxed_reserve : asymmetric_orders {
  static constexpr std::memory_order reserve = std::memory_order_relaxed;
};
MODEL_FINDS(PlantedDequeModel, RelaxedBottomInTake, "an item") {
  push_and_pop<planted<relaxed_reserve>>(world);
}

/// A pointer that its reader looks up once and then remembers: the thief goes on with a buffer it has read before.
template <class T>
class remembered : public model::atomic<T> {
 public:
  using model::atomic<T>::atomic;
  [[nodiscard]] T load(std::memory_order order, model::place where = model::place::current()) const noexcept {
    if (known_ == nullptr) known_ = model::atomic<T>::load(order, where);
    return known_;
  }

 private:
  mutable T known_ = nullptr;
};
struct remembering_platform : platform {
  template <class T>
  using atomic = std::conditional_t<std::is_pointer_v<T>, remembered<T>, model::atomic<T>>;
};
MODEL_FINDS(PlantedDequeModel, BufferSwappedDuringSteal, "taken twice") {
  only_growth<bench<asymmetric_orders, barrier_kind::asymmetric, remembering_platform>>(world);
}

}  // namespace
}  // namespace weft::detail
