// SPDX-License-Identifier: Apache-2.0
//
// idle — who of the workers searches, who sleeps, and who wakes whom.
//
// A worker that has run out of work searches, if not too many do already, and then sleeps without a time limit: an idle
// process uses no processor. Whoever pushes work looks afterwards whether somebody must be told, which costs a load. No
// push is overlooked: while a worker sleeps, no work waits, unless somebody is on the way to it. And nobody is woken
// for nothing: a push that stands alone wakes exactly one.
//
// README.md has the protocol, and why no wake-up is lost.
//
// A worker need not be there to be called: one that has no thread yet is counted as a sleeper, and whoever wakes it brings it.
//
// Thread safety: after_push(), hungry(), call(), wake_for_events(), shut_down() and the _approx looks by anyone; the rest, for worker w, by w.
// Invariants:   ID1  a worker sleeps only with its bit in the set, or with its token given; so does one that is not there
//               ID2  whoever counts a sleeper out of the word (a promise) wins a bit and wakes its worker
//               ID3  a worker that is searching is counted as such, from before it is woken until it finds work or sleeps
#pragma once

#include "base/cache_line.hpp"
#include "event/parker.hpp"
#include "sched/idle_word.hpp"
#include "sched/sleeper_set.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace weft::impl {

/// How a sleep of a worker ended. In all cases but the last it is searching now.
enum class idle_end : std::uint8_t {
  woken,     ///< somebody has work
  work,      ///< it did not fall asleep, since there was work after all
  events,    ///< the event loop had something, which was delivered
  called,    ///< by call(): there may be something for this worker alone
  deadline,  ///< the deadline has passed
  closed,    ///< shut_down() was called; nobody sleeps any more
};

// Version 14 does not know compound requirements with noexcept.
// clang-format off

/// What a worker that sleeps does in between.
template <class H>
concept idle_host = requires(H host, ready_batch& ready) {
  // Whether there is anything in a queue that any of the workers may take from: if it is for this one alone, nobody may
  // ever come for it. Plain loads are enough.
  { host.has_work() } noexcept -> std::same_as<bool>;
  // Puts what the event loop handed out into a queue that other workers take from too; without after_push().
  { host.deliver(ready) } noexcept;
};

// clang-format on

template <sleeping_platform Platform, std::size_t MaxWorkers = idle_word::most_workers,
          class Rules = idle_rules>
class basic_idle {
  static_assert(MaxWorkers <= idle_word::most_workers);

 public:
  using seat = basic_event_seat<Platform>;

  /// `most_searching` workers search of their own accord; at least one may.
  basic_idle(std::uint32_t workers, std::uint32_t most_searching, seat& shared,
             barrier_kind barriers = Platform::barriers()) noexcept
      : workers_(workers),
        most_searching_(most_searching),
        barriers_(barriers),
        slots_(make_slots(shared, std::make_index_sequence<MaxWorkers>())) {
    WEFT_CHECK(workers > 0 && workers <= MaxWorkers, "an execution context has 1 to 256 workers");
    WEFT_CHECK(most_searching > 0, "at least one worker must be allowed to search");
  }

  // -- Workers that are not there ------------------------------------------------------------------------------------

  /// How a worker is brought that was woken and is not there. Called by whoever wakes it, at most once until it has come.
  using bring_function = void (*)(void* with, std::size_t worker) noexcept;
  /// Before anything else.
  void bring_by(bring_function bring, void* with) noexcept {
    bring_ = bring;
    bring_with_ = with;
  }

