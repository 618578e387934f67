// SPDX-License-Identifier: Apache-2.0
//
// record_outbox — records that a worker has freed and that have their home elsewhere, until they are sent there.
//
// One read-modify-write on another worker's word costs more than a whole task; so records are collected per home, and
// a parcel of them is returned by one. There are a few places for parcels; a home that finds its place taken by another
// sends that parcel off first.
//
// Thread safety: none; an outbox belongs to one worker.
// Invariants:   O1  a parcel holds records of one home only, and fewer than ParcelSize
#pragma once

#include "queue/record.hpp"
#include "queue/run_batch.hpp"

#include <array>
#include <cstddef>
#include <utility>

namespace weft::impl {

template <class Platform, std::size_t Parcels, std::size_t ParcelSize>
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
    in.records.push_back(record);
    if (in.records.size() == ParcelSize) send(in);  // O1
  }

  /// Sends everything off.
  void flush() noexcept {
    for (parcel& p : parcels_) send(p);
  }

 private:
  struct parcel {
    letterbox* to = nullptr;
    basic_run_batch<Platform> records;
  };

  // The order in which records come home does not matter, so the chain goes as it is.
  static void send(parcel& sent) noexcept {
    if (!sent.records.empty()) sent.to->returned.push(std::move(sent.records));
  }

  std::array<parcel, Parcels> parcels_;
};

}  // namespace weft::impl
