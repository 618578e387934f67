// SPDX-License-Identifier: Apache-2.0
//
// runnable — the one kind of thing that every queue in weft holds: a word that says what is to run next.
//
// A pointer whose low bits say what it points to. Queues pass words on and never look behind them: what a word
// points to may live in another thread's frame, and may be touched only by whoever has taken the word out.
//
// Thread safety: as for any value.
// Invariants:   R1  the address is a multiple of 8, so that the kind fits into its low bits
#pragma once

#include <weft/detail/assert.hpp>

#include <atomic>
#include <cstdint>

namespace weft::detail {

class runnable {
 public:
  /// What the address is the address of.
  enum class kind : std::uint8_t {
    task,        ///< a record that has not started
    fiber,       ///< a task that waited and may go on
    coroutine,   ///< a coroutine handle
    completion,  ///< something the event layer has finished
    join,        ///< the second half of a join, in its caller's frame; never given away unasked
    call,        ///< a function that goes on with a task upon another stack; in no queue
    leave,       ///< says that a worker is to let its thread go; in no queue
    probe,       ///< runs nothing: its way through a queue is measured
  };

  /// Nothing.
  constexpr runnable() noexcept = default;

  runnable(kind what, void* at) noexcept
      : word_(reinterpret_cast<std::uintptr_t>(at) | static_cast<std::uintptr_t>(what)) {
    WEFT_ASSERT((reinterpret_cast<std::uintptr_t>(at) & kind_bits) == 0, "R1: a runnable is not aligned");
  }

  /// The word as a queue keeps it; zero for nothing.
  [[nodiscard]] constexpr std::uintptr_t word() const noexcept { return word_; }
  [[nodiscard]] static constexpr runnable from_word(std::uintptr_t word) noexcept {
    runnable made;
    made.word_ = word;
    return made;
  }

  [[nodiscard]] constexpr explicit operator bool() const noexcept { return word_ != 0; }
  [[nodiscard]] constexpr kind what() const noexcept { return static_cast<kind>(word_ & kind_bits); }
  [[nodiscard]] void* address() const noexcept { return reinterpret_cast<void*>(word_ & ~kind_bits); }

  friend constexpr bool operator==(runnable, runnable) noexcept = default;

 private:
  static constexpr std::uintptr_t kind_bits = 7;

  std::uintptr_t word_ = 0;
};
static_assert(sizeof(runnable) == sizeof(void*));

/// A word of an intrusive list: the next runnable, with its kind. Most lists belong to one thread, or change hands as
/// a whole: there read() and write() are all. In the global queue the pushers of two neighbours and a taker meet at
/// one, hence it is atomic.
template <class Platform>
class run_link_word {
 public:
  /// The next one. relaxed: whoever owns the list is alone with it.
  [[nodiscard]] runnable read() const noexcept { return follow(std::memory_order_relaxed); }
  void write(runnable next) noexcept { publish(next, std::memory_order_relaxed); }

  /// The same in a list that does not belong to one thread; the order is argued where it is given.
  [[nodiscard]] runnable follow(std::memory_order order) const noexcept {
    return runnable::from_word(word_.load(order));
  }
  void publish(runnable next, std::memory_order order) noexcept { word_.store(next.word(), order); }

 private:
  typename Platform::template atomic<std::uintptr_t> word_{0};
};

/// The link by which a runnable hangs in an intrusive queue. What a queue of that kind holds begins with one.
template <class Platform>
struct run_link {
  run_link_word<Platform> next;

  /// The link of a runnable that has one.
  [[nodiscard]] static run_link& of(runnable r) noexcept { return *static_cast<run_link*>(r.address()); }
};

}  // namespace weft::detail