  /// A worker is not there, and may not be called either: from the beginning, and after try_go(). By whoever has it alone.
  void begin_absent(std::size_t worker) noexcept {
    [[maybe_unused]] const bool gone = slots_[worker].bed.try_go();
    WEFT_ASSERT(gone, "a worker that was never there has a token");
  }
  /// From now on it is called when there is work and nobody better.
  template <idle_host Host>
  void enroll(std::size_t worker, Host& host) noexcept {
    beds_.add(worker);
    std::uint32_t seen = word_.load(std::memory_order_relaxed);
    for (;;) {
      idle_counts next = idle_word(seen).counts();
      if (next.closed) return;
      const announce_duty duty = next.template enroll<Rules>();
      // release: whoever is promised this one finds its bit. [ID-bed]
      const bool changed = word_.compare_exchange_weak(seen, idle_word(next).bits(),
                                                       std::memory_order_release, std::memory_order_relaxed);
      if (!changed) continue;
      if (duty == announce_duty::sleep || !Rules::enroller_looks) return;
      // [ID-push] In its place: see after_push().
      Platform::heavy_barrier(barriers_);
      if (host.has_work()) (void)answer_push(1);
      return;
    }
  }
  /// It is there. Not called, it is as one that runs something.
  void appear(std::size_t worker) noexcept { slots_[worker].bed.come(); }
  /// It has been brought, and searches.
  void come(std::size_t worker) noexcept {
    appear(worker);
    slots_[worker].searching.write(search::relied_on);
  }
  /// It could not be brought: what it was called for is for another to do. It cannot be called any more. By whoever tried.
  void excuse(std::size_t worker) noexcept {
    come(worker);
    leave(worker);
    (void)slots_[worker]
        .bed.try_go();  // unless all have been told that it is the end: then nobody is called any more
  }
  /// A worker that does not search goes for good, and cannot be called. Returns false if it has been called, by call(): then it is
  /// still there.
  [[nodiscard]] bool try_go(std::size_t worker) noexcept {
    WEFT_ASSERT(slots_[worker].searching.read() == search::none, "ID3: a worker that searches goes");
    if (slots_[worker].bed.try_go()) return true;
    slots_[worker].bed.come();
    return false;
  }

  // -- Whoever has work -------------------------------------------------------------------------------------------

  /// Follows every push into a queue that workers take from: sees to it that somebody comes for it.
  ///
  /// Returns: whether a searcher is hungry, and would rather be given some.
  [[nodiscard]] bool after_push(std::uint32_t items = 1) noexcept {
    // [ID-push] Either this look sees that the last searcher has gone to bed, or its last look sees the push.
    if constexpr (Rules::barrier_after_push) Platform::light_barrier(barriers_);
    const idle_word seen(word_.load(std::memory_order_relaxed));  // relaxed: the barrier orders it
    if (WEFT_LIKELY(seen.calm())) return false;
    return answer_push(items);
  }

  /// The word that after_push() looks at, for those who look by themselves (an inlined join).
  [[nodiscard]] const typename Platform::template atomic<std::uint32_t>& word() const noexcept {
    return word_;
  }

  /// Whether a searcher is hungry. For a worker between two pieces of work: one load.
  [[nodiscard]] bool hungry() const noexcept {
    return idle_word(word_.load(std::memory_order_relaxed)).hungry();  // relaxed: seen late, fed late
  }

  /// Wakes a sleeper though there is no work, so that it looks around and, finding nothing, sits down in the event loop:
  /// for sysmon, when the seat is empty because whoever left it is busy for long.
  ///
  /// Returns: false where nobody sleeps.
  bool wake_for_events() noexcept {
    if (!promise_one()) return false;
    wake_one();
    return true;
  }

  /// Calls a worker that is not there. Returns whether the caller is to bring it: otherwise it is there, or on its way.
  [[nodiscard]] bool try_call_absent(std::size_t worker) noexcept {
    if (!slots_[worker].bed.is_absent_approx() || !promise_one()) return false;
    if (beds_.try_win(worker)) return slots_[worker].bed.unpark();
    wake_one();
    return false;
  }

  /// As call(), for a worker that may have gone: then nothing happens.
  void nudge(std::size_t worker) noexcept { slots_[worker].bed.call(); }

  /// Ends the sleep of one worker, or its next: for something that nobody else may take, put where that worker looks each
  /// time that it has slept.
  ///
  /// Ordering:  what was done before is visible to the worker then.
  void call(std::size_t worker) noexcept {
    WEFT_ASSERT(!slots_[worker].bed.is_absent_approx(),
                "a worker is called for something of its own, and is not there");
    slots_[worker].bed.call();
  }

  /// Wakes everybody; nobody sleeps any more.
  ///
  /// Ordering:  what was done before is visible to whoever learns of it.
  void shut_down() noexcept {
    std::uint32_t seen = word_.load(std::memory_order_relaxed);
    for (;;) {
      idle_counts next = idle_word(seen).counts();
      next.closed = true;
      const bool changed = word_.compare_exchange_weak(seen, idle_word(next).bits(),
                                                       std::memory_order_release, std::memory_order_relaxed);
      if (changed) break;  // [ID-closed] pairs with is_shut_down() and announce()
    }
    for (std::uint32_t w = 0; w < workers_; ++w) (void)slots_[w].bed.unpark();  // who is not there stays away
  }

