// SPDX-License-Identifier: Apache-2.0
//
// wait_note — what a task waits for, in a word: for those who look, and as a hint for who ends what it waits for.
//
// Who ends a child may come late: the wait was cancelled meanwhile, the task has found its child done and waits for
// something else. Such a guest may wake it from another wait for a child's end, which looks again and goes on waiting; but
// not from the wait for the arm of a join, which relies on being woken by that arm alone. So the note says which of its waits is
// of which kind.
//
// Thread safety: written by the task before it registers its wait anywhere; read by anyone. relaxed, all of it: what shows that
//                somebody waits also shows the note, and a ticket is checked by the claim.
#pragma once

#include "sched/claim_word.hpp"
#include "sys/platform.hpp"

#include <cstdint>

namespace weft::impl {

template <class Platform>
class basic_wait_note {
 public:
  /// It waits for the end of a task, or of a nursery: in this wait of its.
  void set_join(wait_ticket ticket) noexcept { set(join_mark | ticket.epoch); }
  /// It waits for the second half of a join.
  void set_arm(wait_ticket ticket) noexcept { set(arm_mark | ticket.epoch); }
  /// It waits for something else; the text lives for ever.
  void set_reason(const char* reason) noexcept { set(reinterpret_cast<std::uintptr_t>(reason)); }

  /// The ticket of the wait for the end of a task; of no wait at all if it waits for nothing of the kind.
  [[nodiscard]] wait_ticket join_ticket() const noexcept { return ticket_if(join_mark); }
  /// The same for the second half of a join.
  [[nodiscard]] wait_ticket arm_ticket() const noexcept { return ticket_if(arm_mark); }
  [[nodiscard]] const char* reason() const noexcept {
    const std::uint64_t now = get();
    return (now & marks) != 0 ? "join" : reinterpret_cast<const char*>(now);
  }

 private:
  static constexpr std::uint64_t join_mark = std::uint64_t{1} << 63U;
  static constexpr std::uint64_t arm_mark = std::uint64_t{1} << 62U;
  static constexpr std::uint64_t marks = join_mark | arm_mark;

  void set(std::uint64_t to) noexcept { word_.store(to, std::memory_order_relaxed); }
  [[nodiscard]] std::uint64_t get() const noexcept { return word_.load(std::memory_order_relaxed); }
  [[nodiscard]] wait_ticket ticket_if(std::uint64_t mark) const noexcept {
    const std::uint64_t now = get();
    return {(now & marks) == mark ? now & ~marks : ~std::uint64_t{0}};
  }

  typename Platform::template atomic<std::uint64_t> word_{0};
};

}  // namespace weft::impl
