// SPDX-License-Identifier: Apache-2.0
//
// report — the two ways weft speaks to a person by itself: a notice that something works less well than it
// could, and the last words of a process that must stop.
//
// Everything goes through one sink (standard error until somebody sets another), a whole line at a time.
//
// Thread safety: any thread; async-signal-safe, as far as the sink is.
#pragma once

#include "base/text.hpp"

#include <atomic>
#include <string_view>

namespace weft::impl {

/// Receives one whole line, the newline included.
using report_sink = void (*)(std::string_view line) noexcept;

/// Replaces the sink; nullptr restores standard error. Returns the one before.
report_sink set_report_sink(report_sink sink) noexcept;

/// Names who is running, for the last words ("in fiber 7 'reader'"); appends nothing where nobody is.
using report_subject = void (*)(text_line& line) noexcept;

/// Sets how last words learn who is running: the scheduler's to call. Returns the one before.
report_subject set_report_subject(report_subject subject) noexcept;

/// Writes "weft: " and the line and a newline to the sink.
void report(const text_line& line) noexcept;
/// The same for a text that has its lines already, of any length.
void report_as_it_is(std::string_view text) noexcept;

/// A notice given at most once per process: `static constinit notice_once slow_path; slow_path.say(line)`.
class notice_once {
 public:
  constexpr notice_once() noexcept = default;

  /// Reports the line the first time only. Returns whether this was it.
  bool say(const text_line& line) noexcept {
    // relaxed: the flag guards nothing but itself.
    if (said_.exchange(true, std::memory_order_relaxed)) return false;
    report(line);
    return true;
  }

 private:
  std::atomic<bool> said_{false};
};

}  // namespace weft::impl
