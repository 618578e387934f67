// SPDX-License-Identifier: Apache-2.0
//
// event_loop — what an idle worker waits in: the one interface behind which timers, sockets and files become ready.
//
// A backend is a file of its own that derives from event_loop. It knows no workers and decides nothing: it hands
// back runnables, and whoever waited sees to them. Whatever can end the idleness of a worker comes in through here, so
// there is no second way to sleep; the workers for whom there is no room (event/seat.hpp) sleep on their own word
// and are woken by other workers only.
//
// Thread safety: interrupt() by any thread; wait() and poll() by one thread at a time, whoever holds the seat.
#pragma once

#include "base/clock.hpp"
#include "base/runnable.hpp"

#include <weft/detail/assert.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

namespace weft::impl {

/// What has become ready, in room that the caller lends. A backend keeps to itself what does not fit, for the next time.
class ready_batch {
 public:
  explicit ready_batch(std::span<runnable> room) noexcept : room_(room) {}

  [[nodiscard]] bool empty() const noexcept { return count_ == 0; }
  [[nodiscard]] bool full() const noexcept { return count_ == room_.size(); }
  [[nodiscard]] std::size_t size() const noexcept { return count_; }
  [[nodiscard]] std::size_t room_left() const noexcept { return room_.size() - count_; }

  void push(runnable ready) noexcept {
    WEFT_CHECK(!full(), "a backend hands out more than it was given room for");
    room_[count_++] = ready;
  }

  [[nodiscard]] const runnable* begin() const noexcept { return room_.data(); }
  [[nodiscard]] const runnable* end() const noexcept { return room_.data() + count_; }

 private:
  std::span<runnable> room_;
  std::size_t count_ = 0;
};

/// How a wait in the event loop ended.
enum class loop_end : std::uint8_t {
  ready,        ///< there is something in the batch
  interrupted,  ///< by interrupt(), or for no reason
  deadline,     ///< the deadline has passed
};

class event_loop {
 public:
  event_loop() noexcept = default;
  event_loop(const event_loop&) = delete;
  event_loop& operator=(const event_loop&) = delete;
  virtual ~event_loop() = default;

  /// Sleeps until something is ready, the deadline has passed, or somebody interrupts. The batch has room.
  [[nodiscard]] virtual loop_end wait(time_point deadline, ready_batch& ready) noexcept = 0;

  /// Hands out what is ready now, and never sleeps. The batch has room.
  virtual void poll(ready_batch& ready) noexcept = 0;

  /// Ends the wait that is going on or, where none is, the next one. One is kept, not more.
  ///
  /// Ordering:  what was done before is visible to whoever's wait it ends.
  virtual void interrupt() noexcept = 0;
};

}  // namespace weft::impl
