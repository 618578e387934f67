// SPDX-License-Identifier: Apache-2.0
//
// census — how many tasks are alive, counted without a word that everybody writes.
//
// Each worker has a row with two numbers that only grow: how many tasks it has begun, and how many have ended on it. A
// task may end in another row than it began in; only the sums mean something. Strangers, who have no row, share one: threads that
// are no workers, and workers of other contexts. They are turned away once the door is closed to them. Then, once all are
// dead, it stays so.
//
// Why the sums can be read while they change: all that ended are added up first, then all that began. If a task's end
// was counted, so are its beginning and the beginnings of all tasks that it began, since those come before its end. Both
// only grow, and no more end than begin; so if the sums are equal, nobody was alive in between.
//
// [CE-close] A stranger counts its task, passes a light barrier, and looks whether the census is closed. Whoever closes
// it passes a heavy barrier before it adds up. Either the stranger sees that it is closed, or its task is counted.
//
// Thread safety: a worker's row by the worker; the rest by anyone.
// Invariants:   CE1  an end is counted after its beginning, in the order of happening before
//               CE2  once closed and quiet, quiet for ever
#pragma once

#include "base/cache_line.hpp"
#include "sys/platform.hpp"

#include <weft/detail/assert.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>

namespace weft::impl {

/// Whom a census turns away.
enum class turned_away : std::uint8_t {
  nobody,
  outsiders,  ///< threads that run no task of the same runtime
  strangers,  ///< all but those who have a row
};

/// What makes the protocol hold. A test that wants to see it break derives from this and changes one line.
struct census_rules {
  // [CE-end] Who counts an end counts all that was begun before it.
  static constexpr std::memory_order write_end = std::memory_order_release;
  static constexpr std::memory_order read_end = std::memory_order_acquire;
  static constexpr bool stranger_has_barrier = true;
  static constexpr bool closer_has_barrier = true;
  static constexpr bool ends_first = true;
  static constexpr bool sleeper_has_barrier = true;
  static constexpr bool last_has_barrier = true;
};

/// A worker's row.
template <class Platform, class Rules = census_rules>
class alignas(contended_bytes) basic_census_row {
 public:
  /// A task begins, by the owner of the row. Counted before anybody can run it.
  void begin() noexcept {
    advance(begun_, std::memory_order_relaxed);
  }  // relaxed: shown by its end. [CE-end]
  /// A task has ended on the owner of the row.
  void end() noexcept { advance(ended_, Rules::write_end); }

  [[nodiscard]] std::uint64_t begun() const noexcept { return begun_.load(std::memory_order_relaxed); }
  [[nodiscard]] std::uint64_t ended() const noexcept { return ended_.load(Rules::read_end); }  // [CE-end]

 private:
  using counter = typename Platform::template atomic<std::uint64_t>;

  static void advance(counter& count, std::memory_order order) noexcept {
    count.store(count.load(std::memory_order_relaxed) + 1, order);  // relaxed: the owner's own
  }

  counter begun_{0};
  counter ended_{0};
};

template <class Platform, class Rules = census_rules>
class basic_census {
 public:
  using row = basic_census_row<Platform, Rules>;

  explicit basic_census(barrier_kind barriers) noexcept : barriers_(barriers) {}

  /// A stranger begins a task: an outsider, or not. Returns how many strangers' tasks came before it; nothing if the census is closed
  /// to it: then nothing was begun.
  [[nodiscard]] std::optional<std::uint64_t> try_begin(bool is_outsider = true) noexcept {
    const std::uint64_t before = strangers_begun_.fetch_add(1, std::memory_order_relaxed);
    if constexpr (Rules::stranger_has_barrier) Platform::light_barrier(barriers_);  // [CE-close]
    if (WEFT_LIKELY(closed_to() < (is_outsider ? turned_away::outsiders : turned_away::strangers)))
      return before;
    end_as_stranger();
    return std::nullopt;
  }
  /// The same for one that a task makes which is counted here: it is never turned away.
  void begin_as_member() noexcept {
    strangers_begun_.fetch_add(
        1, std::memory_order_relaxed);  // relaxed: shown by the end of its maker. [CE-end]
  }
  /// A stranger's task has ended without a row: it was not begun after all, or has gone to another context.
  void end_as_stranger() noexcept { strangers_ended_.fetch_add(1, std::memory_order_release); }  // [CE-end]

  /// From now on those are turned away, too. Good after settle().
  void close(turned_away who) noexcept {
    const auto wanted = static_cast<std::uint32_t>(who);
    // relaxed, all: settle() orders it. By an exchange: who turns more away may come at the same time, and must not be undone.
    std::uint32_t seen = closed_.load(std::memory_order_relaxed);
    while (seen < wanted && !closed_.compare_exchange_weak(seen, wanted, std::memory_order_relaxed,
                                                           std::memory_order_relaxed)) {
    }
  }
  static void settle(barrier_kind barriers) noexcept {
    if constexpr (Rules::closer_has_barrier) Platform::heavy_barrier(barriers);  // [CE-close]
  }
  /// For one that is closed alone.
  void close() noexcept {
    close(turned_away::strangers);
    settle(barriers_);
  }
  [[nodiscard]] turned_away closed_to() const noexcept {
    return static_cast<turned_away>(closed_.load(std::memory_order_relaxed));  // relaxed: barriers order it
  }

  /// Whether nobody is alive. Exact once it is true and the census was closed before.
  template <class Rows>
  [[nodiscard]] bool is_quiet(const Rows& rows) const noexcept {
    if constexpr (!Rules::ends_first) return sum_begun(rows) == sum_ended(rows);
    const std::uint64_t ended = sum_ended(rows);
    return sum_begun(rows) == ended;
  }

  /// For a worker that goes to sleep: whether the census is closed to anyone, so that somebody may wait for the end. Then it looks
  /// whether it is quiet; of all workers, the last one for which that is so finds it. Costs a heavy barrier once it is closed.
  ///
  /// [CE-last] Either a worker that has counted an end sees that the census is closed, or whoever closes it sees the end.
  /// And of two workers that both see it closed, the one whose heavy barrier comes later sees the other's ends.
  [[nodiscard]] bool must_look() const noexcept {
    if constexpr (Rules::sleeper_has_barrier) Platform::light_barrier(barriers_);  // [CE-last]
    if (WEFT_LIKELY(closed_to() == turned_away::nobody)) return false;
    if constexpr (Rules::last_has_barrier) Platform::heavy_barrier(barriers_);  // [CE-last]
    return true;
  }
  template <class Rows>
  [[nodiscard]] bool is_last_one_out(const Rows& rows) const noexcept {
    return must_look() && is_quiet(rows);
  }

  /// All that have ended; all that have begun. For sums over several: all ends before all beginnings.
  template <class Rows>
  [[nodiscard]] std::uint64_t sum_ended(const Rows& rows) const noexcept {
    std::uint64_t sum = strangers_ended_.load(std::memory_order_acquire);  // [CE-end]
    for (const row& each : rows) sum += each.ended();
    return sum;
  }
  template <class Rows>
  [[nodiscard]] std::uint64_t sum_begun(const Rows& rows) const noexcept {
    std::uint64_t sum = strangers_begun_.load(std::memory_order_relaxed);
    for (const row& each : rows) sum += each.begun();
    return sum;
  }

 private:
  const barrier_kind barriers_;
  typename Platform::template atomic<std::uint32_t> closed_{0};
  alignas(contended_bytes) typename Platform::template atomic<std::uint64_t> strangers_begun_{0};
  typename Platform::template atomic<std::uint64_t> strangers_ended_{0};
};

}  // namespace weft::impl
