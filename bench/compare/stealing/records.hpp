// SPDX-License-Identifier: Apache-2.0
//
// Task records of a worker: a stack of free ones, and magazines in which records come home from abroad.
//
// Two things make a free list of records fast when another worker frees them. The list is an array of addresses, not a
// chain through the records: so the owner can fetch those that it will need a little later, although their lines are in
// the other's cache. And it fetches them for writing (prefetchw), since a line that is fetched for reading costs
// a second trip when it is written.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <utility>
#include <vector>

namespace weft::bench::stealing {

/// Asks for a line that will be written soon. GCC makes a prefetch for reading of __builtin_prefetch(at, 1) on a plain
/// x86-64, where prefetchw is not promised; processors that do not know it take it for a nop.
inline void prefetch_for_writing(const void* at) noexcept {
#if defined(__x86_64__)
  asm volatile("prefetchw %0" : : "m"(*static_cast<const char*>(at)));
#else
  __builtin_prefetch(at, 1);
#endif
}

class record_pool;

struct alignas(64) record {
  void (*run)(record&);
  record_pool* home;
  std::uint64_t argument;
};

class record_pool {
 public:
  record_pool() = default;
  record_pool(const record_pool&) = delete;
  record_pool& operator=(const record_pool&) = delete;
  ~record_pool() {
    for (magazine* chain : {free_, full_, spare_, abroad_, returned_.load(std::memory_order_acquire)})
      drop(chain);
    for (record* block : blocks_) ::operator delete[](block, std::align_val_t{alignof(record)});
  }

  [[nodiscard]] record& get() {
    if (free_ == nullptr || free_->count == 0) restock();
    record* const* const top = &free_->records[--free_->count];
    if (free_->count >= prefetch_distance) prefetch_for_writing(top[-prefetch_distance]);
    return **top;
  }

  /// Takes back a record of this pool, or of another one's that is then `home`.
  void put(record& done, record_pool& home) {
    magazine*& into = &home == this ? free_ : abroad_;
    if (into == nullptr || into->count == magazine::capacity) renew(into, home);
    into->records[into->count++] = &done;
  }

  /// Sends home what was collected for the other pool.
  void flush(record_pool& home) {
    if (abroad_ == nullptr || abroad_->count == 0) return;
    send(*abroad_, home);
    abroad_ = nullptr;
  }

 private:
  static constexpr int prefetch_distance = 8;

  struct magazine {
    static constexpr int capacity = 126;
    magazine* next = nullptr;
    int count = 0;
    record* records[capacity];
  };

  [[nodiscard]] magazine* empty_magazine() {
    if (spare_ == nullptr) return new magazine;
    magazine* const taken = spare_;
    spare_ = taken->next;
    taken->next = nullptr;
    return taken;
  }

  // The magazine in use is full: puts it aside, or sends it home.
  [[gnu::noinline]] void renew(magazine*& used, record_pool& home) {
    if (used != nullptr && &home == this) {
      used->next = full_;
      full_ = used;
    } else if (used != nullptr) {
      send(*used, home);
    }
    used = empty_magazine();
  }

  // The magazine in use is empty: takes a full one, those that have come home, or new records.
  [[gnu::noinline]] void restock() {
    if (free_ != nullptr) {
      free_->next = spare_;
      spare_ = free_;
    }
    if (full_ == nullptr) full_ = returned_.exchange(nullptr, std::memory_order_acquire);
    if (full_ == nullptr) full_ = new_records();
    free_ = full_;
    full_ = std::exchange(free_->next, nullptr);
  }

  [[nodiscard]] magazine* new_records() {
    magazine* const made = empty_magazine();
    auto* const block = static_cast<record*>(
        ::operator new[](magazine::capacity * sizeof(record), std::align_val_t{alignof(record)}));
    blocks_.push_back(block);
    for (record*& each : made->records) each = block + (&each - made->records);
    made->count = magazine::capacity;
    return made;
  }

  static void send(magazine& sent, record_pool& home) {
    magazine* first = home.returned_.load(std::memory_order_relaxed);
    do {
      sent.next = first;
    } while (!home.returned_.compare_exchange_weak(first, &sent, std::memory_order_release,
                                                   std::memory_order_relaxed));
  }

  static void drop(magazine* chain) {
    while (chain != nullptr) delete std::exchange(chain, chain->next);
  }

  magazine* free_ = nullptr;    // in use
  magazine* full_ = nullptr;    // more of that
  magazine* spare_ = nullptr;   // empty
  magazine* abroad_ = nullptr;  // the other's records
  std::vector<record*> blocks_;
  alignas(128) std::atomic<magazine*> returned_{nullptr};
};

}  // namespace weft::bench::stealing
