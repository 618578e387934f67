// SPDX-License-Identifier: Apache-2.0
//
// seat — the one place in the event loop: whoever sits in it waits there or polls; nobody else does.
//
// A worker that goes to sleep takes the seat if it is free, and sleeps on its own word otherwise. A busy worker takes
// it for the moment of a poll. README.md says why somebody sits in it whenever all workers sleep.
//
// Thread safety: any thread; loop().wait() and poll() by whoever sits.
// Invariants:   ES1  at most one sits
#pragma once

#include "event/event_loop.hpp"
#include "sys/platform.hpp"

namespace weft::impl {

template <class Platform>
class basic_event_seat {
 public:
  explicit basic_event_seat(event_loop& loop) noexcept : loop_(loop) {}

  /// Sits down, unless somebody else sits there.
  [[nodiscard]] bool try_sit() noexcept {
    if (taken_.load(std::memory_order_relaxed) != 0) return false;  // relaxed: the exchange decides
    return taken_.exchange(1, std::memory_order_acquire) == 0;      // [ES-seat]
  }

  /// Gets up.
  void leave() noexcept {
    taken_.store(
        0, std::memory_order_release);  // [ES-seat] pairs with acquire in try_sit(): what wait() left behind
  }

  /// For a worker that is busy: hands out what is ready now. Returns false if somebody else sits, and so sees to it.
  [[nodiscard]] bool try_poll(ready_batch& ready) noexcept {
    if (!try_sit()) return false;
    loop_.poll(ready);
    leave();
    return true;
  }

  /// Whether nobody sits, as far as one can tell.
  [[nodiscard]] bool is_empty_approx() const noexcept {
    return taken_.load(std::memory_order_relaxed) == 0;  // relaxed: a hint
  }

  [[nodiscard]] event_loop& loop() noexcept { return loop_; }

 private:
  event_loop& loop_;
  typename Platform::template atomic<std::uint32_t> taken_{0};
};

using event_seat = basic_event_seat<default_platform>;

}  // namespace weft::impl
