// SPDX-License-Identifier: Apache-2.0
//
// Q3 and Q4 for the C library's malloc: what a runtime without slabs of its own would use. No handles, no names.
#include "compare/records/config.hpp"

#include <cstddef>
#include <cstdlib>
#include <gnu/libc-version.h>

namespace {

namespace bench = weft::bench;

struct nothing {};

class worker {
 public:
  explicit worker(nothing& /*shared*/) {}

  static void* get() {
    auto* const made = static_cast<std::byte*>(std::malloc(bench::records::record_bytes));
    made[24] = std::byte{1};
    made[152] = std::byte{1};
    asm volatile("" : : "r"(made) : "memory");  // or the compiler leaves both calls out
    return made;
  }
  static void give(void* record) { std::free(record); }
};

}  // namespace

int main(int argc, char** argv) {
  nothing shared;
  bench::records::run<worker>(bench::parse(argc, argv), shared, "malloc", ::gnu_get_libc_version());
}
