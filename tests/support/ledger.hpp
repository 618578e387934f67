// SPDX-License-Identifier: Apache-2.0
//
// ledger — what a storm has found wrong: counted by its threads, judged at its end.
//
// A check costs a branch, so that it does not slow the storm down, and orders nothing, so that it does not hide a race
// from ThreadSanitizer.
#pragma once

#include <atomic>

namespace weft::testing {

class ledger {
 public:
  /// Notes a fault unless `holds`. `what` is a literal.
  void check(bool holds, const char* what) noexcept {
    if (holds) return;
    const char* none = nullptr;
    // relaxed: read after the threads have been joined, or only to stop earlier.
    first_.compare_exchange_strong(none, what, std::memory_order_relaxed, std::memory_order_relaxed);
    faults_.fetch_add(1, std::memory_order_relaxed);
  }

  [[nodiscard]] long faults() const noexcept { return faults_.load(std::memory_order_relaxed); }
  /// The first fault, in words.
  [[nodiscard]] const char* first() const noexcept {
    const char* const what = first_.load(std::memory_order_relaxed);
    return what != nullptr ? what : "nothing";
  }

 private:
  std::atomic<long> faults_{0};
  std::atomic<const char*> first_{nullptr};
};

}  // namespace weft::testing
