// SPDX-License-Identifier: Apache-2.0
//
// task — the record of one task: what it runs, who it is, how it waits, how it ends.
//
// Everything that belongs to a task and not to the stack it happens to stand on is here. The record is all that a task
// costs until it waits for the first time; then the stack becomes its own as well (sched/fiber.hpp). Its closure, and
// later its result, lie in the middle of it: what a task needs that never waits comes first, so that one with a small
// closure touches a single cache line.
//
// Thread safety: as each field says. A record stays readable after its task has ended, for as long as its pool lives.
// Invariants:   TA1  a task is in at most one queue, on at most one stack, and runs on at most one worker
//               TA2  what lies behind the body is touched only for a task that waits, or where a mark says so
#pragma once

#include "arch/attributes.hpp"
#include "base/cache_line.hpp"
#include "base/source_site.hpp"
#include "event/parker.hpp"
#include "event/timer_wheel.hpp"
#include "queue/record.hpp"
#include "sched/belongings.hpp"
#include "sched/cancel_flag.hpp"
#include "sched/claim_word.hpp"
#include "sched/context_table.hpp"
#include "sched/handle_word.hpp"
#include "sched/route.hpp"
#include "sched/task_extras.hpp"
#include "sched/wait_note.hpp"

#include <weft/detail/join_arm.hpp>
#include <weft/detail/task_access.hpp>
#include <weft/detail/task_code.hpp>
#include <weft/spawn_options.hpp>
#include <weft/task_info.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

namespace weft::impl {

struct fiber;
struct task;
class commons;
class pool;

using detail::packed_site;
using detail::task_code;
using detail::task_outcome;

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

/// What few tasks have or are.
enum class task_mark : std::uint8_t {
  main = 1,         ///< the first that came from outside
  has_context = 2,  ///< `context` is good
  has_extras = 4,   ///< `extras` is
  own_stack = 8,    ///< it begins on a stack that its extras say
  measured = 16,    ///< it is to be found out how deep it goes
  wrapped = 32,     ///< it belongs to a context whose tasks another one runs
};

struct task : basic_record<default_platform> {
  static constexpr record_body inner_body{.offset = detail::task_body_offset,
                                          .bytes = detail::task_body_bytes};

  // Written before the task is published, and not again before it has ended.
  const task_code* code = nullptr;

  basic_handle_word<default_platform, waiter_word> handle;

  std::atomic<route> way{route()};                        // whoever's it is; relaxed: others only look
  cancel_flag cancel;                                     // anyone's
  std::atomic<task_outcome> outcome{task_outcome::none};  // and how far it has come
  std::atomic<std::uint8_t> marks{0};                     // relaxed: written before it is published
  std::uint8_t no_suspend = 0;  // the running task's own: how often it has forbidden itself to wait

  std::atomic<packed_site> site{packed_site()};  // relaxed: a note for those who look

  std::byte body[detail::task_body_bytes];  // its closure, then its result

  // From here on one cache line, all that others need who end its waits.
  wait_claim claim;

  // Owner only: whoever runs it, or has taken it out of a queue.
  fiber* on = nullptr;  // where it stands, while it waits or is ready to go on
  context_word context;
  std::atomic<task_extras*> extras{nullptr};  // relaxed: as marks; freed behind the pool's lock
  basic_wait_note<default_platform> note;     // what it waits for
  timer_node timer;                           // ends its wait: pending within one wait only

  /// What all tasks of its runtime share.
  [[nodiscard]] commons& all() const noexcept { return *static_cast<commons*>(slab_owner()); }
  /// The context that it belongs to. By the task, or by who holds it or has claimed its wait.
  [[nodiscard]] pool& home() const noexcept { return *find_context(goes().home()); }
  [[nodiscard]] route goes() const noexcept { return way.load(std::memory_order_relaxed); }
  void go(route by) noexcept { way.store(by, std::memory_order_relaxed); }

  [[nodiscard]] bool has(task_mark mark) const noexcept { return has_any(mark, mark); }
  [[nodiscard]] bool has_any(task_mark one, task_mark other) const noexcept {
    const int either = static_cast<std::uint8_t>(one) | static_cast<std::uint8_t>(other);
    return (marks.load(std::memory_order_relaxed) & either) != 0;
  }
  /// Whether it does not just begin on the stack that the loop stands on.
  [[nodiscard]] bool begins_specially() const noexcept {
    return has_any(task_mark::own_stack, task_mark::measured);
  }
  void add(task_mark mark) noexcept {
    marks.store(marks.load(std::memory_order_relaxed) | static_cast<std::uint8_t>(mark),
                std::memory_order_relaxed);
  }
  void remove(task_mark mark) noexcept {
    const auto others = static_cast<std::uint8_t>(~static_cast<std::uint8_t>(mark));
    marks.store(marks.load(std::memory_order_relaxed) & others, std::memory_order_relaxed);
  }
  /// Whether there is anything to be freed with it.
  [[nodiscard]] bool has_belongings() const noexcept {
    return has_any(task_mark::has_extras, task_mark::has_context);
  }

  /// By the task, or who holds it.
  [[nodiscard]] task_extras& own_extras() const noexcept { return *extras.load(std::memory_order_relaxed); }
  [[nodiscard]] std::string_view name() const noexcept {
    return has(task_mark::has_extras) ? std::string_view(own_extras().name) : std::string_view();
  }

