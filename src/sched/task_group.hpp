// SPDX-License-Identifier: Apache-2.0
//
// task_group — how many of a nursery's children are alive, and who waits for the last of them.
//
// One word counts. Children that the owner begins cost it nothing: it counts them in a variable of its own, and until it
// waits the word is so large that it cannot come to zero. When it waits, it puts both together; from then on whoever takes
// the word to zero is the last, and ends the group. Workers count the ends of children in bundles (worker::count_out), so
// that a child does not cost a read-modify-write either.
//
//     open_ = not_yet_closed          - ends                 + what others began         while the owner has not closed
//     open_ = what the owner began    - ends                 + what others began         afterwards
//
// Thread safety: as the functions say. Nobody but children that are alive, and the owner before close(), begins any.
// Invariants:   TG1  after close() open_ is the number of children whose end was not counted
//               TG2  the group is ended exactly once: by close(), or by whoever counts the last end
//               TG3  who counts ends touches nothing of the group afterwards, but the last, who ends it, and then nothing
#pragma once

#include "base/cache_line.hpp"
#include "sched/cancel_flag.hpp"
#include "sched/handle_word.hpp"
#include "sys/platform.hpp"

#include <weft/detail/assert.hpp>

#include <cstdint>

namespace weft::impl {

/// What makes the protocol hold. A test that wants to see it break derives from this and changes one line.
struct task_group_rules {
  // [TG-end] Whoever counts the last end has seen what all children did, and so has the owner if it comes last.
  static constexpr std::memory_order count = std::memory_order_acq_rel;
  static constexpr std::memory_order close = std::memory_order_acquire;
};

template <class Platform, class Waiter, class Rules = task_group_rules>
class basic_task_group {
 public:
  using end_word = basic_handle_word<Platform, Waiter>;
  using ending = typename end_word::ending;

  // -- Who begins children ------------------------------------------------------------------------------------------

  /// The owner begins one.
  void begin_by_owner() noexcept { ++begun_; }
  /// A child begins one, or anybody for whom the owner keeps the group open.
  void begin_by_other() noexcept {
    open_.fetch_add(1, std::memory_order_relaxed);  // relaxed: who begins is counted itself
  }

  /// The owner begins no more. Returns true if all have ended: then the group is ended, and wait_word() must not be used.
  [[nodiscard]] bool close() noexcept {
    const std::uint64_t others = open_.fetch_add(begun_ - not_yet_closed, Rules::close);  // [TG-end]
    return others + begun_ - not_yet_closed == 0;
  }

  // -- Children -----------------------------------------------------------------------------------------------------

  /// So many children have ended. Returns whether the group has ended with them; then end() must be called.
  [[nodiscard]] bool count_out(std::uint64_t ended) noexcept {
    const std::uint64_t before = open_.fetch_sub(ended, Rules::count);  // [TG-end]
    WEFT_ASSERT(before >= ended, "TG1: more children ended than were begun");
    return before == ended;
  }
  /// Ends the group. Unless there is somebody to wake, it may be gone afterwards.
  [[nodiscard]] ending end() noexcept { return end_.finish(); }

  // -- Waiting for the end ------------------------------------------------------------------------------------------

  [[nodiscard]] end_word& wait_word() noexcept { return end_; }

  basic_cancel_flag<Platform> cancel;  // for all children

 private:
  static constexpr std::uint64_t not_yet_closed = std::uint64_t{1} << 62U;

  typename Platform::template atomic<std::uint64_t> open_{not_yet_closed};
  end_word end_;
  // The owner's own, and written with each child; away from what each child reads.
  alignas(cache_line_bytes) std::uint64_t begun_ = 0;
};

}  // namespace weft::impl
