// SPDX-License-Identifier: Apache-2.0
//
// handle_word_model — a task ends, and whoever holds its handle waits, gives up, waits again or drops it.
#include "sched/handle_word.hpp"

#include "model/model.hpp"
#include "support/sleeping_fiber.hpp"

#include <optional>

namespace weft::impl {
namespace {

using model::platform;
using model::require;
using testing::sleeping_fiber;

struct child_record {
  basic_handle_word<platform, sleeping_fiber*> word;
  platform::plain<int> result{0};
};

/// Returns whether the record is the finisher's to free.
bool end(child_record& child) {
  child.result.write(5);
  const auto ending = child.word.finish();
  if (ending.duty == finish_duty::wake) ending.waiter->wake_joiner();
  return ending.duty == finish_duty::free_record;
}

/// Waits until the child is done, or the wait was ended otherwise. Returns whether it is done.
bool await(sleeping_fiber& parent, child_record& child) {
  parent.begin_join();
  if (!child.word.begin_wait(&parent)) {
    if (parent.claim.try_disarm() == disarm_outcome::claimed) (void)parent.claim.finish();
    return true;
  }
  const wake_cause cause = parent.sleep();
  if (cause == wake_cause::ready && child.word.is_done()) return true;
  return !child.word.end_wait(&parent);  // cancelled, or woken by somebody who came late
}

struct family {
  std::optional<child_record> child{std::in_place};
  sleeping_fiber parent;
  int freed = 0;

  void end_child() {
    if (end(*child)) free_child();
  }
  void free_child() {
    require(++freed == 1, "a record was freed twice");
    require(child->result.read() == 5, "freed before its task was done");
    child.reset();
  }
  bool wait() { return await(parent, *child); }
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

/// A wait for one child is ended otherwise, and the child is done in that moment: its finisher comes late, and finds the
/// parent waiting for another child. It may wake the parent, which must go on waiting, and then not be missed.
MODEL(HandleWordModel, AFinisherComesLateToAnotherWait) {
  auto& first = world.make<family>();
  auto& second = world.make<child_record>();
  world.is_large(1);
  world.thread("first child", [&first] { first.end_child(); });
  world.thread("canceller", [&first] {
    if (first.parent.claim.try_claim_standing(wake_cause::cancelled) == claim_outcome::won)
      first.parent.make_runnable();
  });
  world.thread("second child", [&second] { end(second); });
  world.thread("parent", [&first, &second] {
    while (!await(first.parent, *first.child)) {
    }
    first.free_child();
    while (!await(first.parent, second)) {
    }
    require(second.result.read() == 5, "the wait for the second child ended before it did");
  });
}

}  // namespace
}  // namespace weft::impl
