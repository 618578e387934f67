// SPDX-License-Identifier: Apache-2.0

#include "sys/backtrace.hpp"

#include "base/report.hpp"
#include "sys/symbol.hpp"

#include <cerrno>  // program_invocation_name
#include <cstdint>
#include <cstdlib>
#include <cxxabi.h>
#include <execinfo.h>
#include <memory>
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

void append_frame(text_line& line, int number, const void* address, const symbol& found,
                  const char* name) noexcept {
  line << "  #" << number << " ";
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  append_hex(line, at);
  if (name != nullptr) {
    line << " " << name << "+";
    append_hex(line, at - found.address);
  }
  if (found.module != nullptr) {
    line << " (" << (found.module[0] != '\0' ? found.module : program_invocation_name) << "+";
    append_hex(line, at - found.module_base) << ")";
  }
}

}  // namespace

std::string describe_call(int number, const void* address) {
  const symbol found = find_symbol(address);
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> written(
      found.name == nullptr ? nullptr : abi::__cxa_demangle(found.name, nullptr, nullptr, &status),
      &std::free);
  text_line line;
  append_frame(line, number, address, found, written != nullptr ? written.get() : found.name);
  return std::string(line.view());
}

void prepare_backtrace() noexcept {
  void* frame = nullptr;
  (void)::backtrace(&frame, 1);  // loads the unwinder, which allocates the first time
}

void report_calls(std::span<void* const> calls) noexcept {
  int number = 0;
  for (const void* const each : calls) {
    text_line line;
    const symbol found = find_symbol(each);
    append_frame(line, number++, each, found, found.name);
    report(line);
  }
}

void report_backtrace(const void* from) noexcept {
  void* frames[most_frames];
  const int count = ::backtrace(frames, most_frames);
  int first = 1;  // not this function itself
  for (int i = 0; i < count; ++i) {
    if (frames[i] == from) first = i;
  }
  report_calls({frames + first, static_cast<std::size_t>(count - first)});
  if (count == most_frames) report(text_line() << "  ... and further callers");
}

}  // namespace weft::impl
