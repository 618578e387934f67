// SPDX-License-Identifier: Apache-2.0
//
// record_home — where one worker gets task records from, and where they come back to.
//
// The worker that lives here allocates and frees by moving a pointer: no lock, no atomic read-modify-write, no system
// call, except when all records it has are in use and a block of new ones must be got. Records that it frees for
// others go into its outbox; records that others free for it come back through its letterbox, a chain at a time, and
// it takes all of them by one exchange when it has run out.
//
// Thread safety: the worker that lives here, except the letterbox.
// Invariants:   H1  every record made for this home is in one place: in use, in free_, in somebody's outbox, or in the
//                   letterbox (or is spent, N2)
//               H2  a record is handed out blank: its name is not live before publish()
#pragma once

#include "queue/record.hpp"
#include "queue/record_directory.hpp"
#include "queue/record_outbox.hpp"
#include "sys/platform.hpp"

#include <weft/detail/sanitizers.hpp>
#include <weft/result.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>

#if WEFT_ADDRESS_SANITIZER
#include <sanitizer/asan_interface.h>
#endif

namespace weft::impl {

/// What is fixed when a slab is compiled. Models take smaller figures, and names that do not tell lives apart.
struct record_policy {
  static constexpr unsigned root_bits = 8;
  static constexpr unsigned leaf_bits = 8;
  static constexpr unsigned index_bits = 12;
  /// 28 bits for the position: 268 million records. 36 for the generation: 2^35 lives of each.
  using name = basic_record_name<root_bits + leaf_bits + index_bits>;

  static constexpr std::size_t parcels = 16;       // homes an outbox collects for at a time
  static constexpr std::size_t parcel_size = 256;  // records that go home by one read-modify-write
  static constexpr std::size_t fresh_run = 16;     // records of a new block that are made at a time

  // [RC-live] A name that is live shows what was written before publish().
  static constexpr std::memory_order publish = std::memory_order_release;
  // [RC-used] Who knows of a record sees it made.
  static constexpr std::memory_order publish_made = std::memory_order_release;
};

/// How records lie in memory: the same for all homes of a slab.
struct record_layout {
  std::size_t stride = 0;  // from one record to the next
  record_body body;        // what is the closure's, in or behind it
  std::uint32_t first_block = 0;
  std::uint32_t most_block = 0;

  [[nodiscard]] std::size_t block_bytes(std::uint32_t records) const noexcept {
    return header_bytes + records * stride;
  }
  static constexpr std::size_t header_bytes = cache_line_bytes;
};

template <class Platform, class Record, class Policy>
class basic_record_home {
  static_assert(std::is_base_of_v<basic_record<Platform>, Record> && !std::is_polymorphic_v<Record>,
                "a record begins with a basic_record");
  static_assert(alignof(Record) <= cache_line_bytes, "records begin on cache lines, and on nothing larger");
  using name = typename Policy::name;
  using hint = record_hint<Record>;

 public:
  using block = basic_record_block<Platform>;
  using directory = basic_record_directory<Platform, Policy::root_bits, Policy::leaf_bits>;

  basic_record_home(directory& blocks, const record_layout& layout, std::uint32_t number,
                    void* owner) noexcept
      : letterbox_(number, owner), directory_(blocks), layout_(layout), next_block_(layout.first_block) {
    static_assert(sizeof(block) <= record_layout::header_bytes);
  }
  basic_record_home(const basic_record_home&) = delete;
  basic_record_home& operator=(const basic_record_home&) = delete;
  ~basic_record_home() = default;

  /// A blank record: nobody can find it yet. Its head is as its last user left it, its body is bytes.
  ///
  /// Returns: errc::out_of_memory, and then nothing has changed.
  [[nodiscard]] result<Record*> allocate() noexcept {
    if (!free_) {
      if (result<void> restocked = restock(); !restocked) return restocked.error();
    }
    Record& taken = record_of(free_);
    free_ = taken.next.read();
    --depth_;
    hint::follow(&taken);
    WEFT_ASSERT(!name_of(taken).is_live(), "H2: a record in use was handed out again");
    uncover_body(taken);
    return &taken;
  }

  /// Ends the life of a record of this slab, whatever its home: all its handles are stale from now on.
  void free(Record& done) noexcept {
    const name alive = name_of(done);
    WEFT_CHECK(alive.is_live(), "N1: a record was freed twice, or before it was published");
    const name dead = alive.next();
    // relaxed: whoever writes into the record next has it from us, so this is ordered before all of its next life.
    done.name_.store(dead.word(), std::memory_order_relaxed);
    cover_body(done);
    if (dead.came_round()) {
      ++spent_;  // N2: handles to its first lives may still be about
      return;
    }
    put_away(done);
  }

  /// Gives back a record that has not been published.
  void discard(Record& blank) noexcept {
    WEFT_CHECK(!name_of(blank).is_live(), "H2: a record in use was discarded");
    cover_body(blank);
    put_away(blank);
  }

  /// Sends home what lies in the outbox: before the worker sleeps, so that nobody waits for records it forgot.
  void flush() noexcept { outbox_.flush(); }

 private:
  template <class, class, class>
  friend class basic_record_slab;

