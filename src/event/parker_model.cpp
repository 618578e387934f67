// SPDX-License-Identifier: Apache-2.0
//
// parker_model — no token is lost, whoever sleeps where; what the waker wrote is there when the sleeper wakes; and the
// sleeper may be gone a moment later.
#include "event/parker.hpp"

#include "event/futex_loop.hpp"
#include "model/model.hpp"

#include <array>

namespace weft::impl {
namespace {

using model::platform;
using model::require;

using parker = basic_parker<platform>;

struct one_sleeper {
  parker sleeper;
  platform::plain<int> data{0};
};

MODEL(ParkerModel, ATokenIsNotLost) {
  auto& s = world.make<one_sleeper>();
  world.thread("sleeper", [&s] {
    s.sleeper.park();
    require(s.data.read() == 1, "woken without what was written before");
  });
  world.thread("waker", [&s] {
    s.data.write(1);
    s.sleeper.unpark();
  });
}

MODEL(ParkerModel, ATokenForOneThatIsThereIsNotLost) {
  auto& s = world.make<one_sleeper>();
  world.thread("sleeper", [&s] {
    s.sleeper.park();
    require(s.data.read() == 1, "woken without what was written before");
  });
  world.thread("waker", [&s] {
    s.data.write(1);
    s.sleeper.call();
  });
}

// It goes, and whoever unparks it then brings it; whoever does so only if it is there is none that must.
MODEL(ParkerModel, WhoGoesIsBroughtOrStays) {
  struct state : one_sleeper {
    bool has_gone = false;
    bool is_to_be_brought = false;
  };
  auto& s = world.make<state>();
  world.thread("sleeper", [&s] { s.has_gone = s.sleeper.try_go(); });
  world.thread("waker", [&s] {
    s.data.write(1);
    s.is_to_be_brought = s.sleeper.unpark();
  });
  world.thread("nudger", [&s] { s.sleeper.call(); });
  world.finally([&s] {
    require(s.has_gone == s.is_to_be_brought, "gone, and nobody brings it; or brought, and still there");
    s.sleeper.come();
    require(s.data.read() == 1, "come without what was written before");
  });
}

MODEL(ParkerModel, TwoTokensAreAsGoodAsOne) {
  auto& s = world.make<one_sleeper>();
  world.thread("sleeper", [&s] { s.sleeper.park(); });
  for (const char* const called : {"waker", "other"}) world.thread(called, [&s] { s.sleeper.unpark(); });
  world.finally([&s] { (void)s.sleeper.park_until(time_point::min()); });
}

MODEL(ParkerModel, OneSleepIsFollowedByAnother) {
  struct state {
    parker sleeper;
    platform::atomic<int> said{0};
  };
  auto& s = world.make<state>();
  world.thread("sleeper", [&s] {
    for (int heard = 0; heard < 2;) {
      s.sleeper.park();
      heard = s.said.load(std::memory_order_acquire);
    }
  });
  world.thread("waker", [&s] {
    for (const int word : {1, 2}) {
      s.said.store(word, std::memory_order_release);
      s.sleeper.unpark();
    }
  });
}

MODEL(ParkerModel, ADeadlineAndATokenMeet) {
  auto& s = world.make<one_sleeper>();
  world.thread("sleeper", [&s] {
    if (!s.sleeper.park_until(time_point())) s.sleeper.park();  // the token comes for certain
    require(s.data.read() == 1, "woken without what was written before");
  });
  world.thread("waker", [&s] {
    s.data.write(1);
    s.sleeper.unpark();
  });
}

/// Two workers and the one seat: whoever sits, both are woken.
struct two_sleepers {
  basic_futex_loop<platform> loop;
  basic_event_seat<platform> seat{loop};
  parker first{seat};
  parker second{seat};

  void sleep(parker& mine) {
    std::array<runnable, 1> room;
    ready_batch ready(room);
    (void)mine.park_until(never, ready);
  }
};

MODEL(ParkerModel, WhoeverSitsBothAreWoken) {
  auto& s = world.make<two_sleepers>();
  world.thread("first", [&s] { s.sleep(s.first); });
  world.thread("second", [&s] { s.sleep(s.second); });
  world.thread("waker", [&s] {
    s.first.unpark();
    s.second.unpark();
  });
}

MODEL(ParkerModel, TheSeatIsHandedOn) {
  struct state : two_sleepers {
    platform::plain<int> guarded{0};  // only by who sits
  };
  auto& s = world.make<state>();
  for (const char* const called : {"one", "other"}) {
    world.thread(called, [&s] {
      if (!s.seat.try_sit()) return;
      s.guarded.write(s.guarded.read() + 1);
      s.seat.leave();
    });
  }
}

MODEL(ParkerModel, TheSleeperMayBeGoneAtOnce) {
  struct state {
    platform::atomic<parker*> sleeper{nullptr};
  };
  auto& s = world.make<state>();
  world.thread("sleeper", [&s] {
    parker mine;
    s.sleeper.store(&mine, std::memory_order_release);
    mine.park();
  });
  world.thread("waker", [&s] {
    parker* sleeper = nullptr;
    while ((sleeper = s.sleeper.load(std::memory_order_acquire)) == nullptr) platform::pause();
    sleeper->unpark();
  });
}

// The faults.

/// Sleeps on a flag that it has looked at before, without telling the kernel what it saw.
MODEL_FINDS(PlantedParkerModel, LookingAndSleepingAreTwoSteps, "nobody is left to wake them") {
  struct state {
    platform::atomic<std::uint32_t> token{0};
    platform::atomic<std::uint32_t> bed{0};
  };
  auto& s = world.make<state>();
  world.thread("sleeper", [&s] {
    while (s.token.load(std::memory_order_acquire) == 0) (void)platform::sleeper::wait(s.bed, 0, never);
  });
  world.thread("waker", [&s] {
    s.token.store(1, std::memory_order_release);
    platform::sleeper::wake_one(s.bed);
  });
}

}  // namespace
}  // namespace weft::impl
