// SPDX-License-Identifier: Apache-2.0
//
// How much memory this process has, as the kernel counts it.
#pragma once

#include "support/program.hpp"

#include <cstdint>
#include <fstream>
#include <string>

namespace weft::bench {

struct memory {
  std::int64_t resident_bytes = 0;    // VmRSS
  std::int64_t page_table_bytes = 0;  // VmPTE, which VmRSS does not count
};

[[nodiscard]] inline memory memory_now() {
  memory now;
  std::ifstream status("/proc/self/status");
  for (std::string name; status >> name;) {
    std::int64_t kilobytes = 0;
    if (name == "VmRSS:" && status >> kilobytes) now.resident_bytes = kilobytes * 1024;
    if (name == "VmPTE:" && status >> kilobytes) now.page_table_bytes = kilobytes * 1024;
    status.ignore(4096, '\n');
  }
  if (now.resident_bytes == 0 || now.page_table_bytes == 0) fail("/proc/self/status does not tell");
  return now;
}

}  // namespace weft::bench
