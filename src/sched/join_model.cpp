// SPDX-License-Identifier: Apache-2.0
//
// join_model — a join as a whole: the arm is pushed, taken back, or taken by others, who run it, end it and wake the caller. Each
// arm runs once, the caller sees what it did, and does not leave the frame that it lies in before its last toucher has.
//
// The deque, the completion, the claim, the note and the handle are the shipping ones. The steps of weft/detail/join_arm.hpp,
// await_join() and run_join_arm() are written down once more: who changes those changes this as well.
#include "model/model.hpp"
#include "queue/work_deque.hpp"
#include "sched/cancel_flag.hpp"
#include "sched/completion.hpp"
#include "sched/handle_word.hpp"
#include "support/broken_deques.hpp"
#include "support/broken_waits.hpp"
#include "support/sleeping_fiber.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <utility>

namespace weft::impl {
namespace {

using model::platform;
using model::require;
using model::world;
using testing::sleeping_fiber;

/// Which steps are taken. A model that must fail derives from this and changes one line.
struct join_rules {
  using deque = work_deque_rules;
  using completion = completion_rules;
  static constexpr wait_kind kind = wait_kind::shielded;
  static constexpr bool notes_before_it_registers = true;
  static constexpr bool tells_arms_from_joins = true;
  static constexpr bool waits_for_what_was_taken = true;
};

template <class Rules>
struct joining {
  struct worker;
  /// In its caller's frame.
  struct alignas(8) arm {
    arm(void (*function)(joining&, worker&), joining& scene) noexcept : run(function), in(scene) {}

    void (*const run)(joining&, worker&);
    joining& in;
    platform::plain<int> given{0};   // written by the caller before it was pushed
    platform::plain<int> result{0};  // written by who runs it
    basic_completion<platform, sleeping_fiber, typename Rules::completion> end;

    [[nodiscard]] runnable word() noexcept { return {runnable::kind::join, this}; }
    void call(worker& on) {
      require(given.read() == 3, "an arm came without what its caller wrote");
      run(in, on);
      result.write(5);
    }
  };
  /// A worker, and the task that it runs.
  struct worker {
    basic_work_deque<platform, typename Rules::deque> tasks{
        barrier_kind::asymmetric,
        {.capacity = 2, .most = 2, .least_after_push = 1, .first_index = 0xfffffffe}};
    sleeping_fiber task;
  };

  std::array<worker, 2> workers;
  int ran = 0;  // arms

  static void is_leaf(joining& scene, worker& /*on*/) { ++scene.ran; }

  // -- The caller ---------------------------------------------------------------------------------------------------

  /// weft::join().
  template <class First>
  void join(worker& here, void (*second)(joining&, worker&), First&& first, bool robs_meanwhile = false) {
    arm mine(second, *this);
    push(here, mine);
    first();
    if (here.tasks.pop_if(mine.word())) {
      mine.call(here);
    } else if (Rules::waits_for_what_was_taken) {
      await(here.task, mine, [&] {
        if (!robs_meanwhile || !rob(here, workers[1])) platform::pause();
      });
    }
    require(mine.result.read() == 5, "a join is over before its arm");
  }
  static void push(worker& here, arm& added) {
    added.given.write(3);
    const bool quietly = here.tasks.try_push_quietly(added.word());
    require(quietly || here.tasks.push(added.word()), "there is memory");
  }
  /// detail::await_join(), and what is done meanwhile by the worker that it has left.
  template <class Idle>
  static void await(sleeping_fiber& self, arm& taken, Idle&& is_idle) {
    const wait_ticket ticket = self.claim.arm(Rules::kind);
    if (Rules::notes_before_it_registers) note(self, ticket);
    if (taken.end.begin_wait(self) == wait_duty::none) {
      if (self.claim.try_disarm() == disarm_outcome::claimed) (void)self.claim.finish();
    } else {
      if (!Rules::notes_before_it_registers) note(self, ticket);
      (void)self.sleep(is_idle);
    }
  }
  static void await(sleeping_fiber& self, arm& taken) { await(self, taken, &platform::pause); }

  // -- Who takes arms -----------------------------------------------------------------------------------------------

