// SPDX-License-Identifier: Apache-2.0
//
// memory — atomics, fences and barriers under the C++ memory model, as an operational machine.
//
// Each location keeps every value it ever had, in modification order. Each thread has a view: per location, the oldest
// message it may still read. A load may read any message from there on; acquiring joins the view that the
// message was released with. That gives release/acquire, coherence and relaxed atomics; README.md says how
// fences, barriers and promises fit in, and what is left out.
//
// Thread safety: none; model threads take turns.
// Invariants:   V1  a thread's view never moves backwards
//               V2  a message's released view holds the message itself
#pragma once

#include "model/oracle.hpp"
#include "model/view.hpp"

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

namespace weft::model {

/// One value of a location.
struct message {
  stamp at = 0;
  std::uint64_t value = 0;
  view released;          // what acquiring it lets the reader know
  bool follows = false;   // a read-modify-write wrote it: nothing comes between it and the one before
  bool promised = false;  // somebody has yet to make the store
};

/// What one thread knows, and what it would know after a fence.
struct thread_memory {
  thread_id id = 0;
  view current;
  view acquired;                    // what relaxed loads have read: an acquire fence makes it current
  view released;                    // what was current at the last release fence: relaxed stores carry it
  sightings before_barrier;         // what was seen at the last light barrier: what a heavy one can publish
  sightings heavy;                  // what heavy barriers of others ordered: seen at the next light barrier
  std::uint32_t operations = 0;     // how many this thread has made
  std::size_t hoistable_since = 0;  // no store may be promised to before this moment
  unsigned fresh = 0;               // so many loads more read the newest (after a pause)
  high_marks<std::uint8_t, max_locations> stale;  // how often in a row a location gave an old value
};

/// A load that a later store of another thread could have been read by.
struct promise_candidate {
  std::size_t position = 0;  // of the load among the choices
  promise what;
};

class memory {
 public:
  /// What memory asks of whoever runs it.
  struct host {
    oracle* chooses = nullptr;
    std::function<void()> infeasible;  // ends an execution that cannot happen; does not return
    std::function<void()> endless;     // fails one that stores for ever; does not return
    std::function<const thread_memory&(thread_id)> thread;
  };

  explicit memory(host around) : host_(std::move(around)) {}

  /// Forgets everything: a new execution begins.
  void clear();

  /// Whether loads that could have read a later store are noted; they are, unless told otherwise after clear().
  void seek_promises(bool on) { promised_ = !on; }

  /// A new location, with its first value written by `t`.
  [[nodiscard]] location_id add(thread_memory& t, std::uint64_t value);

  [[nodiscard]] std::uint64_t load(thread_memory& t, location_id at, std::memory_order order);
  void store(thread_memory& t, location_id at, std::uint64_t value, std::memory_order order);

  /// The first half of a read-modify-write: which message it reads. That is the newest, or one before others that its
  /// thread does not know of; then it comes between.
  [[nodiscard]] std::size_t choose_source(thread_memory& t, location_id at, std::memory_order order);
  [[nodiscard]] std::uint64_t value_of(location_id at, std::size_t which) const {
    return history_[at][which].value;
  }
  /// The second half: reads that message and writes the next one.
  void modify(thread_memory& t, location_id at, std::size_t source, std::uint64_t value,
              std::memory_order order);
  /// A compare-exchange reads some value and changes nothing, or is a read-modify-write of one that is `expected`.
  ///
  /// Returns: whether it did; if not, `expected` is what it read.
  [[nodiscard]] bool compare_exchange(thread_memory& t, location_id at, std::uint64_t& expected,
                                      std::uint64_t value, std::memory_order won, std::memory_order lost,
                                      bool weak);

  void full_fence(thread_memory& t);
  void light_barrier(thread_memory& t);
  /// The fence that a heavy barrier of somebody else makes `t` pass, at this moment.
  void remote_fence(thread_memory& t);

