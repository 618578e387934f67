// SPDX-License-Identifier: Apache-2.0
//
// record_slab_model — a record belongs to one at a time, comes home whole, and is never found by a handle of an earlier
// life.
#include "queue/record_slab.hpp"

#include "model/model.hpp"

#include <array>

namespace weft::impl {
namespace {

using model::platform;
using model::require;
using model::world;

struct small_policy : record_policy {
  static constexpr unsigned root_bits = 1;
  static constexpr unsigned leaf_bits = 1;
  static constexpr unsigned index_bits = 2;
  using name = basic_record_name<root_bits + leaf_bits + index_bits>;
  static constexpr std::size_t parcels = 1;
  static constexpr std::size_t parcel_size = 1;
  static constexpr std::size_t fresh_run = 1;
};

struct task : basic_record<platform> {
  platform::plain<int> user{0};     // belongs to whoever holds the record
  platform::atomic<int> number{0};  // of this life, for those who look from outside
};

constexpr record_slab_options two_records{.body_bytes = 0, .first_block = 2, .most_block = 2};

template <class Policy = small_policy>
struct slab_state {
  using slab_type = basic_record_slab<platform, task, Policy>;
  using home = typename slab_type::home;

  slab_type slab{two_records};
  std::array<home*, 2> homes{*slab.move_in(), *slab.move_in()};

  slab_state() = default;
  slab_state(const slab_state&) = delete;
  slab_state& operator=(const slab_state&) = delete;
  ~slab_state() {
    for (home* h : homes) {
      if (h != nullptr) slab.move_out(*h);
    }
  }

