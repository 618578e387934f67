// SPDX-License-Identifier: Apache-2.0
//
// deque_channel_model — the bounded ring that many send to and receive from, and the channel that is made of it and of
// deques: every value is received once, with what was written before it was sent.
#include "model/model.hpp"

#include <weft/deque_channel.hpp>

#include <array>
#include <cstdint>
#include <optional>

namespace weft::detail {
namespace {

using model::platform;
using model::require;

/// Values are numbers from 1 on; each comes with data that the sender writes and the receiver reads.
struct values {
  static constexpr std::size_t most = 6;

  [[nodiscard]] std::uint64_t write(std::uint64_t value) {
    data[value].write(static_cast<int>(value));
    return value;
  }
  void got(std::optional<std::uint64_t> value) {
    if (!value) return;
    require(*value >= 1 && *value < most, "a value that nobody sent");
    require(data[*value].read() == static_cast<int>(*value), "a value came without its data");
    require(++times[*value] == 1, "a value was received twice");
    ++received;
  }

  std::array<platform::plain<int>, most> data;
  std::array<int, most> times{};
  int sent = 0;
  int received = 0;
};

struct ring_state : values {
  mpmc_ring<std::uint64_t, platform> ring{2};

  void push(std::uint64_t value) {
    if (ring.try_push(write(value))) ++sent;
  }
  void pop() { got(ring.try_pop()); }
  void settle() {
    while (const auto left = ring.try_pop()) got(left);
    require(received == sent, "a value was lost");
  }
};

MODEL(RingModel, TwoSendersAndAReceiver) {
  auto& s = world.make<ring_state>();
  world.thread("sends", [&s] { s.push(1); });
  world.thread("other", [&s] { s.push(2); });
  world.thread("receives", [&s] {
    s.pop();
    s.pop();
  });
  world.finally([&s] { s.settle(); });
}

MODEL(RingModel, TwoReceiversAndASender) {
  auto& s = world.make<ring_state>();
  s.push(1);
  world.thread("sends", [&s] { s.push(2); });
  world.thread("receives", [&s] { s.pop(); });
  world.thread("other", [&s] { s.pop(); });
  world.finally([&s] { s.settle(); });
}

MODEL(RingModel, GoesRoundAndRound) {
  auto& s = world.make<ring_state>();
  world.thread("sends", [&s] {
    for (const std::uint64_t value : {1U, 2U, 3U, 4U}) s.push(value);
  });
  world.thread("receives", [&s] {
    s.pop();
    s.pop();
  });
  world.finally([&s] { s.settle(); });
}

MODEL(RingModel, IsFullOnlyWhenItIs) {
  struct counted : ring_state {
    platform::atomic<int> popped{0};
  };
  auto& s = world.make<counted>();
  s.push(1);
  s.push(2);
  world.thread("receives", [&s] {
    s.pop();
    s.popped.store(1, std::memory_order_release);
  });
  world.thread("sends", [&s] {
    const bool room = s.popped.load(std::memory_order_acquire) == 1;
    if (s.ring.try_push(s.write(3))) {
      ++s.sent;
    } else {
      require(!room, "full, though a value had been received");
    }
  });
  world.finally([&s] { s.settle(); });
}

struct channel_state : values {
  deque_channel<std::uint64_t, barriers::asymmetric, platform> channel{
      2, {.local_capacity = 1, .global_capacity = 2, .global_interval = 0}};

  void send(std::size_t worker, std::uint64_t value) {
    if (channel.worker_at(worker).try_send(write(value))) ++sent;
  }
  void receive(std::size_t worker) { got(channel.worker_at(worker).try_receive()); }
  void settle() {
    while (const auto left = channel.try_receive()) got(left);
    require(received == sent, "a value was lost");
  }
};

MODEL(DequeChannelModel, OverflowsToTheGlobalQueue) {
  auto& s = world.make<channel_state>();
  world.thread("sends", [&s] {
    s.send(0, 1);
    s.send(0, 2);
    s.receive(0);
  });
  world.thread("receives", [&s] { s.receive(1); });
  world.finally([&s] { s.settle(); });
}

MODEL(DequeChannelModel, StrangersSendAndHelp) {
  auto& s = world.make<channel_state>();
  world.thread("worker", [&s] {
    s.send(0, 1);
    s.receive(0);
  });
  world.thread("stranger", [&s] {
    if (s.channel.try_send(s.write(2))) ++s.sent;
    s.got(s.channel.try_receive());
  });
  world.finally([&s] { s.settle(); });
}

/// What the header advises to whoever wants to be woken: a value is seen by the sleeper's last look, or its sender sees
/// the sleeper.
template <class Fence>
void send_and_sleep(model::world& in, bool through_global_queue, Fence fence) {
  struct sleepy : channel_state {
    platform::atomic<int> asleep{0};
    bool sees_sleeper = false;
    bool gets_something = false;
  };
  auto& s = in.make<sleepy>();
  in.thread("sends", [&s, through_global_queue, fence] {
    const std::uint64_t value = s.write(1);
    s.sent += through_global_queue ? s.channel.try_send(value) : s.channel.worker_at(0).try_send(value);
    fence();
    s.sees_sleeper = s.asleep.load(std::memory_order_relaxed) != 0;
  });
  in.thread("sleeps", [&s, fence] {
    s.asleep.store(1, std::memory_order_relaxed);
    fence();
    const std::optional<std::uint64_t> last_look = s.channel.worker_at(1).try_receive();
    s.gets_something = last_look.has_value();
    s.got(last_look);
  });
  in.finally([&s] {
    require(s.sees_sleeper || s.gets_something, "a value and a sleeper missed each other");
    s.settle();
  });
}

MODEL(DequeChannelModel, ASleeperThatLooksAfterAFenceIsNotMissed) {
  send_and_sleep(world, false, [] { platform::full_fence(); });
}
MODEL(DequeChannelModel, NorByWhatGoesThroughTheGlobalQueue) {
  send_and_sleep(world, true, [] { platform::full_fence(); });
}
MODEL_FINDS(PlantedDequeChannelModel, ASleeperWithoutFences, "missed each other") {
  send_and_sleep(world, false, [] {});
}

}  // namespace
}  // namespace weft::detail
