// SPDX-License-Identifier: Apache-2.0

#include "base/report.hpp"

#include <weft/detail/assert.hpp>

#include <cstdlib>
#include <unistd.h>

namespace weft {
namespace impl {
namespace {

void to_standard_error(std::string_view line) noexcept {
  // A write may be interrupted, short, or refused for a moment by a pipe that does not block. Last words are
  // worth some patience, but a broken stderr is no reason to hang.
  constexpr int most_in_vain = 1000;
  for (int tries = 0; tries < most_in_vain && !line.empty(); ++tries) {
    const ssize_t n = ::write(STDERR_FILENO, line.data(), line.size());
    if (n <= 0) continue;
    line.remove_prefix(static_cast<std::size_t>(n));
    tries = 0;
  }
}

// relaxed everywhere below: a pointer to code has no state of its own that would need to be visible with it.
std::atomic<report_sink> current_sink{&to_standard_error};
std::atomic<report_subject> current_subject{nullptr};

}  // namespace

report_sink set_report_sink(report_sink sink) noexcept {
  return current_sink.exchange(sink ? sink : &to_standard_error, std::memory_order_relaxed);
}

report_subject set_report_subject(report_subject subject) noexcept {
  return current_subject.exchange(subject, std::memory_order_relaxed);
}

void report_as_it_is(std::string_view text) noexcept { current_sink.load(std::memory_order_relaxed)(text); }

void report(const text_line& line) noexcept {
  text_line whole;
  // Leave room for the newline whatever the length of the line (T1 cuts the rest).
  whole << "weft: " << line.view().substr(0, 1024 - 7) << "\n";
  current_sink.load(std::memory_order_relaxed)(whole.view());
}

}  // namespace impl

void detail::check_failed(const char* condition, const char* message, const char* file,
                          unsigned line) noexcept {
  impl::text_line words;
  words << "check failed: " << message << " (" << condition << ", " << file << ":" << line << ")";
  if (impl::report_subject subject = impl::current_subject.load(std::memory_order_relaxed)) subject(words);
  impl::report(words);
  std::abort();
}

}  // namespace weft
