// SPDX-License-Identifier: Apache-2.0
//
// crew — the workers of a pool: their places, and the threads of those that are there.
//
// A place is given a worker when it is first needed, and keeps it, so that others may look at any worker at any time. Its thread
// comes and goes:
//
//               list                 start, called
//     unlisted -------> listed ----------------------> there        unlisted  no thread, and cannot be called
//        ^  ^             |                              |          listed    no thread, but counted as a sleeper (sched/idle)
//        |  '-- unlist ---'                              |
//        '------------------- note_end ------------------'
//
// Thread safety: any thread.
// Invariants:   CW1  the places below size() have workers, and size() never shrinks
//               CW2  a worker has one thread at a time
//               CW3  below limit() all are listed or there, as soon as whoever has changed it, or has ended, is done; except for
//                    one for which the system had no thread
#pragma once

#include "sched/census.hpp"
#include "sched/worker.hpp"
#include "sys/platform.hpp"

#include <weft/result.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace weft::impl {

class pool;

class crew {
 public:
  /// Throws: std::bad_alloc.
  crew(pool& of, std::uint32_t capacity, std::uint32_t limit, std::uint64_t seed);
  crew(const crew&) = delete;
  crew& operator=(const crew&) = delete;
  /// After stop().
  ~crew();

  [[nodiscard]] std::uint32_t capacity() const noexcept { return static_cast<std::uint32_t>(places_.size()); }
  /// How many places have workers: whether those are there or not.
  [[nodiscard]] std::uint32_t size() const noexcept {
    return size_.load(std::memory_order_acquire);  // [CW-size]
  }
  [[nodiscard]] worker& operator[](std::size_t i) const noexcept { return *places_[i].who; }
  /// How many threads there are.
  [[nodiscard]] std::uint32_t there() const noexcept { return there_.load(std::memory_order_relaxed); }
  [[nodiscard]] const std::vector<census::row>& rows() const noexcept { return rows_; }
  /// How many workers there shall be.
  [[nodiscard]] std::uint32_t limit() const noexcept { return limit_.load(std::memory_order_relaxed); }

  /// Sees to it that a place has a worker, furnished with what it needs to run.
  [[nodiscard]] result<void> furnish(std::uint32_t i) noexcept;
  /// Starts the thread of one that was called. Fails, too, once stop() was called.
  [[nodiscard]] result<void> start_called(std::uint32_t i) noexcept;
  /// The same for one that is not listed, if it is not there; returns whether it was started.
  [[nodiscard]] result<bool> start_unlisted(std::uint32_t i) noexcept;
  /// One that was called could not come, or shall not.
  void unlist(std::uint32_t i) noexcept;
  /// Lists one that is neither there nor listed: whether it has. Then the caller enrolls it.
  [[nodiscard]] bool try_list(std::uint32_t i) noexcept;
  /// Whether it has a thread, which may have just been started.
  [[nodiscard]] bool is_there(std::uint32_t i) noexcept;
  /// Sets how many there shall be. Those beyond are told to go, as soon as they run nothing.
  void set_limit(std::uint32_t workers) noexcept;
  /// By the thread of a worker, which is none any more. Returns whether it is listed now: then it is to be enrolled.
  [[nodiscard]] bool note_end(worker& gone) noexcept;
  /// Joins threads that have ended, if any: what those have is given back while the program goes on.
  void sweep() noexcept;
  /// Asks whatever its workers run to stop; also what those run that are furnished later.
  void raise_stop() noexcept;
  /// Waits for all threads, which know that they are to end; no other can be started. What the workers have is given back.
  void stop() noexcept;

  class iterator {
   public:
    iterator(const crew& of, std::uint32_t at) noexcept : of_(&of), at_(at) {}
    worker& operator*() const noexcept { return (*of_)[at_]; }
    iterator& operator++() noexcept {
      ++at_;
      return *this;
    }
    friend bool operator==(const iterator&, const iterator&) noexcept = default;

   private:
    const crew* of_;
    std::uint32_t at_;
  };
  [[nodiscard]] iterator begin() const noexcept { return {*this, 0}; }
  [[nodiscard]] iterator end() const noexcept { return {*this, size()}; }

 private:
  enum class presence : std::uint8_t { unlisted, listed, there };
  struct place {
    std::unique_ptr<worker> who;
    default_platform::thread thread;  // may be about to end, where it is not `there`
    presence state = presence::unlisted;
  };

  [[nodiscard]] result<void> furnish_locked(std::uint32_t i) noexcept WEFT_REQUIRES(lock_);
  [[nodiscard]] result<void> start_locked(std::uint32_t i, bool was_called) noexcept WEFT_REQUIRES(lock_);
  void set_aside(default_platform::thread&& ending) noexcept WEFT_REQUIRES(lock_);
  static void run(void* raw);

  pool& pool_;
  std::vector<census::row> rows_;
  default_platform::mutex lock_;
  std::vector<place> places_;  // those below size() by anyone
  std::vector<default_platform::thread>
      leaving_;  // that are no workers any more; under the lock, or after the end
  std::atomic<std::uint32_t> size_{0};
  std::atomic<std::uint32_t> there_{0};
  std::atomic<std::uint32_t> unjoined_{
      0};                             // have ended, or will soon; relaxed: a hint; written under the lock
  std::atomic<std::uint32_t> limit_;  // relaxed: obeyed late; written under the lock
  xoshiro256ss random_ WEFT_GUARDED_BY(lock_);
  bool is_stopped_ WEFT_GUARDED_BY(lock_) = false;
  bool asks_to_stop_ WEFT_GUARDED_BY(lock_) = false;
};

}  // namespace weft::impl
