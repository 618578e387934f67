// SPDX-License-Identifier: Apache-2.0

#include "sys/backtrace.hpp"

#include "base/report.hpp"

#include <cstdint>
#include <dlfcn.h>
#include <execinfo.h>
#include <string_view>

namespace weft::impl {
namespace {

constexpr int most_frames = 64;

text_line& append_hex(text_line& line, std::uintptr_t number) noexcept {
  char digits[2 * sizeof number];
  std::size_t n = 0;
  do {
    digits[n++] = "0123456789abcdef"[number % 16];
    number /= 16;
  } while (number != 0);
  line << "0x";
  while (n != 0) line << std::string_view(&digits[--n], 1);
  return line;
}

void report_frame(int number, void* address) noexcept {
  text_line line;
  line << "  #" << number << " ";
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  append_hex(line, at);
  Dl_info found{};
  if (::dladdr(address, &found) != 0) {
    if (found.dli_sname != nullptr) {
      line << " " << found.dli_sname << "+";
      append_hex(line, at - reinterpret_cast<std::uintptr_t>(found.dli_saddr));
    }
    if (found.dli_fname != nullptr) {
      line << " (" << found.dli_fname << "+";
      append_hex(line, at - reinterpret_cast<std::uintptr_t>(found.dli_fbase)) << ")";
    }
  }
  report(line);
}

}  // namespace

void prepare_backtrace() noexcept {
  void* frame = nullptr;
  (void)::backtrace(&frame, 1);  // loads the unwinder, which allocates the first time
}

void report_backtrace(const void* from) noexcept {
  void* frames[most_frames];
  const int count = ::backtrace(frames, most_frames);
  int first = 1;  // not this function itself
  for (int i = 0; i < count; ++i) {
    if (frames[i] == from) first = i;
  }
  for (int i = first; i < count; ++i) report_frame(i - first, frames[i]);
  if (count == most_frames) report(text_line() << "  ... and further callers");
}

}  // namespace weft::impl