  /// Begins a life.
  task& begin(std::size_t at, int number) {
    task& made = **homes[at]->allocate();
    made.user.write(number);
    made.number.store(number, std::memory_order_release);
    slab_type::publish(made);
    return made;
  }
  /// Ends one that was begun with that number.
  void end(std::size_t at, task& done, int number) {
    require(done.user.read() == number, "a record is used by two");
    done.user.write(0);
    homes[at]->free(done);
  }
};
using state = slab_state<>;

MODEL(RecordSlabModel, ARecordFreedElsewhereComesHome) {
  struct travelling : state {
    platform::atomic<task*> sent{nullptr};
  };
  auto& s = world.make<travelling>();
  world.thread("home", [&s] {
    s.sent.store(&s.begin(0, 1), std::memory_order_release);
    task& a = s.begin(0, 2);
    task& b = s.begin(0, 3);
    s.end(0, b, 3);
    s.end(0, a, 2);
  });
  world.thread("abroad", [&s] {
    task* got = nullptr;
    while ((got = s.sent.load(std::memory_order_acquire)) == nullptr) platform::pause();
    s.end(1, *got, 1);
  });
}

MODEL(RecordSlabModel, TwoSendRecordsHome) {
  auto& s = world.make<state>();
  task& first = s.begin(0, 1);
  task& second = s.begin(0, 2);
  // Both are of home 0: one is freed abroad, the other at home, and home 0 hands them out again.
  world.thread("home", [&s, &first] {
    s.end(0, first, 1);
    task& a = s.begin(0, 3);
    task& b = s.begin(0, 4);
    s.end(0, a, 3);
    s.end(0, b, 4);
  });
  world.thread("abroad", [&s, &second] { s.end(1, second, 2); });
}

/// A handle names one life: whoever still finds it after looking has looked at that life.
template <class Policy>
void look_by_handle(world& in) {
  struct looked_at : slab_state<Policy> {
    platform::atomic<std::uint64_t> handle{0};
  };
  auto& s = in.make<looked_at>();
  in.thread("lives", [&s] {
    task& first = s.begin(0, 1);
    s.handle.store(first.handle().word(), std::memory_order_relaxed);  // as a handle that was guessed
    s.end(0, first, 1);
    task& second = s.begin(0, 2);
    s.end(0, second, 2);
  });
  in.thread("looks", [&s] {
    const auto handle = record_handle::from_word(s.handle.load(std::memory_order_relaxed));
    const task* const found = s.slab.resolve(handle);
    if (found == nullptr) return;
    const int number = found->number.load(std::memory_order_acquire);
    if (s.slab.resolve(handle) == found) require(number == 1, "a handle found a later life");
  });
}
MODEL(RecordSlabModel, AHandleNamesOneLife) { look_by_handle<small_policy>(world); }

MODEL(RecordSlabModel, AForgedHandleFindsNothing) {
  auto& s = world.make<state>();
  world.thread("lives", [&s] {
    task& first = s.begin(0, 1);
    s.end(0, first, 1);
  });
  world.thread("forges", [&s] {
    for (const std::uint64_t word :
         {std::uint64_t{0}, std::uint64_t{0x10}, std::uint64_t{0x1f}, ~std::uint64_t{0}}) {
      const task* const found = s.slab.resolve(record_handle::from_word(word));
      if (found != nullptr) require(found->handle().word() != 0, "found, and not alive");
    }
  });
}

MODEL(RecordSlabModel, AWalkSeesWhatLivesThroughIt) {
  auto& s = world.make<state>();
  task& stays = s.begin(0, 7);
  world.thread("works", [&s] {
    task& a = s.begin(0, 1);
    task& b = s.begin(1, 2);
    s.end(1, b, 2);
    s.end(0, a, 1);
  });
  world.thread("walks", [&s, &stays] {
    bool seen = false;
    s.slab.for_each_live([&](const task& each, record_handle handle) {
      const int number = each.number.load(std::memory_order_acquire);
      if (s.slab.resolve(handle) == &each)
        require(number >= 1, "a live record was seen before it was filled in");
      seen = seen || &each == &stays;
    });
    require(seen, "a record that lived all the time was not seen");
  });
  world.finally([&s, &stays] { s.end(0, stays, 7); });
}

MODEL(RecordSlabModel, AHomeChangesHands) {
  auto& s = world.make<state>();
  world.thread("moves out", [&s] {
    task& a = s.begin(0, 1);
    s.end(0, a, 1);
    auto* const left = std::exchange(s.homes[0], nullptr);
    s.slab.move_out(*left);
  });
  world.thread("moves in", [&s] {
    auto* const mine = *s.slab.move_in();
    task& made = **mine->allocate();
    made.user.write(5);
    state::slab_type::publish(made);
    require(made.user.read() == 5, "a record is used by two");
    mine->free(made);
    s.slab.move_out(*mine);
  });
}

MODEL(RecordSlabModel, HomesAreBuiltWhileOthersLookForOne) {
  struct bare {
    basic_record_slab<platform, task, small_policy> slab{two_records};
  };
  auto& s = world.make<bare>();
  for (const char* const called : {"one", "other"}) {
    world.thread(called, [&s] {
      auto* const mine = *s.slab.move_in();
      s.slab.move_out(*mine);
    });
  }
}

MODEL(RecordSlabModel, TwoHomesGrowAtOnce) {
  auto& s = world.make<state>();
  for (const std::size_t i : {std::size_t{0}, std::size_t{1}}) {
    world.thread(i == 0 ? "one" : "other", [&s, i] {
      task& made = s.begin(i, static_cast<int>(i) + 1);
      require(s.slab.resolve(made.handle()) == &made, "a record is not where its name says");
      s.end(i, made, static_cast<int>(i) + 1);
    });
  }
}

// The faults.

/// A name that says only whether the record lives, not which life it is.
template <unsigned PositionBits>
class untagged_name {
 public:
  static constexpr unsigned position_bits = PositionBits;
  static constexpr std::uint64_t live_bit = std::uint64_t{1} << PositionBits;
  static constexpr untagged_name first_of(std::uint64_t position) noexcept { return from_word(position); }
  static constexpr untagged_name from_word(std::uint64_t word) noexcept {
    untagged_name made;
    made.word_ = word;
    return made;
  }
  [[nodiscard]] constexpr std::uint64_t word() const noexcept { return word_; }
  [[nodiscard]] constexpr std::uint64_t position() const noexcept { return word_ & (live_bit - 1); }
  [[nodiscard]] constexpr bool is_live() const noexcept { return (word_ & live_bit) != 0; }
  [[nodiscard]] constexpr untagged_name next() const noexcept { return from_word(word_ ^ live_bit); }
  [[nodiscard]] static constexpr bool came_round() noexcept { return false; }

 private:
  std::uint64_t word_ = 0;
};
struct untagged_policy : small_policy {
  using name = untagged_name<root_bits + leaf_bits + index_bits>;
};
MODEL_FINDS(PlantedRecordSlabModel, HandlesWithoutATagAreABA, "a later life") {
  look_by_handle<untagged_policy>(world);
}

}  // namespace
}  // namespace weft::impl
