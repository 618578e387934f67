// SPDX-License-Identifier: Apache-2.0
//
// A million guarded stacks in one process: made, touched, trimmed and freed, in at most ten mappings.

#include "stack/stack_pool.hpp"
#include "stack/usage.hpp"
#include "support/scale.hpp"
#include "sys/process_memory.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <gtest/gtest.h>
#include <optional>
#include <vector>

// Whether resident memory is the program's own, and not also a sanitizer's shadow or an emulator.
#if !WEFT_ADDRESS_SANITIZER && !WEFT_THREAD_SANITIZER && !defined(WEFT_TEST_EMULATED)
#define WEFT_MEMORY_IS_OURS 1
#else
#define WEFT_MEMORY_IS_OURS 0
#endif

namespace weft::impl {
namespace {

class stopwatch {
 public:
  double lap_ns(std::size_t things) {
    const auto now = std::chrono::steady_clock::now();
    const double each =
        std::chrono::duration<double, std::nano>(now - last_).count() / static_cast<double>(things);
    last_ = now;
    return each;
  }

 private:
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

void print(const char* what, double ns_each) {
  const process_memory now = process_memory_now();
  std::printf("%-18s %8.0f ns each; resident %6.2f GB, page tables %5.2f GB, %zu mappings\n", what, ns_each,
              static_cast<double>(now.resident_bytes) / 1e9, static_cast<double>(now.page_table_bytes) / 1e9,
              now.mappings);
  std::fflush(stdout);
}

// As many stacks as this build, the kernel's guards and the machine's memory allow.
std::size_t stacks_here(guard_method guards) {
  std::size_t count = testing::scaled<std::size_t>(1'000'000, 10'000);
  if (guards == guard_method::protection) count = std::min<std::size_t>(count, 10'000);
  const std::optional<std::size_t> available = available_memory_bytes();
  const std::size_t affordable = available ? *available / 4 * 3 / (std::size_t{9} << 10U) : count;
  if (affordable < count) std::printf("memory for %zu stacks only\n", affordable);
  return std::min(count, affordable);
}

TEST(MillionStacks, AreMadeTouchedTrimmedAndFreed) {
  stack_pool pool({.warm_limit = 0});
  const std::size_t count = stacks_here(pool.guards());
  ASSERT_GT(count, 1000U);
  std::vector<stack_slot*> slots(count);
  [[maybe_unused]] const process_memory before = process_memory_now();
  std::printf("%zu stacks of 256 KiB, guards by %s\n", count,
              pool.guards() == guard_method::light ? "MADV_GUARD_INSTALL" : "PROT_NONE");

  stopwatch watch;
  for (stack_slot*& slot : slots) {
    const result<stack_slot*> taken = pool.take(stack_class());
    ASSERT_TRUE(taken.has_value()) << taken.error().message();
    slot = *taken;
  }
  print("made and guarded", watch.lap_ns(count));
  EXPECT_EQ(pool.stats().taken, count);

  for (stack_slot* slot : slots) {
    slot->high()[-1] = 1;
    slot->high()[-5000] = 1;
  }
  print("touched two pages", watch.lap_ns(count));
  [[maybe_unused]] const process_memory touched = process_memory_now();
#if WEFT_MEMORY_IS_OURS
  if (pool.guards() == guard_method::light) {
    EXPECT_LE(touched.mappings - before.mappings, 10U);
  }
#endif

  for (std::size_t i = 0; i < count; i += 1 + count / 1000) {
    ASSERT_TRUE(system_memory::guard_holds(slots[i]->low - 1)) << "stack " << i;
    ASSERT_TRUE(system_memory::guard_holds(slots[i]->low - guard_bytes)) << "stack " << i;
  }

  (void)watch.lap_ns(count);
  for (stack_slot* slot : slots) ASSERT_TRUE(trim_below(*slot, slot->high() - 512).has_value());
  print("trimmed to one", watch.lap_ns(count));
  [[maybe_unused]] const process_memory trimmed = process_memory_now();
  for (std::size_t i = 0; i < count; i += 1 + count / 1000) {
    ASSERT_EQ(slots[i]->high()[-1], 1) << "what is in use stays";
    ASSERT_TRUE(system_memory::guard_holds(slots[i]->low - 1)) << "trimming must not remove the guard";
  }
#if WEFT_MEMORY_IS_OURS
  const std::size_t page = system_memory::page_size();
  EXPECT_LT(trimmed.resident_bytes, touched.resident_bytes - count * (page - page / 8));
  // S2-124 asks for less than 16 KB a task; a trimmed stack and its slot take one page and 64 bytes.
  EXPECT_LT((trimmed.resident_bytes - before.resident_bytes) / count, page + page / 8);
#endif

  (void)watch.lap_ns(count);
  for (stack_slot* slot : slots) pool.give(*slot);
  pool.release_unused();
  print("freed", watch.lap_ns(count));
  EXPECT_EQ(pool.stats().reserved_bytes, 0U);
#if WEFT_MEMORY_IS_OURS
  const process_memory after = process_memory_now();
  EXPECT_LE(after.mappings, before.mappings + 2);
  EXPECT_LT(after.resident_bytes, before.resident_bytes + (std::size_t{32} << 20U));
#endif
}

// The mapping limit, met for real: where guards split mappings, there comes an error that names the limit; what
// was made stays usable, and the rest of the process can still map memory. ThreadSanitizer itself does not live
// that close to the limit.
#if WEFT_MEMORY_IS_OURS
struct split_memory : system_memory {
  static result<void> guard_light(void*, std::size_t) noexcept {
    return std::make_error_code(std::errc::invalid_argument);  // as before Linux 6.13
  }
};
struct split_platform : real_platform {
  using memory = split_memory;
};

TEST(MillionStacks, TheMappingLimitIsAnErrorThatCanBeLivedWith) {
  const std::size_t limit = system_memory::mapping_limit().value_or(65530);
  if (limit > 200'000) {
    std::printf("vm.max_map_count=%zu is too high to be met in a test\n", limit);
    return;
  }
  {
    basic_stack_pool<split_platform> pool;
    EXPECT_EQ(pool.guards(), guard_method::protection);
    std::vector<stack_slot*> slots;
    result<stack_slot*> last = pool.take(*stack_class::holding(8 << 10));
    while (last && slots.size() < limit) {
      slots.push_back(*last);
      last = pool.take(*stack_class::holding(8 << 10));
    }
    ASSERT_FALSE(last) << "the limit was never met";
    EXPECT_EQ(last.error(), errc::mapping_limit);
    std::printf("%zu guarded stacks under vm.max_map_count=%zu\n", slots.size(), limit);
    EXPECT_GT(slots.size(), limit / 3);
    slots.back()->low[0] = 1;
    std::vector<void*> elsewhere;
    for (int i = 0; i < 1000; ++i) {
      const result<void*> mapped = system_memory::reserve(system_memory::page_size());
      ASSERT_TRUE(mapped.has_value()) << "nothing was left to the rest of the process";
      EXPECT_TRUE(system_memory::guard_by_protection(*mapped, system_memory::page_size()).has_value());
      elsewhere.push_back(*mapped);
    }
    for (void* mapped : elsewhere) system_memory::release(mapped, system_memory::page_size());
    for (stack_slot* slot : slots) pool.give(*slot);
  }
  EXPECT_EQ(split_guards.load(), 0U) << "guards that are gone are not counted";
}
#endif

}  // namespace
}  // namespace weft::impl
