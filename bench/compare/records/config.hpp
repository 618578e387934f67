// SPDX-License-Identifier: Apache-2.0
//
// Q3 and Q4: memory for one task, got and given back, in nanoseconds.
//
// A record has record_bytes; whoever gets one writes its first and its third cache line. Q3, one thread: variant
// `one` gets one and gives it back; `burst` gets 64 and then gives them back. Q4, two threads: one gets records and
// passes them on, the other gives them back.
#pragma once

#include "support/program.hpp"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <thread>

namespace weft::bench::records {

inline constexpr std::size_t record_bytes = 192;
inline constexpr std::size_t burst = 64;

/// Hands pointers from one thread to another, in groups, at a cost that is small and the same for all.
class passage {
 public:
  static constexpr std::size_t window = 4096;
  static constexpr std::size_t group = 64;

  void put(void* record) {
    while (sent_ - known_taken_ == window) known_taken_ = taken_.load(std::memory_order_acquire);
    slots_[sent_++ % window] = record;
    if (sent_ % group == 0) flush();
  }
  void flush() { shown_.store(sent_, std::memory_order_release); }
  void wait_until_taken() const {
    while (taken_.load(std::memory_order_acquire) != sent_) {
    }
  }

  /// The other thread: calls f for each pointer until stopped.
  template <class F>
  void take_until_stopped(F&& f) {
    std::uint64_t taken = 0;
    while (!stop_.load(std::memory_order_relaxed)) {
      const std::uint64_t shown = shown_.load(std::memory_order_acquire);
      for (; taken != shown; ++taken) f(slots_[taken % window]);
      taken_.store(taken, std::memory_order_release);
    }
  }
  void stop() { stop_.store(true, std::memory_order_relaxed); }

 private:
  std::array<void*, window> slots_{};
  std::uint64_t sent_ = 0;
  std::uint64_t known_taken_ = 0;
  alignas(128) std::atomic<std::uint64_t> shown_{0};
  alignas(128) std::atomic<std::uint64_t> taken_{0};
  alignas(128) std::atomic<bool> stop_{false};
};

/// Measures what the command line asks for. Each thread makes a `Worker` of its own from `shared`: get() and give().
template <class Worker, class Shared>
void run(const options& opts, Shared& shared, const char* system, const char* version) {
  double ns = 0;
  Worker mine(shared);
  if (opts.workload == "Q3" && opts.threads == 1 && opts.variant == "one") {
    ns = ns_per_iteration(opts, [&](std::uint64_t count) {
      for (std::uint64_t i = 0; i < count; ++i) mine.give(mine.get());
    });
  } else if (opts.workload == "Q3" && opts.threads == 1 && opts.variant == "burst") {
    ns = ns_per_iteration(opts, [&](std::uint64_t count) {
      std::array<void*, burst> held{};
      for (std::uint64_t i = 0; i < count; i += burst) {
        for (void*& one : held) one = mine.get();
        for (void* one : held) mine.give(one);
      }
    });
  } else if (opts.workload == "Q4" && opts.threads == 2 && opts.variant == "abroad") {
    static passage between;
    std::thread other([&] {
      Worker theirs(shared);
      between.take_until_stopped([&](void* record) { theirs.give(record); });
    });
    ns = ns_per_iteration(opts, [&](std::uint64_t count) {
      for (std::uint64_t i = 0; i < count; ++i) between.put(mine.get());
      between.flush();
      between.wait_until_taken();
    });
    between.stop();
    other.join();
  } else {
    refuse("unknown workload, variant or number of threads", opts.workload + " " + opts.variant);
  }
  report(ns, "ns", system, version);
}

}  // namespace weft::bench::records
