// SPDX-License-Identifier: Apache-2.0
//
// caretaker_model — whatever runs while another worker tidies up is tidied up after, too.
#include "sched/caretaker.hpp"

#include "model/model.hpp"

#include <array>
#include <cstddef>
#include <utility>

namespace weft::impl {
namespace {

using model::platform;
using model::require;
using model::world;

/// A worker's duty as a whole: what it does from one sleep to the next, with deadlines that have always come.
template <class Rules>
struct house {
  basic_caretaker<platform, Rules> keeper;
  std::array<platform::atomic<int>, 2> parked{};  // fibers that have run and wait
  std::array<bool, 2> marked{};                   // and were seen to
  bool on_duty = false;                           // somebody, whoever knows

  void run_and_sleep(std::size_t fiber) {
    parked[fiber].store(1, std::memory_order_relaxed);  // relaxed: the word of the caretaker orders it
    sleep(true);
  }
  void sleep(bool has_run) {
    while (keeper.begin(std::exchange(has_run, false), time_point()) != never) {
      require(!std::exchange(on_duty, true), "CT1: two are on duty");
      on_duty = false;
      if (keeper.end(true) == chore::mark) mark();
    }
  }
  void mark() {
    for (std::size_t i = 0; i < parked.size(); ++i) {
      if (parked[i].load(std::memory_order_relaxed) != 0) marked[i] = true;
    }
  }
};

/// One comes to trim, as it was told, while the other runs something and goes to sleep.
template <class Rules>
void runs_while_another_trims(world& in) {
  auto& h = in.make<house<Rules>>();
  (void)h.keeper.begin(true, time_point());
  (void)h.keeper.end(true);  // has marked
  in.thread("trims", [&h] { h.sleep(false); });
  in.thread("runs", [&h] { h.run_and_sleep(0); });
  in.finally([&h] { require(h.marked[0], "CT2: a fiber that waits was overlooked"); });
}
MODEL(CaretakerModel, WhatRunsWhileAnotherTrimsIsMarked) { runs_while_another_trims<caretaker_rules>(world); }

MODEL(CaretakerModel, AllThatRanAreMarked) {
  auto& h = world.make<house<caretaker_rules>>();
  world.thread("runs", [&h] { h.run_and_sleep(0); });
  world.thread("runs too", [&h] { h.run_and_sleep(1); });
  world.finally([&h] { require(h.marked[0] && h.marked[1], "CT2: a fiber that waits was overlooked"); });
}

// The faults.

struct looks_and_then_writes : caretaker_rules {
  template <class Word>
  [[nodiscard]] static bool change(Word& word, std::uint32_t& seen, std::uint32_t next) noexcept {
    seen = word.load(std::memory_order_acquire);
    word.store(next, std::memory_order_release);
    return true;
  }
};
MODEL_FINDS(PlantedCaretakerModel, LookingAndWritingAreTwoSteps, "CT2") {
  runs_while_another_trims<looks_and_then_writes>(world);
}

}  // namespace
}  // namespace weft::impl
