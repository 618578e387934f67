// SPDX-License-Identifier: Apache-2.0
//
// completion_model — the waiter frees the record at once, and whoever finishes the child has let go of it by then.
#include "sched/completion.hpp"

#include "event/parker.hpp"
#include "model/model.hpp"
#include "support/broken_waits.hpp"

#include <optional>

namespace weft::impl {
namespace {

using model::platform;
using model::require;
using model::world;

using parker = basic_parker<platform>;

template <class Rules>
struct record {
  basic_completion<platform, parker, Rules> end;
  platform::plain<int> result{0};
};

template <class Rules>
struct family {
  std::optional<record<Rules>> child{std::in_place};
  parker waiter;
};

template <class Rules>
void wait_and_free(world& in) {
  auto& f = in.make<family<Rules>>();
  in.thread("child", [&f] {
    f.child->result.write(5);
    if (parker* const waiting = f.child->end.finish()) waiting->unpark();
  });
  in.thread("parent", [&f] {
    if (f.child->end.begin_wait(f.waiter) == wait_duty::wait) f.waiter.park();
    require(f.child->result.read() == 5, "woken before the child was done");
    f.child.reset();
  });
}

MODEL(CompletionModel, TheWaiterFreesTheRecordAtOnce) { wait_and_free<completion_rules>(world); }

MODEL(CompletionModel, AWaiterThatLooksFirst) {
  auto& f = world.make<family<completion_rules>>();
  world.thread("child", [&f] {
    f.child->result.write(5);
    if (parker* const waiting = f.child->end.finish()) waiting->unpark();
  });
  world.thread("parent", [&f] {
    while (!f.child->end.is_done()) platform::pause();
    require(f.child->result.read() == 5, "done without its result");
    f.child.reset();
  });
}

/// The waiter is made just before it waits.
MODEL(CompletionModel, TheFinisherSeesTheWaiterAsItIs) {
  struct state {
    basic_completion<platform, parker> end;
  };
  auto& s = world.make<state>();
  world.thread("child", [&s] {
    if (parker* const waiting = s.end.finish()) waiting->unpark();
  });
  world.thread("parent", [&s] {
    parker mine;
    if (s.end.begin_wait(mine) == wait_duty::wait) mine.park();
  });
}

// The faults.

MODEL_FINDS(PlantedCompletionModel, SignallerTouchesAFreedLatch, "destroy") {
  wait_and_free<testing::looks_back>(world);
}

}  // namespace
}  // namespace weft::impl
