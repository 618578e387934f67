// SPDX-License-Identifier: Apache-2.0
//
// handle_word_model — a task ends, and whoever holds its handle waits, gives up, waits again or drops it.
#include "sched/handle_word.hpp"

#include "model/model.hpp"
#include "sched/claim_word.hpp"

#include <optional>

namespace weft::impl {
namespace {

using model::platform;
using model::require;
using model::world;

/// The wait of a fiber, as far as a finisher sees it: a claim word, and which wait of it is for the end of a task. What
/// makes it runnable is a flag.
struct alignas(8) sleeping_fiber {
  basic_wait_claim<platform> claim;
  platform::atomic<std::uint64_t> join_epoch{0};
  platform::atomic<std::uint32_t> runnable{0};

  void wake(wait_ticket ticket, wake_cause cause) {
    if (claim.try_claim(ticket, cause) == claim_outcome::won) make_runnable();
  }
  void make_runnable() { runnable.store(1, std::memory_order_release); }

  /// The step after the switch, and being off the stack until somebody makes it runnable.
  [[nodiscard]] wake_cause sleep() {
    if (claim.complete_park() == park_outcome::must_requeue) make_runnable();
    while (runnable.load(std::memory_order_acquire) == 0) platform::pause();
    runnable.store(0, std::memory_order_relaxed);
    return claim.finish();
  }
};

struct child_record {
  basic_handle_word<platform, sleeping_fiber*> word;
  platform::plain<int> result{0};
};

struct family {
  std::optional<child_record> child{std::in_place};
  sleeping_fiber parent;
  int freed = 0;

  void end_child() {
    child->result.write(5);
    const auto ending = child->word.finish();
    switch (ending.duty) {
      case finish_duty::none: return;
      case finish_duty::free_record: return free_child();
      case finish_duty::wake:
        // relaxed: the waiter wrote it before it registered; if it has moved on, the ticket is worth nothing.
        ending.waiter->wake({ending.waiter->join_epoch.load(std::memory_order_relaxed)}, wake_cause::ready);
    }
  }
  void free_child() {
    require(++freed == 1, "a record was freed twice");
    require(child->result.read() == 5, "freed before its task was done");
    child.reset();
  }
  /// Waits until the child is done, or the wait was ended otherwise. Returns whether it is done.
  bool wait() {
    const wait_ticket ticket = parent.claim.arm();
    parent.join_epoch.store(ticket.epoch, std::memory_order_relaxed);
    if (!child->word.begin_wait(&parent)) {
      if (parent.claim.try_disarm() == disarm_outcome::claimed) (void)parent.claim.finish();
      return true;
    }
    if (parent.sleep() == wake_cause::ready) return child->word.is_done();
    return !child->word.end_wait(&parent);
  }
};

MODEL(HandleWordModel, TheHolderWaitsAndFrees) {
  auto& f = world.make<family>();
  world.thread("child", [&f] { f.end_child(); });
  world.thread("parent", [&f] {
    while (!f.wait()) {
    }
    f.free_child();
  });
}

MODEL(HandleWordModel, AHolderThatOnlyLooks) {
  auto& f = world.make<family>();
  world.thread("child", [&f] { f.end_child(); });
  world.thread("parent", [&f] {
    while (!f.child->word.is_done()) platform::pause();
    f.free_child();
  });
}

MODEL(HandleWordModel, TheLastOfTheTwoFrees) {
  auto& f = world.make<family>();
  world.thread("child", [&f] { f.end_child(); });
  world.thread("parent", [&f] {
    if (f.child->word.drop()) f.free_child();
  });
  world.finally([&f] { require(f.freed == 1, "nobody has freed the record"); });
}

/// The wait is ended by somebody else; the holder gives up and drops the handle, or finds the child done.
MODEL(HandleWordModel, ACancelledWaitMayDrop) {
  auto& f = world.make<family>();
  world.thread("child", [&f] { f.end_child(); });
  world.thread("canceller", [&f] {
    if (f.parent.claim.try_claim_standing(wake_cause::cancelled) == claim_outcome::won)
      f.parent.make_runnable();
  });
  world.thread("parent", [&f] {
    const bool done = f.wait();
    if (done || f.child->word.drop()) f.free_child();
  });
  world.finally([&f] { require(f.freed == 1, "nobody has freed the record"); });
}

/// It waits again instead: a finisher that is late for the first wait must neither miss nor spoil the second.
MODEL(HandleWordModel, ACancelledWaitMayBeRepeated) {
  auto& f = world.make<family>();
  world.is_large(1);
  world.thread("child", [&f] { f.end_child(); });
  world.thread("canceller", [&f] {
    if (f.parent.claim.try_claim_standing(wake_cause::cancelled) == claim_outcome::won)
      f.parent.make_runnable();
  });
  world.thread("parent", [&f] {
    while (!f.wait()) {
    }
    f.free_child();
  });
}

}  // namespace
}  // namespace weft::impl
