// SPDX-License-Identifier: Apache-2.0
//
// task — the record of one task: what it runs, who it is, how it waits, how it ends.
//
// Everything that belongs to a task and not to the stack it happens to stand on is here. The record is all that a task
// costs until it waits for the first time; then the stack becomes its own as well (sched/fiber.hpp). Its closure, and
// later its result, lie behind it.
//
// Thread safety: as each field says. A record stays readable after its task has ended, for as long as its pool lives.
// Invariants:   TA1  a task is in at most one queue, on at most one stack, and runs on at most one worker
//               TA2  `on` is not null exactly while the task stands on a stack
#pragma once

#include "base/source_site.hpp"
#include "event/parker.hpp"
#include "queue/record.hpp"
#include "sched/cancel_flag.hpp"
#include "sched/claim_word.hpp"
#include "sched/handle_word.hpp"

#include <weft/detail/join_arm.hpp>
#include <weft/detail/task_code.hpp>

#include <atomic>
#include <cstdint>

namespace weft::impl {

struct fiber;
struct task;
class pool;
struct task_extras;

using detail::task_code;
using detail::task_outcome;

/// What a task is doing, as anybody may see it.
enum class task_state : std::uint8_t { ready, running, blocked, completed, cancelled, budget_exhausted };

/// Somebody who waits by a handle: a task, or a thread's parker, which is marked.
class waiter_word {
 public:
  constexpr waiter_word() noexcept = default;
  explicit waiter_word(task& waiting) noexcept : word_(reinterpret_cast<std::uintptr_t>(&waiting)) {}
  explicit waiter_word(parker& thread) noexcept
      : word_(reinterpret_cast<std::uintptr_t>(&thread) | thread_mark) {}

  /// The parker of a thread; null if it is a task.
  [[nodiscard]] parker* thread() const noexcept {
    return (word_ & thread_mark) != 0 ? reinterpret_cast<parker*>(word_ & ~thread_mark) : nullptr;
  }
  [[nodiscard]] task& waiting() const noexcept { return *reinterpret_cast<task*>(word_); }

 private:
  static constexpr std::uintptr_t thread_mark = 4;
  static_assert(alignof(parker) > thread_mark);

  std::uintptr_t word_ = 0;
};

/// A place in somebody's source in one word: 48 bits for the file's name, 16 for the line (which stops counting there).
class packed_site {
 public:
  constexpr packed_site() noexcept = default;
  explicit packed_site(source_site site) noexcept
      : word_(reinterpret_cast<std::uintptr_t>(site.file) |
              std::uint64_t{site.line > 0xffff ? 0xffff : site.line} << 48U) {}

  [[nodiscard]] source_site get() const noexcept {
    return {reinterpret_cast<const char*>(word_ & 0xffff'ffff'ffffU),
            static_cast<std::uint32_t>(word_ >> 48U)};
  }

 private:
  std::uint64_t word_ = 0;
};

struct task : basic_record<default_platform> {
  // Written before the task is published, and not again before it has ended.
  const task_code* code = nullptr;

  basic_handle_word<default_platform, waiter_word> handle;
  wait_claim claim;

  // Owner only: whoever runs it, or has taken it out of a queue.
  fiber* on = nullptr;
  cancel_flag cancel;  // anyone's
  std::atomic<task_outcome> outcome{task_outcome::none};
  std::uint8_t priority = 0;
  bool is_detached = false;

  pool* home = nullptr;  // where it is made runnable
  void* context = nullptr;
  packed_site site;
  task_extras* extras = nullptr;       // what few tasks have
  std::atomic<std::uint64_t> note{0};  // what it waits for; see below
  std::uint64_t id = 0;

  /// Where ThreadSanitizer's knowledge passes from who spawns to the task.
  [[nodiscard]] void* spawn_edge() noexcept { return &id; }
  /// And from the last life of its record to the next.
  [[nodiscard]] void* record_edge() noexcept { return &code; }

  // -- What it waits for. relaxed: a note for those who look, and a hint for who ends a child (who checks its ticket). ---

  /// It waits for the end of a task by its handle: in this wait of its.
  void note_join(wait_ticket ticket) noexcept {
    note.store(join_mark | ticket.epoch, std::memory_order_relaxed);
  }
  /// It waits for something else; the text lives for ever.
  void note_reason(const char* reason) noexcept {
    note.store(reinterpret_cast<std::uintptr_t>(reason), std::memory_order_relaxed);
  }
  /// The ticket of the join it waits in; of no wait at all if it does not.
  [[nodiscard]] wait_ticket join_ticket() const noexcept {
    const std::uint64_t now = note.load(std::memory_order_relaxed);
    return {(now & join_mark) != 0 ? now & ~join_mark : ~std::uint64_t{0}};
  }
  [[nodiscard]] const char* reason() const noexcept {
    const std::uint64_t now = note.load(std::memory_order_relaxed);
    return (now & join_mark) != 0 ? "join" : reinterpret_cast<const char*>(now);
  }

  /// As what the caller of a join waits for its arm.
  [[nodiscard]] detail::join_waiter& as_join_waiter() noexcept {
    return *reinterpret_cast<detail::join_waiter*>(this);
  }
  [[nodiscard]] static task& of(detail::join_waiter& waiter) noexcept {
    return *reinterpret_cast<task*>(&waiter);
  }

 private:
  static constexpr std::uint64_t join_mark = std::uint64_t{1} << 63U;
};
using task_ending = decltype(task::handle)::ending;
static_assert(sizeof(task) == 112, "two cache lines hold the head of a task and a small closure");

}  // namespace weft::impl
