// SPDX-License-Identifier: Apache-2.0
//
// alarm_model — somebody sleeps until the earliest deadline while others put in earlier ones: it does not oversleep.
#include "event/alarm.hpp"

#include "event/sleep_word.hpp"
#include "model/model.hpp"

#include <algorithm>
#include <array>
#include <cstdint>

namespace weft::impl {
namespace {

using model::platform;
using model::require;
using model::world;

constexpr time_point at(std::int64_t when) { return time_point(duration(when)); }

/// The wait of a loop whose deadlines are two words. It never sees a clock: it sleeps until interrupted, unless it has
/// decided to sleep no longer than until the earliest deadline there is.
template <class Rules>
struct basic_bedroom {
  basic_alarm<platform, Rules> alarm;
  basic_sleep_word<platform> word;
  std::array<platform::atomic<std::int64_t>, 2> next{100, 100};

  void put_in(std::size_t one, std::int64_t deadline) {
    next[one].store(deadline, std::memory_order_relaxed);
    if (alarm.must_interrupt(at(deadline)) && word.notify() == notify_duty::wake_word) word.wake();
  }
  /// Sleeps as often as it must, until it would wake up by itself for the deadline.
  void sleep_until_seen(std::int64_t deadline) {
    for (;;) {
      const time_point until = alarm.sit([this] {
        return at(std::min(next[0].load(std::memory_order_relaxed), next[1].load(std::memory_order_relaxed)));
      });
      if (until <= at(deadline)) break;
      require(word.sleep_until(never) != wake_token::none, "nobody has interrupted");
      alarm.rise();
    }
    alarm.rise();
  }
};

template <class Rules>
void one_earlier(world& world) {
  auto& room = world.make<basic_bedroom<Rules>>();
  world.thread("sitter", [&room] { room.sleep_until_seen(50); });
  world.thread("setter", [&room] { room.put_in(0, 50); });
}
MODEL(AlarmModel, AnEarlierDeadlineIsNotSleptThrough) { one_earlier<alarm_rules>(world); }

MODEL(AlarmModel, OfTwoTheEarlierCounts) {
  auto& room = world.make<basic_bedroom<alarm_rules>>();
  world.thread("sitter", [&room] { room.sleep_until_seen(20); });
  world.thread("first", [&room] { room.put_in(0, 50); });
  world.thread("second", [&room] { room.put_in(1, 20); });
}

/// A later deadline disturbs nobody who has looked already.
MODEL(AlarmModel, ALaterDeadlineWakesNobody) {
  auto& room = world.make<basic_bedroom<alarm_rules>>();
  (void)room.alarm.sit([] { return at(100); });
  world.thread("setter", [&room] { room.put_in(0, 100); });
  world.finally([&room] {
    require(room.word.sleep_until(time_point::min()) == wake_token::none,
            "interrupted for a deadline that changes nothing");
  });
}

struct sitter_without_fence : alarm_rules {
  static constexpr bool sitter_has_fence = false;
};
MODEL_FINDS(PlantedAlarmModel, ASitterWithoutItsFence, "nobody is left to wake") {
  one_earlier<sitter_without_fence>(world);
}
struct setter_without_fence : alarm_rules {
  static constexpr bool setter_has_fence = false;
};
MODEL_FINDS(PlantedAlarmModel, ASetterWithoutItsFence, "nobody is left to wake") {
  one_earlier<setter_without_fence>(world);
}

}  // namespace
}  // namespace weft::impl
