// SPDX-License-Identifier: Apache-2.0
//
// record_outbox — records that a worker has freed and that have their home elsewhere, until they are sent there.
//
// One read-modify-write on another worker's word costs more than a whole task; so records are collected per home, and
// a parcel of them is returned by one. There are a few places for parcels; a home that finds its place taken by another
// sends that parcel off first.
//
// A chain of records that come from another processor's cache would be followed at the price of a cache miss for each. So
// each tells its receiver which one comes eight later (a hint), and the first of a parcel also names the seven between, to be
// fetched ahead of time.
//
// Thread safety: none; an outbox belongs to one worker.
// Invariants:   O1  a parcel holds records of one home only, and fewer than ParcelSize
#pragma once

#include "base/prefetch.hpp"
#include "queue/record.hpp"
#include "queue/run_batch.hpp"

#include <weft/detail/sanitizers.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

namespace weft::impl {

/// Hints, in the body of a record while it is in nobody's use. There are none for records without a body inside, and none under
/// AddressSanitizer, which watches over bodies that are in nobody's use, or ThreadSanitizer, which is told that a life of a record is
/// over only when the next begins.
template <class Record>
class record_hint {
 public:
  static constexpr std::size_t distance = 8;

  /// `record` will be followed by `later`, `distance` records on; null: that is not known.
  static void write(void* record, const void* later) noexcept { put(record, 0, word_of(later)); }
  /// The same for the first of a parcel.
  static void write_as_first(void* record, const void* later) noexcept {
    put(record, 0, word_of(later) | first_mark);
  }
  /// `first`, the first of a parcel, will be followed by `later`, i records on, i < distance.
  static void write_between(void* first, std::size_t i, const void* later) noexcept {
    put(first, i, word_of(later));
  }

  /// Fetches, for writing, what will be wanted in a while. A hint that is out of date costs nothing much.
  static void follow(const void* record) noexcept {
    if constexpr (exists) {
      const std::uintptr_t hint = get(record, 0);
      prefetch_beginning_for_writing(reinterpret_cast<const void*>(hint));
      if (!WEFT_LIKELY((hint & first_mark) == 0)) follow_first(record);
    }
  }

 private:
  static constexpr bool is_watched = WEFT_ADDRESS_SANITIZER + WEFT_THREAD_SANITIZER != 0;
  static constexpr bool exists = requires { Record::inner_body; }
  &&!is_watched;
  static constexpr std::uintptr_t first_mark = 1;

  static std::uintptr_t word_of(const void* record) noexcept {
    return reinterpret_cast<std::uintptr_t>(record);
  }
  static void follow_first(const void* record) noexcept {
    for (std::size_t i = 1; i < distance; ++i)
      prefetch_beginning_for_writing(reinterpret_cast<const void*>(get(record, i)));
  }

  static void put([[maybe_unused]] void* record, [[maybe_unused]] std::size_t i,
                  [[maybe_unused]] std::uintptr_t word) noexcept {
    if constexpr (exists) {
      static_assert(Record::inner_body.bytes >= distance * sizeof word);
      std::memcpy(static_cast<std::byte*>(record) + Record::inner_body.offset + i * sizeof word, &word,
                  sizeof word);
    }
  }
  static std::uintptr_t get(const void* record, std::size_t i) noexcept {
    std::uintptr_t word = 0;
    std::memcpy(&word, static_cast<const std::byte*>(record) + Record::inner_body.offset + i * sizeof word,
                sizeof word);
    return word;
  }
};

template <class Platform, class Record, std::size_t Parcels, std::size_t ParcelSize>
class basic_record_outbox {
 public:
  using letterbox = basic_letterbox<Platform>;

  /// Takes a record that is to go to `home`, and sends a parcel off if one is full.
  void post(letterbox& home, runnable record) noexcept {
    parcel& in = parcels_[home.home_number % Parcels];
    if (in.to != &home) {
      send(in);
      in.to = &home;
    }
    in.tell_ahead(record.address());
    in.records.push_back(record);
    if (in.records.size() == ParcelSize) send(in);  // O1
  }

  /// Sends everything off.
  void flush() noexcept {
    for (parcel& p : parcels_) send(p);
  }

 private:
  using hint = record_hint<Record>;

  struct parcel {
    // Only within the parcel: one that is sent belongs to its receiver.
    void tell_ahead(void* next) noexcept {
      const std::size_t at = records.size();
      void*& before = recent[at % hint::distance];
      if (at == 0) {
        first = next;
        hint::write_as_first(next, nullptr);
      } else {
        if (at < hint::distance) hint::write_between(first, at, next);
        if (at == hint::distance) hint::write_as_first(first, next);
        if (at > hint::distance) hint::write(before, next);
        hint::write(next, nullptr);
      }
      before = next;
    }

    void* first = nullptr;
    letterbox* to = nullptr;
    basic_run_batch<Platform> records;
    std::array<void*, hint::distance> recent{};
  };

  // The order in which records come home does not matter, so the chain goes as it is.
  static void send(parcel& sent) noexcept {
    if (!sent.records.empty()) sent.to->returned.push(std::move(sent.records));
  }

  std::array<parcel, Parcels> parcels_;
};

}  // namespace weft::impl