  [[nodiscard]] bool is_shut_down() const noexcept {
    return idle_word(word_.load(std::memory_order_acquire)).closed();  // [ID-closed]
  }

  // -- The workers ------------------------------------------------------------------------------------------------

  /// So many search of their own accord from now on. Anyone's.
  void set_most_searching(std::uint32_t most) noexcept {
    most_searching_.store(most, std::memory_order_relaxed);  // relaxed: obeyed late
  }

  /// A worker that has run out of work begins to search, unless enough do: then it goes to sleep at once.
  [[nodiscard]] bool try_search(std::size_t worker) noexcept {
    slot& mine = slots_[worker];
    WEFT_ASSERT(mine.searching.read() == search::none, "ID3: a worker that searches begins to search");
    std::uint32_t seen = word_.load(std::memory_order_relaxed);
    for (;;) {
      idle_counts next = idle_word(seen).counts();
      if (next.searching >= most_searching_.load(std::memory_order_relaxed)) return false;
      ++next.searching;
      // relaxed: a searcher relies on nobody, and is relied on by what it does when it stops.
      const bool changed = word_.compare_exchange_weak(seen, idle_word(next).bits(),
                                                       std::memory_order_relaxed, std::memory_order_relaxed);
      if (changed) break;
    }
    mine.searching.write(search::freely);
    return true;
  }

  /// A searcher has found work, and says so before it does anything else.
  void found_work(std::size_t worker) noexcept {
    stop_searching(worker, [](idle_counts& counts) { return counts.template find<Rules>(); });
  }

  /// A searcher leaves for good, as one that retires. If it was woken for something, or has got up for an event, another
  /// sleeper is woken instead.
  void leave(std::size_t worker) noexcept {
    const bool owes = slots_[worker].searching.read() == search::relied_on;
    stop_searching(worker, [owes](idle_counts& counts) {
      return owes ? counts.template leave<Rules>() : counts.template find<Rules>();
    });
  }

  /// A searcher says that it would rather be given work, or that it no longer would.
  void set_hungry(bool is) noexcept {
    // relaxed: a hint to those who have work.
    if (is) {
      word_.fetch_add(idle_word::one_hungry, std::memory_order_relaxed);
    } else {
      const idle_word before(word_.fetch_sub(idle_word::one_hungry, std::memory_order_relaxed));
      WEFT_ASSERT(before.hungry(), "a worker that was not hungry is so no longer");
    }
  }

  /// A worker that has found nothing goes to sleep, until there is something for it.
  template <idle_host Host>
  [[nodiscard]] idle_end sleep(std::size_t worker, time_point deadline, Host& host) noexcept {
    slot& mine = slots_[worker];
    beds_.add(worker);
    switch (announce(mine)) {
      case announced::closed: return idle_end::closed;
      case announced::last_look:
        // [ID-push] The other half: see after_push().
        if constexpr (Rules::barrier_before_last_look) Platform::heavy_barrier(barriers_);
        if (try_stay_up(worker, Rules::last_look && host.has_work())) return idle_end::work;
        break;
      case announced::sleep: break;
    }
    return sleep_until_woken(worker, deadline, host);
  }

  // -- For dumps and tests ----------------------------------------------------------------------------------------

  [[nodiscard]] idle_counts counts_approx() const noexcept {
    return idle_word(word_.load(std::memory_order_relaxed)).counts();  // relaxed: a snapshot
  }
  /// Whether the worker really sleeps.
  [[nodiscard]] bool is_asleep_approx(std::size_t worker) const noexcept {
    return slots_[worker].bed.is_asleep_approx();
  }
  /// How often a sleeper was woken because of work.
  [[nodiscard]] std::uint64_t wake_count() const noexcept { return wakes_.load(std::memory_order_relaxed); }

 private:
  enum class announced : std::uint8_t { sleep, last_look, closed };
  /// Whether a worker searches: of its own accord, so that whoever relies on it has left a debt; or because there was
  /// something for it, which nobody else was told of.
  enum class search : std::uint8_t { none, freely, relied_on };

  /// What belongs to one worker.
  struct alignas(contended_bytes) slot {
    explicit slot(seat& shared) noexcept : bed(shared) {}

