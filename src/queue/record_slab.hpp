// SPDX-License-Identifier: Apache-2.0
//
// record_slab — all task records of an execution context: homes to get them from, handles to find them by.
//
// A worker moves into a home, gets records there, and moves out when it retires; the home, its records and whatever
// of them is still abroad wait for the next worker. Records lie in blocks that are given back only with the slab, so
// any thread may resolve any handle, and walk over all records, while everything runs.
//
// Thread safety: any thread; a home belongs to the worker that lives in it.
// Invariants:   RS1  blocks, and the heads of the records made in them, stay until the slab is destroyed
//               RS2  a home has one tenant at a time, who sees all that the one before has left
//               RS3  the slab is destroyed last: nobody lives in its homes any more, and every record is at home
// Protocol:     README.md, "Task records"
#pragma once

#include "queue/record.hpp"
#include "queue/record_directory.hpp"
#include "queue/record_home.hpp"
#include "sys/platform.hpp"

#include <weft/result.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>

namespace weft::impl {

struct record_slab_options {
  /// Room behind the head of each record, for the closure; what is left of the last cache line is added to it. None for
  /// records that have it inside.
  std::size_t body_bytes = 0;
  /// Records in a home's first block. Each further one is twice as large, up to the most.
  std::uint32_t first_block = 64;
  std::uint32_t most_block = 4096;
  /// What records of this slab give as their slab_owner().
  void* owner = nullptr;
};

/// `Record` is the head of each record: derived from basic_record, made once, never destroyed before the slab.
template <class Platform, class Record, class Policy = record_policy>
class basic_record_slab {
 public:
  using home = basic_record_home<Platform, Record, Policy>;
  using options = record_slab_options;

  explicit basic_record_slab(const options& how = {}) noexcept
      : layout_(layout_for(how)), owner_(how.owner) {}
  basic_record_slab(const basic_record_slab&) = delete;
  basic_record_slab& operator=(const basic_record_slab&) = delete;

  /// All homes have been left, all records freed (RS3).
  ~basic_record_slab() {
    std::size_t at_home = 0;
    // relaxed: nobody else is here any more.
    for (home* each = homes_.load(std::memory_order_relaxed); each != nullptr; each = each->next_home_) {
      WEFT_CHECK(!each->occupied_.load(std::memory_order_relaxed),
                 "RS3: a slab was destroyed under a worker");
      at_home += each->spent_ + length_of(each->free_) + length_of(each->letterbox_.returned.take_all());
    }
    WEFT_CHECK(at_home == records_made(), "RS3: a slab was destroyed while records of it were in use");
    destroy_records();
    destroy_homes();
  }

  /// Moves into a home that nobody lives in, or into a new one.
  ///
  /// Returns: errc::out_of_memory, and then nothing has changed.
  [[nodiscard]] result<home*> move_in() noexcept {
    home* each = homes_.load(std::memory_order_acquire);  // [RC-homes]
    for (; each != nullptr; each = each->next_home_) {
      // relaxed: a home that has just been left is found by the next one who looks.
      if (each->occupied_.load(std::memory_order_relaxed)) continue;
      if (!each->occupied_.exchange(true, std::memory_order_acquire)) return each;  // [RC-tenant]
    }
    return build_home();
  }

  /// Moves out. Records in use may still come back: they wait in the letterbox for the next worker (RS2).
  void move_out(home& left) noexcept {
    left.flush();
    left.occupied_.store(false, std::memory_order_release);  // [RC-tenant] pairs with move_in()
  }

  /// Brings a blank record to life: from now on it can be found. By whoever holds it, when its head is filled in.
  static record_handle publish(Record& made) noexcept {
    const name live = home::name_of(made).next();
    WEFT_CHECK(live.is_live(), "H2: a record was published twice");
    made.name_.store(live.word(), Policy::publish);  // [RC-live] pairs with resolve() and for_each_live()
    return record_handle::from_word(live.word());
  }

  /// The record that a handle names, if it lives; null for a handle that is stale or was never given out.
  ///
  /// The answer was true at some moment between call and return. Who goes on to use the record must know by other
  /// means that it lives, or look at nothing but its atomics and resolve again afterwards.
  [[nodiscard]] Record* resolve(record_handle handle) const noexcept {
    const auto asked = name::from_word(handle.word());
    if (!asked.is_live()) return nullptr;
    const block* const in =
        directory_.find(static_cast<std::uint32_t>(asked.position() >> Policy::index_bits));
    const auto index = static_cast<std::uint32_t>(asked.position() & index_mask);
    if (in == nullptr || index >= in->used.load(std::memory_order_acquire)) return nullptr;  // [RC-used]
    Record& found = record_at(*in, index);
    const std::uint64_t lives = found.name_.load(std::memory_order_acquire);  // [RC-live]
    return lives == asked.word() ? &found : nullptr;
  }

  /// Calls f(const Record&, record_handle) for every record that lives. Sees each one whose publish() is ordered before
  /// the call and whose free() is not ordered before its end; of the others some.
  ///
  /// The record may die, and begin another life, while f looks at it. f looks at atomics of the head only; what they
  /// said belonged together and to that life if resolve(handle) still finds it afterwards, provided that f reads
  /// them with acquire and their writers wrote them with release.
  template <class F>
  void for_each_live(F&& f) const {
    for (std::uint32_t number = 0; const block* in = directory_.find(number); ++number) {
      const std::uint32_t used = in->used.load(std::memory_order_acquire);  // [RC-used]
      for (std::uint32_t index = 0; index < used; ++index) {
        const Record& each = record_at(*in, index);
        const auto seen = name::from_word(each.name_.load(std::memory_order_acquire));  // [RC-live]
        if (seen.is_live()) f(each, record_handle::from_word(seen.word()));
      }
    }
  }

