// SPDX-License-Identifier: Apache-2.0
//
// Second stop: a million stacks, every one with a guard below it.

#include "affordable.hpp"
#include "stack/stack_pool.hpp"
#include "stack/usage.hpp"
#include "sys/process_memory.hpp"
#include "tour.hpp"

#include <cstddef>
#include <vector>

namespace tour {
namespace {

namespace impl = weft::impl;

}  // namespace

bool show_stacks(const options& how) {
  heading("2. Stacks: a million of them, each 256 KiB of address space with a guard below");
  impl::stack_pool pool({.warm_limit = 0});
  constexpr std::size_t bytes_each = 9 << 10;  // two pages and their tables
  const std::size_t count = affordable(how.brief ? 100'000 : 1'000'000, bytes_each, pool.guards());
  std::vector<impl::stack_slot*> slots(count);
  bool good = true;
  const std::size_t mappings_before = impl::process_memory_now().mappings;
  const std::size_t resident_before = impl::process_memory_now().resident_bytes;
  const auto n = static_cast<double>(count);

  const double made = seconds([&] {
    for (impl::stack_slot*& slot : slots) slot = *pool.take(impl::stack_class());
  });
  std::printf("   made and guarded  %8.0f ns each\n", made / n * 1e9);
  const double touched = seconds([&] {
    for (impl::stack_slot* slot : slots) {
      slot->high()[-1] = 1;
      slot->high()[-5000] = 1;  // two pages
    }
  });
  const impl::process_memory now = impl::process_memory_now();
  std::printf("   touched           %8.0f ns each, two pages: %.1f GB resident, %zu mappings more\n",
              touched / n * 1e9, static_cast<double>(now.resident_bytes - resident_before) / 1e9,
              now.mappings - mappings_before);
  const double trimmed = seconds([&] {
    for (impl::stack_slot* slot : slots)
      good = impl::trim_below(*slot, slot->high() - 512).has_value() && good;
  });
  std::printf("   trimmed           %8.0f ns each, to one page: %.1f GB resident\n", trimmed / n * 1e9,
              static_cast<double>(impl::process_memory_now().resident_bytes - resident_before) / 1e9);
  const double freed = seconds([&] {
    for (impl::stack_slot* slot : slots) pool.give(*slot);
    pool.release_unused();
  });
  const std::size_t resident_after = impl::process_memory_now().resident_bytes;
  const std::size_t left = resident_after > resident_before ? resident_after - resident_before : 0;
  std::printf("   freed             %8.0f ns each, %.1f MB left\n", freed / n * 1e9,
              static_cast<double>(left) / 1e6);
  return good && (pool.guards() == impl::guard_method::protection || now.mappings - mappings_before <= 10);
}

}  // namespace tour
