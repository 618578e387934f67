// SPDX-License-Identifier: Apache-2.0
//
// task_group_model — children end, one by one or in bundles, begin others, and the owner waits for all of them.
#include "sched/task_group.hpp"

#include "model/model.hpp"
#include "support/sleeping_fiber.hpp"

#include <array>
#include <cstdint>
#include <optional>

namespace weft::impl {
namespace {

using model::platform;
using model::require;
using model::world;
using testing::sleeping_fiber;

template <class Rules>
struct basic_family {
  using group = basic_task_group<platform, sleeping_fiber*, Rules>;

  std::optional<group> children{std::in_place};
  sleeping_fiber owner;
  std::array<platform::plain<int>, 3> done{};

  /// A child ends; maybe several at a time, as far as the group can see.
  void end(std::uint32_t first, std::uint32_t count = 1) {
    for (std::uint32_t i = first; i < first + count; ++i) done[i].write(1);
    if (!children->count_out(count)) return;
    const auto ending = children->end();
    if (ending.duty == finish_duty::wake) ending.waiter->wake_joiner();
  }

  /// Waits for all; the group is gone then.
  void close_and_wait(std::uint32_t begun) {
    if (!children->close()) {
      while (!try_wait()) {
      }
    }
    for (std::uint32_t i = 0; i < begun; ++i)
      require(done[i].read() == 1, "the group ended before a child of it");
    children.reset();
  }

 private:
  bool try_wait() {
    auto& word = children->wait_word();
    if (word.is_done()) return true;
    owner.begin_join();
    if (!word.begin_wait(&owner)) {
      if (owner.claim.try_disarm() == disarm_outcome::claimed) (void)owner.claim.finish();
      return true;
    }
    const wake_cause cause = owner.sleep();
    if (cause == wake_cause::ready && word.is_done()) return true;
    return !word.end_wait(&owner);
  }
};

template <class Rules>
void two_children(world& world) {
  auto& f = world.make<basic_family<Rules>>();
  f.children->begin_by_owner();
  f.children->begin_by_owner();
  world.thread("first", [&f] { f.end(0); });
  world.thread("second", [&f] { f.end(1); });
  world.thread("owner", [&f] { f.close_and_wait(2); });
}
MODEL(TaskGroupModel, TwoChildren) { two_children<task_group_rules>(world); }

struct counted_relaxed : task_group_rules {
  static constexpr std::memory_order count = std::memory_order_relaxed;
  static constexpr std::memory_order close = std::memory_order_relaxed;
};
MODEL_FINDS(PlantedTaskGroupModel, TheLastHasNotSeenTheOthers, "race") {
  two_children<counted_relaxed>(world);
}

/// One worker ends two children and counts them together, another one the third.
MODEL(TaskGroupModel, ABundle) {
  auto& f = world.make<basic_family<task_group_rules>>();
  for (int i = 0; i < 3; ++i) f.children->begin_by_owner();
  world.thread("worker", [&f] { f.end(0, 2); });
  world.thread("other worker", [&f] { f.end(2); });
  world.thread("owner", [&f] { f.close_and_wait(3); });
}

/// A child begins another, which may end before it.
template <bool CountsFirst>
void a_child_begins_another(world& world) {
  auto& f = world.make<basic_family<task_group_rules>>();
  auto& begun = world.make<platform::atomic<std::uint32_t>>(0U);
  f.children->begin_by_owner();
  world.thread("child", [&f, &begun] {
    if constexpr (CountsFirst) f.children->begin_by_other();
    begun.store(1, std::memory_order_release);
    if constexpr (!CountsFirst) f.children->begin_by_other();
    f.end(0);
  });
  world.thread("grandchild", [&f, &begun] {
    while (begun.load(std::memory_order_acquire) == 0) platform::pause();
    f.end(1);
  });
  world.thread("owner", [&f] { f.close_and_wait(2); });
}
MODEL(TaskGroupModel, AChildBeginsAnother) { a_child_begins_another<true>(world); }

MODEL_FINDS(PlantedTaskGroupModel, ABeginningThatIsCountedTooLate, "before a child of it") {
  a_child_begins_another<false>(world);
}

/// The owner begins one while another ends, then waits.
MODEL(TaskGroupModel, TheOwnerBeginsWhileAChildEnds) {
  auto& f = world.make<basic_family<task_group_rules>>();
  auto& begun = world.make<platform::atomic<std::uint32_t>>(0U);
  f.children->begin_by_owner();
  world.thread("first", [&f] { f.end(0); });
  world.thread("second", [&f, &begun] {
    while (begun.load(std::memory_order_acquire) == 0) platform::pause();
    f.end(1);
  });
  world.thread("owner", [&f, &begun] {
    f.children->begin_by_owner();
    begun.store(1, std::memory_order_release);
    f.close_and_wait(2);
  });
}

}  // namespace
}  // namespace weft::impl