  /// What lies behind the head of a record: bytes that live and die with it.
  [[nodiscard]] void* body_of(Record& record) const noexcept {
    return reinterpret_cast<std::byte*>(&record) + layout_.body.offset;
  }
  [[nodiscard]] std::size_t body_bytes() const noexcept { return layout_.body.bytes; }

  /// Where the records are, in numbers; for debuggers.
  struct place {
    const void* root;  // in the slab
    std::size_t root_entries;
    std::size_t leaf_entries;
    std::size_t block_records;  // in a block
    std::size_t block_used;
    std::size_t stride;
  };
  [[nodiscard]] place where() const noexcept {
    const block example(nullptr, 0, 0);
    const auto offset = [&example](const void* member) {
      return static_cast<std::size_t>(static_cast<const std::byte*>(member) -
                                      reinterpret_cast<const std::byte*>(&example));
    };
    return {.root = &directory_,
            .root_entries = std::size_t{1} << Policy::root_bits,
            .leaf_entries = std::size_t{1} << Policy::leaf_bits,
            .block_records = offset(&example.records),
            .block_used = offset(&example.used),
            .stride = layout_.stride};
  }

  /// How many records have been made so far.
  [[nodiscard]] std::size_t records_made() const noexcept {
    std::size_t sum = 0;
    for (std::uint32_t number = 0; const block* in = directory_.find(number); ++number) {
      sum += in->used.load(std::memory_order_relaxed);  // relaxed: a figure
    }
    return sum;
  }

 private:
  using name = typename Policy::name;
  using block = basic_record_block<Platform>;
  static constexpr std::uint64_t index_mask = (std::uint64_t{1} << Policy::index_bits) - 1;
  static_assert(name::position_bits >= Policy::root_bits + Policy::leaf_bits + Policy::index_bits);

  static constexpr std::size_t rounded_up(std::size_t bytes, std::size_t to) noexcept {
    return (bytes + to - 1) / to * to;
  }

  static record_layout layout_for(const options& how) noexcept {
    WEFT_CHECK(how.first_block >= 1 && how.first_block <= how.most_block && how.most_block <= index_mask + 1,
               "a block holds at least one record, and no more than its index has bits for");
    record_layout made;
    if constexpr (requires { Record::inner_body; }) {
      WEFT_CHECK(how.body_bytes == 0, "a record has its body inside or behind it");
      made.stride = rounded_up(sizeof(Record), cache_line_bytes);
      made.body = Record::inner_body;
    } else {
      made.body.offset = rounded_up(sizeof(Record), alignof(std::max_align_t));
      made.stride = rounded_up(made.body.offset + how.body_bytes, cache_line_bytes);
      made.body.bytes = made.stride - made.body.offset;
    }
    made.first_block = how.first_block;
    made.most_block = how.most_block;
    return made;
  }

  [[nodiscard]] Record& record_at(const block& in, std::uint32_t index) const noexcept {
    return *std::launder(reinterpret_cast<Record*>(in.records.read() + index * layout_.stride));
  }

  [[nodiscard]] result<home*> build_home() noexcept {
    void* const memory = Platform::allocate(sizeof(home), alignof(home));
    if (memory == nullptr) return errc::out_of_memory;
    // relaxed: numbers only spread homes over the places of an outbox.
    const std::uint32_t number = home_count_.fetch_add(1, std::memory_order_relaxed);
    home* const built = new (memory) home(directory_, layout_, number, owner_);
    // relaxed, here and on failure: homes are only added, and the others are not looked at.
    home* first = homes_.load(std::memory_order_relaxed);
    do {
      built->next_home_ = first;
      // [RC-homes] pairs with move_in(): who finds the home finds it built, and those behind it.
    } while (
        !homes_.compare_exchange_weak(first, built, std::memory_order_release, std::memory_order_relaxed));
    return built;
  }

  [[nodiscard]] static std::size_t length_of(runnable chain) noexcept {
    std::size_t length = 0;
    for (; chain; chain = run_link<Platform>::of(chain).next.read()) ++length;
    return length;
  }

  void destroy_records() noexcept {
    for (std::uint32_t number = 0; block* in = directory_.find(number); ++number) {
      const std::uint32_t used = in->used.load(std::memory_order_relaxed);
      for (std::uint32_t index = 0; index < used; ++index) record_at(*in, index).~Record();
      const std::size_t bytes = in->bytes;
#if WEFT_ADDRESS_SANITIZER
      __asan_unpoison_memory_region(in, bytes);
#endif
      in->~block();
      Platform::deallocate(in, bytes, cache_line_bytes);
    }
  }

  void destroy_homes() noexcept {
    home* each = homes_.load(std::memory_order_relaxed);
    while (each != nullptr) {
      home* const next = each->next_home_;
      each->~home();
      Platform::deallocate(each, sizeof(home), alignof(home));
      each = next;
    }
  }

  const record_layout layout_;
  void* const owner_;
  typename home::directory directory_;
  typename Platform::template atomic<home*> homes_{nullptr};  // a list that only grows
  typename Platform::template atomic<std::uint32_t> home_count_{0};
};

}  // namespace weft::impl