    basic_parker<Platform> bed;                                         // anyone may unpark
    typename Platform::template plain<search> searching{search::none};  // owner only
  };

  template <std::size_t... I>
  static std::array<slot, MaxWorkers> make_slots(seat& shared,
                                                 std::index_sequence<I...> /*unused*/) noexcept {
    return {{((void)I, slot(shared))...}};
  }

  // Somebody is to be told of a push, or to be fed. Returns whether to be fed.
  [[gnu::noinline]] bool answer_push(std::uint32_t items) noexcept {
    std::uint32_t seen = word_.load(std::memory_order_relaxed);
    for (;;) {
      const idle_word now(seen);
      idle_counts next = now.counts();
      if (!next.alert()) return now.hungry();
      const push_duty duty = next.template push<Rules>(items);
      // acquire: whoever is promised is found. [ID-bed] That the push is seen is by the barriers, not by this.
      const bool changed = word_.compare_exchange_weak(seen, idle_word(next).bits(),
                                                       std::memory_order_acquire, std::memory_order_relaxed);
      if (!changed) continue;
      if (duty == push_duty::wake_one) wake_one();
      return now.hungry();
    }
  }

  template <class Step>
  void stop_searching(std::size_t worker, Step&& step) noexcept {
    slot& mine = slots_[worker];
    WEFT_ASSERT(mine.searching.read() != search::none, "ID3: a worker stops searching that does not search");
    mine.searching.write(search::none);
    std::uint32_t seen = word_.load(std::memory_order_relaxed);
    for (;;) {
      idle_counts next = idle_word(seen).counts();
      const found_duty duty = step(next);
      // acquire: whoever is promised is found. [ID-bed]
      const bool changed = word_.compare_exchange_weak(seen, idle_word(next).bits(),
                                                       std::memory_order_acquire, std::memory_order_relaxed);
      if (!changed) continue;
      if (duty == found_duty::wake_one) wake_one();
      return;
    }
  }

  // Makes good a promise: wins a sleeper and wakes it, one that does not watch the event loop if there is such a one.
  void wake_one() noexcept {
    // One that watches the event loop is better left there, and one that is not there costs a thread.
    const auto cost = [this](std::size_t worker) -> unsigned {
      const basic_parker<Platform>& bed = slots_[worker].bed;
      return bed.is_absent_approx() ? 2 : bed.is_in_loop_approx() ? 1 : 0;
    };
    const std::size_t won = beds_.win(cost);
    wakes_.fetch_add(1, std::memory_order_relaxed);  // relaxed: a statistic
    if (slots_[won].bed.unpark()) bring_(bring_with_, won);
  }

  [[nodiscard]] announced announce(slot& mine) noexcept {
    std::uint32_t seen = word_.load(std::memory_order_acquire);  // [ID-closed]
    for (;;) {
      idle_counts next = idle_word(seen).counts();
      if (next.closed) break;
      const announce_duty duty = next.template announce<Rules>(mine.searching.read() != search::none);
      // release: whoever is promised this sleeper finds its bit. [ID-bed] pairs with the acquires of that tag
      const bool changed =
          word_.compare_exchange_weak(seen, idle_word(next).bits(), std::memory_order_release,
                                      std::memory_order_acquire);  // [ID-closed]
      if (!changed) continue;
      mine.searching.write(duty == announce_duty::last_look ? search::freely : search::none);
      return duty == announce_duty::last_look ? announced::last_look : announced::sleep;
    }
    mine.searching.write(search::none);
    return announced::closed;
  }

  // The end of a last look. Returns false if the worker is to sleep.
  [[nodiscard]] bool try_stay_up(std::size_t worker, bool found) noexcept {
    std::uint32_t seen = word_.load(std::memory_order_relaxed);
    for (;;) {
      idle_counts next = idle_word(seen).counts();
      const drowsy_duty duty = next.template look<Rules>(found);
      // acquire: whoever is promised is found. [ID-bed]
      const bool changed = word_.compare_exchange_weak(seen, idle_word(next).bits(),
                                                       std::memory_order_acquire, std::memory_order_relaxed);
      if (!changed) continue;
      if (duty == drowsy_duty::leave_bed) return try_leave_bed(worker);
      slots_[worker].searching.write(search::none);
      return false;
    }
  }

  // A sleeper that has something from the event loop counts itself out. Returns false if it cannot, now.
  [[nodiscard]] bool try_rise(std::size_t worker) noexcept { return promise_one() && try_leave_bed(worker); }

