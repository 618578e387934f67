// SPDX-License-Identifier: Apache-2.0
//
// idle_absence_model — workers that are not there are called as sleepers are, and come, or pass it on.
#include "support/idle_office.hpp"

namespace weft::impl {
namespace {

using model::platform;
using model::world;
using testing::idle_end;
using testing::office;
using testing::worker_names;

enum : std::uint32_t { not_wanted, wanted, over };

/// An office whose workers have no threads at first. Whoever calls one leaves a note, at which its thread looks.
template <std::size_t Items, std::size_t Workers, class Rules>
struct empty_office : office<Items, Workers, Rules> {
  std::array<platform::atomic<std::uint32_t>, Workers> notes{};

  empty_office() {
    this->idle.bring_by(
        [](void* self, std::size_t worker) noexcept {
          static_cast<empty_office*>(self)->leave_note(worker, wanted);
        },
        this);
    for (std::size_t w = 0; w < Workers; ++w) this->idle.begin_absent(w);
  }

  void leave_note(std::size_t worker, std::uint32_t what) noexcept {
    notes[worker].store(what, std::memory_order_release);
    platform::sleeper::wake_one(notes[worker]);
  }
  void enroll(std::size_t worker) { this->idle.enroll(worker, *this); }

  /// Returns false if nobody will call any more.
  [[nodiscard]] bool await_call(std::size_t worker) {
    platform::atomic<std::uint32_t>& note = notes[worker];
    for (;;) {
      const std::uint32_t seen = note.load(std::memory_order_acquire);
      if (seen == over) return false;
      if (seen == wanted) break;
      (void)platform::sleeper::wait(note, not_wanted, never);
    }
    std::uint32_t expected = wanted;
    return note.compare_exchange_strong(expected, not_wanted, std::memory_order_acquire,
                                        std::memory_order_acquire);
  }

  bool take_one() {
    const bool took = office<Items, Workers, Rules>::take_one([](std::size_t) {});
    if (took && this->finished == Items) {
      for (std::size_t w = 0; w < Workers; ++w) leave_note(w, over);
    }
    return took;
  }

  /// What a worker does that has come, until the end. Returns false then; true if it has gone before, since it found nothing.
  [[nodiscard]] bool work_for_a_while(std::size_t worker, bool goes) {
    for (;;) {
      while (take_one()) {
      }
      if (this->idle.is_shut_down()) return false;
      if (goes && this->idle.try_go(worker)) return true;
      bool searches = this->idle.try_search(worker);
      for (;;) {
        if (searches && this->has_work()) break;
        if (this->idle.sleep(worker, never, *this) == idle_end::closed) return false;
        searches = true;
      }
      this->idle.found_work(worker);
    }
  }

