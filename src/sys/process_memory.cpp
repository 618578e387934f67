// SPDX-License-Identifier: Apache-2.0

#include "sys/process_memory.hpp"

#include <cstdio>
#include <cstring>
#include <memory>

namespace weft::impl {
namespace {

struct close_file {
  void operator()(std::FILE* file) const noexcept { (void)std::fclose(file); }
};
using file_ptr = std::unique_ptr<std::FILE, close_file>;

// Calls f with each line of a file; a file that cannot be opened has none.
template <class F>
void for_each_line(const char* path, F f) noexcept {
  const file_ptr file(std::fopen(path, "re"));
  char line[512];
  while (file && std::fgets(line, sizeof line, file.get()) != nullptr) f(line);
}

// The value of a line like "VmRSS:    1234 kB", if it is that line.
std::optional<std::size_t> kilobytes(const char* line, const char* name) noexcept {
  const std::size_t length = std::strlen(name);
  if (std::strncmp(line, name, length) != 0 || line[length] != ':') return std::nullopt;
  unsigned long value = 0;
  if (std::sscanf(line + length + 1, "%lu kB", &value) != 1) return std::nullopt;
  return std::size_t{value} << 10U;
}

}  // namespace

process_memory process_memory_now() noexcept {
  process_memory now;
  for_each_line("/proc/self/status", [&](const char* line) {
    if (const auto bytes = kilobytes(line, "VmRSS")) now.resident_bytes = *bytes;
    if (const auto bytes = kilobytes(line, "VmPTE")) now.page_table_bytes = *bytes;
  });
  for_each_line("/proc/self/maps", [&](const char* line) {
    if (std::strchr(line, '\n') != nullptr) ++now.mappings;  // a long path may take several reads
  });
  return now;
}

std::optional<std::size_t> available_memory_bytes() noexcept {
  std::optional<std::size_t> available;
  for_each_line("/proc/meminfo", [&](const char* line) {
    if (const auto bytes = kilobytes(line, "MemAvailable")) available = bytes;
  });
  return available;
}

}  // namespace weft::impl