  // A sleeper whose deadline has passed counts itself out. Returns false if its token is on the way: somebody has won its
  // bit, or has shut down.
  [[nodiscard]] bool rise_unless_woken(std::size_t worker) noexcept {
    while (!is_shut_down() && beds_.contains(worker)) {
      if (promise_one()) return try_leave_bed(worker);
      // As many are promised as sleep, but nobody has won our bit: not yet, or another's was won who is not counted yet,
      // and who will be soon. Either is a few steps away, of a thread that may have lost its processor.
      Platform::sleeper::yield();
    }
    return false;
  }

  // Counts one sleeper as awake: the promise to wake one, or to rise by itself. Returns false where all are promised, or
  // nobody sleeps any more.
  [[nodiscard]] bool promise_one() noexcept {
    std::uint32_t seen = word_.load(std::memory_order_relaxed);
    for (;;) {
      idle_counts next = idle_word(seen).counts();
      if (!next.try_rise()) return false;
      // acquire: whoever is promised is found. [ID-bed]
      const bool changed = word_.compare_exchange_weak(seen, idle_word(next).bits(),
                                                       std::memory_order_acquire, std::memory_order_relaxed);
      if (changed) return true;
    }
  }

  // A worker that holds a promise for itself makes it good. If somebody has won its bit, its token is on the way and with
  // it another place among the searchers; then the promise goes to another sleeper, and this worker sleeps on.
  [[nodiscard]] bool try_leave_bed(std::size_t worker) noexcept {
    const bool ours = beds_.try_remove(worker);
    slots_[worker].searching.write(ours ? search::freely : search::none);
    if (!ours) wake_one();
    return ours;
  }

  template <idle_host Host>
  [[nodiscard]] idle_end sleep_until_woken(std::size_t worker, time_point deadline, Host& host) noexcept {
    std::array<runnable, events_at_once> room;
    slot& mine = slots_[worker];
    for (;;) {
      ready_batch ready(room);
      const park_end end = mine.bed.park_until(deadline, ready);
      const auto events = static_cast<std::uint32_t>(ready.size());
      if (events > 0) {
        host.deliver(ready);
        // [ID-push] also for the one that this worker gets up for: it may take another, and somebody's last look must
        // then see this one.
        if constexpr (Rules::barrier_after_delivery) Platform::light_barrier(barriers_);
      }
      if (is_shut_down()) return idle_end::closed;

      // Whoever wakes it for work has won its bit before, and gives it another token than whoever calls it. One that is called, and whose
      // bit is won, waits for that token: else it would be given one when it is awake, or gone.
      const bool called = end == park_end::called && Rules::callers_win_no_bit &&
                          (Rules::called_awaits_winner || beds_.contains(worker));
      const bool woken = end == park_end::notified || (end == park_end::called && !called);
      const bool may_not_sleep_on = called || end == park_end::deadline;
      const bool risen = !woken && (may_not_sleep_on ? rise_unless_woken(worker) : try_rise(worker));
      if (woken || (risen && events > 0)) mine.searching.write(search::relied_on);
      // Delivered behind our back as far as others are concerned: they must be told, but for one if we got up for it.
      if (const std::uint32_t untold = risen && events > 0 ? events - 1 : events; untold > 0)
        (void)after_push(untold);
      if (woken) return idle_end::woken;
      if (risen && events > 0) return idle_end::events;
      if (risen) return called ? idle_end::called : idle_end::deadline;
      if (end == park_end::deadline)
        deadline = never;  // a token is certain; no need to look at the clock again
    }
  }

  static constexpr std::size_t events_at_once = 64;

  // Never changes.
  const std::uint32_t workers_;
  typename Platform::template atomic<std::uint32_t> most_searching_;
  const barrier_kind barriers_;
  bring_function bring_ = nullptr;
  void* bring_with_ = nullptr;

  // Read after every push, written when workers fall idle or are woken.
  alignas(contended_bytes) typename Platform::template atomic<std::uint32_t> word_{0};

  // Written with every sleep and every waking.
  alignas(contended_bytes) basic_sleeper_set<Platform, MaxWorkers> beds_;
  typename Platform::template atomic<std::uint64_t> wakes_{0};

  std::array<slot, MaxWorkers> slots_;
};

using idle = basic_idle<default_platform>;

}  // namespace weft::impl
