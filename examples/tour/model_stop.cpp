// SPDX-License-Identifier: Apache-2.0
//
// Fourth stop: a wake-up is lost, and the model checker shows how. The protocol by which idle workers sleep runs on the
// checker's memory instead of the machine's, once with a fault planted and once as it ships.

#include "event/futex_loop.hpp"
#include "model/explore.hpp"
#include "model/platform.hpp"
#include "model/world.hpp"
#include "sched/idle.hpp"
#include "tour.hpp"

#include <string>

namespace tour {
namespace {

namespace impl = weft::impl;
namespace model = weft::model;

/// The fault: the last worker to go to sleep does not look once more whether there is work.
struct no_last_look : impl::idle_rules {
  static constexpr bool last_look = false;
};

/// One worker, one item that somebody pushes, and the protocol between them.
template <class Rules>
struct office {
  impl::basic_futex_loop<model::platform> loop;
  impl::basic_event_seat<model::platform> seat{loop};
  impl::basic_idle<model::platform, 1, Rules> idle{1, 1, seat, impl::barrier_kind::asymmetric};
  model::platform::atomic<bool> item{false};

  [[nodiscard]] bool has_work() const noexcept { return item.load(std::memory_order_relaxed); }
  void deliver(impl::ready_batch& /*ready*/) const noexcept {}

  void work() {
    while (!item.load(std::memory_order_acquire)) {
      bool searches = idle.try_search(0);
      while (!(searches && has_work())) {
        (void)idle.sleep(0, impl::never, *this);
        searches = true;
      }
      idle.found_work(0);
    }
  }
  void push() {
    item.store(true, std::memory_order_release);
    (void)idle.after_push();
  }
};

template <class Rules>
void one_push(model::world& world) {
  auto& at = world.make<office<Rules>>();
  world.thread("worker", [&at] { at.work(); });
  world.thread("pusher", [&at] { at.push(); });
}

/// What happened, without where: the operations of the failing schedule, as the checker tells them.
void print_trace(const model::finding& found) {
  constexpr std::size_t most = 30;
  for (std::size_t i = 0; i < found.trace.size() && i < most; ++i) {
    std::printf("   | %.100s\n", found.trace[i].c_str());
  }
}

}  // namespace

bool show_model(const options& how) {
  heading("4. A lost wake-up, found: workers that sleep without a last look");
  model::execution checker;
  model::effort effort;
  effort.pct = how.brief ? 10'000 : 100'000;
  effort.random = effort.pct / 5;

  const model::verdict broken = model::explore(checker, one_push<no_last_look>, effort, true);
  if (!broken.found) return false;
  std::printf("   planted: found in execution %llu; the shortest schedule that shows it:\n",
              static_cast<unsigned long long>(broken.found->after));
  print_trace(*broken.found);
  const std::string schedule = model::to_text(broken.found->schedule);
  const auto again = model::replay(checker, one_push<no_last_look>, model::from_text(schedule));
  const bool same = again && again->why == broken.found->why && again->trace == broken.found->trace;
  std::printf("   schedule %s, replayed: %s\n", schedule.c_str(), same ? "the same again" : "something else");

  model::verdict sound;
  const double took =
      seconds([&] { sound = model::explore(checker, one_push<impl::idle_rules>, effort, false); });
  std::printf(
      "   as it ships: %llu schedules in %.1f s, %s, no failure\n",
      static_cast<unsigned long long>(sound.executions), took,
      sound.exhausted ? "among them all with up to two preemptions" : "not all up to two preemptions");
  return same && !sound.found && sound.exhausted;
}

}  // namespace tour