  /// The thread of a worker that comes when it is called, and stays.
  void come_and_stay(std::size_t worker) {
    if (!await_call(worker)) return;
    this->idle.come(worker);
    this->idle.found_work(worker);
    (void)work_for_a_while(worker, false);
  }
  /// One that goes when it has nothing to do, and can be called again.
  void come_and_go(std::size_t worker) {
    while (await_call(worker)) {
      this->idle.come(worker);
      this->idle.found_work(worker);
      if (!work_for_a_while(worker, true)) return;
      enroll(worker);
    }
  }
  /// One for whom there is no thread, the first time.
  void cannot_come_at_first(std::size_t worker) {
    if (!await_call(worker)) return;
    this->idle.excuse(worker);
    enroll(worker);
    come_and_stay(worker);
  }
};

template <class Rules>
void enrolled_while_somebody_pushes(world& in) {
  auto& s = in.make<empty_office<1, 1, Rules>>();
  in.thread("worker", [&s] { s.come_and_stay(0); });
  in.thread("enroller", [&s] { s.enroll(0); });
  in.thread("pusher", [&s] { s.push(0); });
}

// Two are enrolled at the same time, and either counts on the other; and one that runs something takes an item away that both have seen.
void two_are_enrolled(world& in, bool one_is_robbed) {
  in.is_large(0);
  auto& s = in.make<empty_office<2, 2, idle_rules>>();
  for (std::size_t w = 0; w < 2; ++w) in.thread(worker_names[w], [&s, w] { s.come_and_stay(w); });
  in.thread("first enroller", [&s] { s.enroll(0); });
  in.thread("second enroller", [&s] { s.enroll(1); });
  in.thread("pusher", [&s, one_is_robbed] {
    s.push(0);
    if (one_is_robbed) (void)s.take_one();
    s.push(1);
  });
}

template <class Rules>
void called_again_after_it_has_gone(world& in) {
  in.is_large(2);
  auto& s = in.make<empty_office<2, 1, Rules>>();
  s.enroll(0);
  in.thread("worker", [&s] { s.come_and_go(0); });
  in.thread("pusher", [&s] {
    s.push(0);
    s.push(1);
  });
}

template <class Rules>
void one_cannot_come(world& in) {
  in.is_large(0);
  auto& s = in.make<empty_office<1, 2, Rules>>();
  s.enroll(0);
  s.enroll(1);
  in.thread("first", [&s] { s.cannot_come_at_first(0); });
  in.thread("second", [&s] { s.come_and_stay(1); });
  in.thread("pusher", [&s] { s.push(0); });
}

MODEL(IdleAbsenceModel, AWorkerIsEnrolledWhileSomebodyPushes) {
  enrolled_while_somebody_pushes<idle_rules>(world);
}
MODEL(IdleAbsenceModel, TwoAreEnrolledAtTheSameTime) { two_are_enrolled(world, false); }
MODEL(IdleAbsenceModel, TwoAreEnrolledAndWhatTheySawIsTaken) { two_are_enrolled(world, true); }
MODEL(IdleAbsenceModel, OneThatHasGoneIsCalledAgain) { called_again_after_it_has_gone<idle_rules>(world); }
MODEL(IdleAbsenceModel, OneThatCannotComePassesItOn) { one_cannot_come<idle_rules>(world); }

// One is there and asleep; the other is called beside it by resize(), while somebody pushes.
MODEL(IdleAbsenceModel, OneIsCalledByName) {
  world.is_large(0);
  auto& s = world.make<empty_office<1, 2, idle_rules>>();
  s.enroll(0);
  s.enroll(1);
  for (std::size_t w = 0; w < 2; ++w) world.thread(worker_names[w], [&s, w] { s.come_and_stay(w); });
  world.thread("caller", [&s] {
    if (s.idle.try_call_absent(1)) s.leave_note(1, wanted);
  });
  world.thread("pusher", [&s] { s.push(0); });
}

// A nudge comes to one that is about to go: it goes, or looks again.
MODEL(IdleAbsenceModel, ANudgeMeetsOneThatGoes) {
  world.is_large(2);
  auto& s = world.make<empty_office<2, 1, idle_rules>>();
  s.enroll(0);
  world.thread("worker", [&s] { s.come_and_go(0); });
  world.thread("nudger", [&s] { s.idle.nudge(0); });
  world.thread("pusher", [&s] {
    s.push(0);
    s.push(1);
  });
}

/// Two that are there. The first is told to go, and nobody brings it back: nobody has enrolled it.
template <class Rules>
struct shrinking_office : office<1, 2, Rules> {
  platform::atomic<int> must_go{0};

  shrinking_office() {
    this->idle.bring_by(
        [](void*, std::size_t) noexcept { model::require(false, "one was brought who was not enrolled"); },
        nullptr);
  }
  void tell_to_go() {
    must_go.store(1, std::memory_order_relaxed);  // relaxed: the nudge shows it
    this->idle.nudge(0);
  }
  [[nodiscard]] bool is_told() const { return must_go.load(std::memory_order_relaxed) != 0; }

  void work_until_told() {
    for (;;) {
      while (this->take_one([](std::size_t) {})) {
      }
      if (this->idle.is_shut_down() || (is_told() && this->idle.try_go(0))) return;
      bool searches = this->idle.try_search(0);
      while (!(searches && (this->has_work() || is_told()))) {
        if (this->idle.sleep(0, never, *this) == idle_end::closed) return;
        searches = true;
      }
      if (is_told()) {
        this->idle.leave(0);
      } else {
        this->idle.found_work(0);
      }
    }
  }
};

template <class Rules>
void told_to_go_while_somebody_pushes(world& in) {
  in.is_large(0);
  auto& s = in.make<shrinking_office<Rules>>();
  in.thread("first", [&s] { s.work_until_told(); });
  in.thread("second", [&s] { s.work(1); });
  in.thread("resizer", [&s] { s.tell_to_go(); });
  in.thread("pusher", [&s] { s.push(0); });
}
MODEL(IdleAbsenceModel, WhoGoesIsNotBroughtBackByALateToken) {
  told_to_go_while_somebody_pushes<idle_rules>(world);
}

struct enrolls_blindly : idle_rules {
  static constexpr bool enroller_looks = false;
};
struct mistakes_calls : idle_rules {
  static constexpr bool called_awaits_winner = false;
};
// Found in one of two ways: one was brought who was not enrolled, or one that does not search has found something.
MODEL_FINDS(PlantedIdleAbsenceModel, ACallIsMistakenForAWaking, "") {
  told_to_go_while_somebody_pushes<mistakes_calls>(world);
}
MODEL_FINDS(PlantedIdleAbsenceModel, EnrolledWithoutALook, "nobody is left to wake them") {
  enrolled_while_somebody_pushes<enrolls_blindly>(world);
}

}  // namespace
}  // namespace weft::impl