  /// The newest value, as the kernel sees it.
  [[nodiscard]] std::uint64_t newest(location_id at) const { return history_[at].back().value; }

  /// A thread begins or ends: it knows what the other knew, or the other learns what it knows.
  static void start(thread_memory& child, const thread_memory& parent);
  static void join(thread_memory& parent, const thread_memory& child);

  [[nodiscard]] const std::vector<promise_candidate>& candidates() const noexcept { return candidates_; }
  [[nodiscard]] bool all_promises_kept() const noexcept { return !debt_; }
  /// The thread that has yet to keep a promise; 0 for none.
  [[nodiscard]] thread_id owes() const noexcept { return debt_ ? debt_->what.by : thread_id{0}; }
  [[nodiscard]] std::size_t locations() const noexcept { return used_; }
  /// Whether the last load read an old value, or the last store went before others; for traces.
  [[nodiscard]] bool last_was_stale() const noexcept { return last_was_stale_; }

 private:
  /// Where in modification order something can go, or what it can read, the newest first.
  struct places {
    static constexpr unsigned most =
        3;  // at the end, or before one or two messages that its thread does not know of
    std::array<std::size_t, most> at{};
    unsigned count = 0;

    void add(std::size_t place) { at[count++] = place; }
  };

  struct past_load {
    std::size_t moment;
    std::size_t position;
    location_id at;
    thread_id by;
    std::uint64_t value;
  };

  struct debt {
    promise what;
    location_id at;
    std::size_t made;  // the moment
  };

  std::uint64_t read(thread_memory& t, location_id at, std::size_t which, std::memory_order order);
  void write(thread_memory& t, location_id at, std::size_t where, std::uint64_t value,
             std::memory_order order, const view* sequence);
  [[nodiscard]] std::size_t place_for(const thread_memory& t, location_id at, std::memory_order order);
  [[nodiscard]] places places_for(const thread_memory& t, location_id at, std::memory_order order) const;
  [[nodiscard]] places sources_for(const thread_memory& t, location_id at, std::memory_order order) const;
  [[nodiscard]] stamp after(const message& last) const;
  [[nodiscard]] static stamp between(const message& left, const message& right);
  [[nodiscard]] stamp floor(const thread_memory& t, location_id at, std::memory_order order) const;
  [[nodiscard]] unsigned readable(const thread_memory& t, location_id at, std::memory_order order,
                                  unsigned most) const;
  void note_staleness(thread_memory& t, location_id at, std::size_t which);
  std::size_t make_promise(const thread_memory& t, location_id at, const promise& p);
  [[nodiscard]] std::size_t promised_message() const;
  [[nodiscard]] bool keeps_promise(const thread_memory& t, location_id at, bool follows) const;
  void keep_promise(thread_memory& t, std::uint64_t value, std::memory_order order);
  void look_for_promises(const thread_memory& t, location_id at, const promise& store);
  void blocks_promises(thread_memory& t);

  host host_;
  std::vector<std::vector<message>> history_;  // per location; [0, used_) are in use
  std::size_t used_ = 0;
  sightings fenced_;     // what sequentially consistent fences have published
  sightings sc_stores_;  // the last sequentially consistent store to each location
  std::vector<past_load> loads_;
  std::vector<promise_candidate> candidates_;
  std::optional<debt> debt_;  // a promise that is not kept yet
  bool promised_ = false;     // one has been made in this execution, or none is to be
  unsigned spurious_failures_ = 0;
  std::size_t moment_ = 0;
  bool last_was_stale_ = false;
};

[[nodiscard]] constexpr bool acquires(std::memory_order o) noexcept {
  return o == std::memory_order_acquire || o == std::memory_order_acq_rel || o == std::memory_order_seq_cst;
}
[[nodiscard]] constexpr bool releases(std::memory_order o) noexcept {
  return o == std::memory_order_release || o == std::memory_order_acq_rel || o == std::memory_order_seq_cst;
}

}  // namespace weft::model
