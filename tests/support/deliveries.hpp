// SPDX-License-Identifier: Apache-2.0
//
// deliveries — a storm's account of items that must each arrive exactly once, with all that was written before.
//
// The account is plain memory. An item that two take is two unsynchronised writes to one entry (ThreadSanitizer sees
// that), and a count of two at the end (every build sees that).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <ostream>
#include <vector>

namespace weft::testing {

class deliveries {
 public:
  /// What an item points to.
  struct alignas(8) entry {
    std::uint64_t prepared = 0;  // written before the item is pushed, read by whoever takes it
    std::uint32_t taken = 0;     // written by whoever takes it
  };

  explicit deliveries(std::size_t items) : entries_(items) {}

  /// The entry of an item that is about to be pushed.
  [[nodiscard]] entry* issue(std::uint64_t id) {
    entries_[id].prepared = prepared(id);
    return &entries_[id];
  }

  /// Notes that an item has arrived.
  ///
  /// Thread safety: any thread that has taken the item; that is what is being tested.
  void take(entry* at) {
    const auto id = static_cast<std::uint64_t>(at - entries_.data());
    if (id >= entries_.size() || at->prepared != prepared(id)) {
      unseen_.fetch_add(1, std::memory_order_relaxed);
    } else {
      ++at->taken;
    }
  }

  /// Notes that something has arrived that nobody pushed.
  void torn() { torn_.fetch_add(1, std::memory_order_relaxed); }

  /// What went wrong; all zero if every item was taken exactly once.
  struct verdict {
    std::uint64_t torn = 0;    // came out in pieces
    std::uint64_t unseen = 0;  // what was written before the push was not there
    std::uint64_t lost = 0;
    std::uint64_t doubled = 0;

    friend bool operator==(const verdict&, const verdict&) = default;
    friend std::ostream& operator<<(std::ostream& out, const verdict& v) {
      return out << v.torn << " torn, " << v.unseen << " unseen, " << v.lost << " lost, " << v.doubled
                 << " doubled";
    }
  };

  [[nodiscard]] verdict judge() const {
    verdict all{torn_.load(), unseen_.load()};
    for (const entry& each : entries_) {
      all.lost += each.taken == 0 ? 1 : 0;
      all.doubled += each.taken > 1 ? 1 : 0;
    }
    return all;
  }

  [[nodiscard]] std::size_t size() const { return entries_.size(); }
  [[nodiscard]] const entry* begin() const { return entries_.data(); }

 private:
  [[nodiscard]] static std::uint64_t prepared(std::uint64_t id) { return id * 3 + 1; }

  std::vector<entry> entries_;
  std::atomic<std::uint64_t> torn_{0};
  std::atomic<std::uint64_t> unseen_{0};
};

}  // namespace weft::testing
