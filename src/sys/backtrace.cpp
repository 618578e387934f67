// SPDX-License-Identifier: Apache-2.0

#include "sys/backtrace.hpp"

#include "base/report.hpp"
#include "sys/symbol.hpp"

#include <cerrno>  // program_invocation_name
#include <cstdint>
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

void report_frame(int number, const void* address) noexcept {
  text_line line;
  line << "  #" << number << " ";
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  append_hex(line, at);
  const symbol found = find_symbol(address);
  if (found.name != nullptr) {
    line << " " << found.name << "+";
    append_hex(line, at - found.address);
  }
  if (found.module != nullptr) {
    line << " (" << (found.module[0] != '\0' ? found.module : program_invocation_name) << "+";
    append_hex(line, at - found.module_base) << ")";
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