  [[nodiscard]] static Record& record_of(runnable word) noexcept {
    return *static_cast<Record*>(word.address());
  }
  [[nodiscard]] static runnable word_of(Record& record) noexcept {
    return {runnable::kind::task, static_cast<run_link<Platform>*>(&record)};
  }
  [[nodiscard]] static name name_of(const Record& record) noexcept {
    // relaxed: for whoever holds the record, and nobody else changes its name.
    return name::from_word(record.name_.load(std::memory_order_relaxed));
  }

  // The list is a stack, and what lies at which depth of it is remembered for the last few: a record is told what will be
  // handed out a few after it.
  void tell_ahead(Record& added) noexcept {
    ++depth_;
    hint::write(&added, recent_[(depth_ - hint::distance) % recent_.size()]);
    recent_[depth_ % recent_.size()] = &added;
  }

  void put_away(Record& unused) noexcept {
    if (letterbox& home = *unused.home_.read(); WEFT_LIKELY(&home == &letterbox_)) {
      tell_ahead(unused);
      unused.next.write(free_);
      free_ = word_of(unused);
    } else {
      outbox_.post(home, word_of(unused));
    }
  }

  // Finds records for an empty free_: those that have come home, then new ones.
  [[gnu::noinline]] result<void> restock() noexcept {
    free_ = letterbox_.returned.take_all();
    if (free_) return {};
    if (used_ == capacity_) {
      if (result<void> grown = grow(); !grown) return grown;
    }
    make_run();
    return {};
  }

  // Makes the next few records of the newest block, so that memory is touched when it is needed and not before.
  void make_run() noexcept {
    const auto until =
        static_cast<std::uint32_t>(std::min<std::size_t>(used_ + Policy::fresh_run, capacity_));
    for (std::uint32_t index = until; index-- > used_;) {
      auto* const made = new (newest_->records.read() + index * layout_.stride) Record;
      WEFT_ASSERT(static_cast<void*>(made) == static_cast<run_link<Platform>*>(made),
                  "a link is not in front");
      made->home_.write(&letterbox_);
      const std::uint64_t position = (std::uint64_t{newest_number_} << Policy::index_bits) | index;
      // relaxed: shown by the store below.
      made->name_.store(name::first_of(position).word(), std::memory_order_relaxed);
      cover_body(*made);
      hint::write(made, nullptr);
      made->next.write(free_);
      free_ = word_of(*made);
    }
    used_ = until;
    newest_->used.store(until, Policy::publish_made);  // [RC-used] pairs with resolve() and for_each_live()
  }

  // Gets a block twice as large as the one before, within bounds; a smaller one where memory is short.
  result<void> grow() noexcept {
    for (std::uint32_t records = next_block_; records != 0; records /= 4) {
      const std::size_t bytes = layout_.block_bytes(records);
      void* const memory = Platform::allocate(bytes, cache_line_bytes);
      if (memory == nullptr) continue;
      auto* const first = static_cast<std::byte*>(memory) + record_layout::header_bytes;
      auto* const made = new (memory) block(first, records, bytes);
      const result<std::uint32_t> number = directory_.add(*made);
      if (!number) {
        made->~block();
        Platform::deallocate(memory, bytes, cache_line_bytes);
        return number.error();
      }
      newest_ = made;
      newest_number_ = *number;
      used_ = 0;
      capacity_ = records;
      next_block_ = std::min(records * 2, layout_.most_block);
      return {};
    }
    return errc::out_of_memory;
  }

  // AddressSanitizer does not see that a record is freed: its memory stays. So it is told. The head stays readable.
  void cover_body([[maybe_unused]] Record& record) const noexcept {
#if WEFT_ADDRESS_SANITIZER
    __asan_poison_memory_region(reinterpret_cast<std::byte*>(&record) + layout_.body.offset,
                                layout_.body.bytes);
#endif
  }
  void uncover_body([[maybe_unused]] Record& record) const noexcept {
#if WEFT_ADDRESS_SANITIZER
    __asan_unpoison_memory_region(reinterpret_cast<std::byte*>(&record) + layout_.body.offset,
                                  layout_.body.bytes);
#endif
  }

  using letterbox = basic_letterbox<Platform>;

  // Anybody's.
  letterbox letterbox_;
  // Whether a worker lives here; written by those who move in and out.
  typename Platform::template atomic<bool> occupied_{true};
  basic_record_home* next_home_ = nullptr;  // immutable once the home is in the slab's list

  // Immutable.
  directory& directory_;
  const record_layout layout_;

  // The worker's own.
  runnable free_;            // records to hand out, newest first
  block* newest_ = nullptr;  // the only block with records not yet made
  std::uint32_t newest_number_ = 0;
  std::uint32_t used_ = 0;      // as newest_->used
  std::uint32_t capacity_ = 0;  // as newest_->capacity
  std::uint32_t next_block_;    // how many records the next block gets
  std::uint64_t spent_ = 0;     // records that are not used again (N2)
  std::uint32_t depth_ = 0;     // of free_, counted from anywhere
  std::array<void*, 2 * hint::distance> recent_{};
  basic_record_outbox<Platform, Record, Policy::parcels, Policy::parcel_size> outbox_;
};

}  // namespace weft::impl