  /// Its number: main's is 0.
  [[nodiscard]] std::uint64_t id() const noexcept {
    return has(task_mark::main) ? 0 : basic_record::handle().word();
  }

  /// A new task in this record: what it does, where it was spawned, where it goes, and what it has from the one that spawns it;
  /// null: nobody. The child of a wrapped task goes where its parent does.
  WEFT_ALWAYS_INLINE void begin_life(const task_code& does, packed_site where, route by,
                                     const task* parent) noexcept {
    code = &does;
    site.store(where, std::memory_order_relaxed);
    go(by);
    marks.store(0, std::memory_order_relaxed);
    no_suspend = 0;
    if (parent == nullptr || WEFT_LIKELY(!parent->has_any(task_mark::has_context, task_mark::wrapped)))
      return;
    if (parent->has(task_mark::wrapped)) belong_to(parent->goes().unpinned().in(priority::normal), true);
    if (parent->has(task_mark::has_context)) set_context(share_context(parent->context.get()));
  }
  /// By the task, or before it has begun: from now on it is of that context, in the lane that it has.
  void belong_to(route usual, bool is_wrapped) noexcept {
    go(goes().into(usual));
    if (is_wrapped) {
      add(task_mark::wrapped);
    } else {
      remove(task_mark::wrapped);
    }
  }

  [[nodiscard]] context_node* context_or_null() const noexcept {
    return has(task_mark::has_context) ? context.get() : nullptr;
  }
  void set_context(context_node* innermost) noexcept {
    if (WEFT_LIKELY(innermost == nullptr && !has(task_mark::has_context))) return;
    context.set(innermost);
    if (innermost != nullptr) {
      add(task_mark::has_context);
    } else {
      remove(task_mark::has_context);
    }
  }

  /// The running task's own, made when they are first needed.
  [[nodiscard]] task_extras& make_extras() {
    if (!has(task_mark::has_extras)) {
      // release: who looks at all tasks finds them made. [TA-extras]
      extras.store(new task_extras, std::memory_order_release);
      add(task_mark::has_extras);
    }
    return own_extras();
  }

  /// How far it has come. relaxed: a note for those who look, until the end of the task shows how it came out.
  void note_progress(task_outcome now) noexcept { outcome.store(now, std::memory_order_relaxed); }

  [[nodiscard]] source_site spawned_at() const noexcept { return site.load(std::memory_order_relaxed).get(); }

  /// What it is doing, or was a moment ago. By anyone.
  [[nodiscard]] task_state state_approx() const noexcept {
    switch (outcome.load(std::memory_order_relaxed)) {
      case task_outcome::none: return task_state::ready;
      case task_outcome::begun: break;
      case task_outcome::value:
      case task_outcome::error: return task_state::completed;
      case task_outcome::cancelled: return task_state::cancelled;
    }
    const wait_word wait = claim.word_approx();
    if (wait.is_claimable()) return task_state::blocked;
    return wait.is_claimed() ? task_state::ready : task_state::running;
  }

  /// Where ThreadSanitizer's knowledge passes from who spawns to the task.
  [[nodiscard]] void* spawn_edge() noexcept { return &site; }
  /// And from the last life of its record to the next.
  [[nodiscard]] void* record_edge() noexcept { return &code; }

  void note_join(wait_ticket ticket) noexcept { note.set_join(ticket); }
  void note_arm(wait_ticket ticket) noexcept { note.set_arm(ticket); }
  void note_reason(const char* reason) noexcept { note.set_reason(reason); }
  [[nodiscard]] wait_ticket join_ticket() const noexcept { return note.join_ticket(); }
  [[nodiscard]] wait_ticket arm_ticket() const noexcept { return note.arm_ticket(); }
  [[nodiscard]] const char* reason() const noexcept { return note.reason(); }

  /// The task that a timer belongs to: it is the last in its record.
  [[nodiscard]] static task& of(timer_node& timer) noexcept {
    return *reinterpret_cast<task*>(reinterpret_cast<std::byte*>(&timer) + sizeof(timer_node) -
                                    3 * cache_line_bytes);
  }

  /// As what the caller of a join waits for its arm.
  [[nodiscard]] detail::join_waiter& as_join_waiter() noexcept {
    return *reinterpret_cast<detail::join_waiter*>(this);
  }
  [[nodiscard]] static task& of(detail::join_waiter& waiter) noexcept {
    return *reinterpret_cast<task*>(&waiter);
  }
};
using task_ending = decltype(task::handle)::ending;

/// Destroys what a task has left in its body.
inline void clear_result(task& ended, task_outcome outcome) noexcept {
  if (outcome == task_outcome::value && ended.code->clear != nullptr) ended.code->clear(ended.body);
  if (!WEFT_LIKELY(outcome != task_outcome::error)) std::destroy_at(&detail::error_in(ended.body));
}

static_assert(sizeof(task) == 3 * cache_line_bytes);
// (offsetof is not for types like this one.)
static_assert(sizeof(basic_record<default_platform>) + 2 * sizeof(void*) + sizeof(route) +
                      sizeof(cancel_flag) + 3 + sizeof(packed_site) ==
                  detail::task_body_offset,
              "what comes before the body fills its place without a gap");

}  // namespace weft::impl