  /// Takes what there is, and runs it. Returns whether there was anything.
  static bool rob(worker& thief, worker& victim) {
    const std::uint32_t count = victim.tasks.steal(thief_id{7}, thief.tasks, 2);
    require(count <= 1, "arms do not leave together");
    return count == 1 && run_newest(thief);
  }
  /// A worker runs what lies in its own deque.
  static bool run_newest(worker& on) {
    const runnable next = on.tasks.pop();
    if (!next) return false;
    // run_join_arm()
    auto& taken = *static_cast<arm*>(next.address());
    taken.call(on);
    // From here on the caller may be gone, and the arm with it.
    if (sleeping_fiber* const caller = taken.end.finish()) wake(*caller);
    return true;
  }

 private:
  static void note(sleeping_fiber& self, wait_ticket ticket) {
    if constexpr (Rules::tells_arms_from_joins) {
      self.note.set_arm(ticket);
    } else {
      self.note.set_join(ticket);
    }
  }
  static void wake(sleeping_fiber& caller) {
    if constexpr (Rules::tells_arms_from_joins) {
      caller.wake_caller();
    } else {
      caller.wake_joiner();
    }
  }
};

constexpr auto nothing_first = [] {};

// -- One join ---------------------------------------------------------------------------------------------------------

template <class Rules>
void caller_and_thief(world& in) {
  auto& s = in.make<joining<Rules>>();
  in.thread("caller", [&s] { s.join(s.workers[0], &s.is_leaf, nothing_first); });
  in.thread("thief", [&s] { (void)s.rob(s.workers[1], s.workers[0]); });
  in.finally([&s] { require(s.ran == 1, "an arm ran twice, or not at all"); });
}
MODEL(JoinModel, AnArmIsTakenBackOrTaken) { caller_and_thief<join_rules>(world); }

/// The caller waited in its first half, and goes on upon another worker. The arm lies where it was; that worker comes to it, or
/// a thief.
MODEL(JoinModel, TheCallerGoesOnUponAnotherWorker) {
  struct moved : joining<join_rules> {
    std::optional<arm> mine{std::in_place, &is_leaf, *this};
    worker third;
  };
  auto& s = world.make<moved>();
  world.is_large(1);
  moved::push(s.workers[0], *s.mine);
  world.thread("caller", [&s] {
    require(!s.third.tasks.pop_if(s.mine->word()), "an arm was found where it never was");
    moved::await(s.third.task, *s.mine);
    require(s.mine->result.read() == 5, "a join is over before its arm");
    s.mine.reset();
  });
  world.thread("worker", [&s] {
    while (!moved::run_newest(s.workers[0]) && s.ran == 0) platform::pause();
  });
  world.thread("thief", [&s] { (void)moved::rob(s.workers[1], s.workers[0]); });
  world.finally([&s] { require(s.ran == 1, "an arm ran twice, or not at all"); });
}

/// Whoever asks the caller to stop does not end its wait for the arm.
template <class Rules>
void caller_is_cancelled(world& in) {
  auto& s = in.make<joining<Rules>>();
  in.thread("caller", [&s] { s.join(s.workers[0], &s.is_leaf, nothing_first); });
  in.thread("thief", [&s] { (void)s.rob(s.workers[1], s.workers[0]); });
  in.thread("canceller", [&s] {
    sleeping_fiber& caller = s.workers[0].task;
    if (caller.claim.try_claim_standing(wake_cause::cancelled) == claim_outcome::won) caller.make_runnable();
  });
  in.finally([&s] { require(s.ran == 1, "an arm ran twice, or not at all"); });
}
MODEL(JoinModel, ACancellationDoesNotEndTheWaitForAnArm) { caller_is_cancelled<join_rules>(world); }

// -- Joins in joins ---------------------------------------------------------------------------------------------------

/// Two levels; the thief takes the outer arm, the outer and the inner one, or none.
template <class Rules>
void joins_in_the_first_half(world& in) {
  auto& s = in.make<joining<Rules>>();
  in.thread("caller", [&s] {
    s.join(s.workers[0], &s.is_leaf, [&s] { s.join(s.workers[0], &s.is_leaf, nothing_first); });
  });
  in.thread("thief", [&s] {
    for (int i = 0; i < 2; ++i) (void)s.rob(s.workers[1], s.workers[0]);
  });
  in.finally([&s] { require(s.ran == 2, "an arm ran twice, or not at all"); });
}
MODEL(JoinModel, JoinsInTheFirstHalf) { joins_in_the_first_half<join_rules>(world); }

/// The arm joins in turn, on the worker of the thief; and the worker that the caller has left takes from there.
MODEL(JoinModel, JoinsInTheSecondHalf) {
  using scene = joining<join_rules>;
  auto& s = world.make<scene>();
  constexpr auto joins = [](scene& in, scene::worker& on) {
    ++in.ran;
    in.join(on, &scene::is_leaf, nothing_first);
  };
  world.thread("caller", [&s, joins] { s.join(s.workers[0], joins, nothing_first, true); });
  world.thread("thief", [&s] { (void)scene::rob(s.workers[1], s.workers[0]); });
  world.finally([&s] { require(s.ran == 2, "an arm ran twice, or not at all"); });
}

// -- A guest that comes late --------------------------------------------------------------------------------------------

/// The caller has waited for a child by its handle, and was asked to stop; the child ended in that moment. Whoever ended it
/// comes to wake the caller while it waits for an arm.
template <class Rules>
void late_finisher(world& in) {
  struct family : joining<Rules> {
    basic_handle_word<platform, sleeping_fiber*> child;
    typename joining<Rules>::arm mine{&joining<Rules>::is_leaf, *this};
  };
  auto& s = in.make<family>();
  sleeping_fiber& caller = s.workers[0].task;
  // As it was cancelled: registered with the child, in a wait that is over.
  caller.begin_join();
  require(s.child.begin_wait(&caller), "it is not done");
  require(caller.claim.try_disarm() == disarm_outcome::disarmed, "nobody has come");
  s.push(s.workers[1], s.mine);
  in.thread("caller", [&s, &caller] {
    if (s.child.end_wait(&caller)) return;  // not done: it would go elsewhere
    s.await(caller, s.mine);
    require(s.mine.result.read() == 5, "a join is over before its arm");
  });
  in.thread("child", [&s] {
    const auto ending = s.child.finish();
    if (ending.duty == finish_duty::wake) ending.waiter->wake_joiner();
  });
  in.thread("thief", [&s] { (void)s.run_newest(s.workers[1]); });
}
MODEL(JoinModel, ALateFinisherDoesNotEndTheWaitForAnArm) { late_finisher<join_rules>(world); }

// The faults.

struct deque_without_barrier : join_rules {
  using deque = testing::thief_without_barrier;
};
MODEL_FINDS(PlantedJoinModel, AThiefWithoutItsBarrier, "destroyed") {
  caller_and_thief<deque_without_barrier>(world);
}

struct caller_without_barrier : join_rules {
  using deque = testing::owner_without_barrier;
};
MODEL_FINDS(PlantedJoinModel, ACallerThatTakesBackWithoutItsBarrier, "destroyed") {
  joins_in_the_first_half<caller_without_barrier>(world);
}

struct finisher_looks_back : join_rules {
  using completion = testing::looks_back;
};
MODEL_FINDS(PlantedJoinModel, AFinisherLooksBack, "destroy") { caller_and_thief<finisher_looks_back>(world); }

struct notes_too_late : join_rules {
  static constexpr bool notes_before_it_registers = false;
};
MODEL_FINDS(PlantedJoinModel, ACallerThatIsNotedTooLate, "livelock") {
  caller_and_thief<notes_too_late>(world);
}

struct waits_unshielded : join_rules {
  static constexpr wait_kind kind = wait_kind::cancellable;
};
MODEL_FINDS(PlantedJoinModel, ACancellationEndsTheWaitForAnArm, "race") {
  caller_is_cancelled<waits_unshielded>(world);
}
struct takes_arms_for_tasks : join_rules {
  static constexpr bool tells_arms_from_joins = false;
};
MODEL_FINDS(PlantedJoinModel, ALateFinisherEndsTheWaitForAnArm, "over before its arm") {
  late_finisher<takes_arms_for_tasks>(world);
}

struct does_not_wait : join_rules {
  static constexpr bool waits_for_what_was_taken = false;
};
MODEL_FINDS(PlantedJoinModel, ACallerThatLeavesItsFrame, "race") { caller_and_thief<does_not_wait>(world); }

}  // namespace
}  // namespace weft::impl
