// SPDX-License-Identifier: Apache-2.0

#include "stack/usage.hpp"

#include <algorithm>

namespace weft::impl {
namespace {

using memory = default_platform::memory;

constexpr std::uint64_t paint = 0x7761667477656674;  // unlikely to be anybody's data

// The bytes below a stack pointer belong to no object that a sanitizer knows, and stale redzones of frames
// that have returned may still be marked there: these functions look at them all the same.
#define WEFT_RAW_STACK_ACCESS __attribute__((noinline, no_sanitize("address", "thread", "undefined")))

char* floor_to(const void* address, std::size_t unit) noexcept {
  return reinterpret_cast<char*>(reinterpret_cast<std::uintptr_t>(address) / unit * unit);
}

void check_part_in_use(const stack_slot& slot, const void* in_use) noexcept {
  WEFT_CHECK(slot.holds(static_cast<const char*>(in_use) - 1) || in_use == slot.low,
             "the part in use must lie on the stack in question");
}

// The end of the part that is free, below the red zone.
char* free_end(stack_slot& slot, const void* in_use) noexcept {
  return std::max(slot.low, floor_to(static_cast<const char*>(in_use) - red_zone_bytes, 16));
}

// Calls f(begin, end) for the free bytes of each page that has memory behind it, lowest first, until f returns
// true. Where the kernel will not say, all pages count as having memory.
template <class F>
void for_each_resident_part(stack_slot& slot, const void* in_use, F f) noexcept {
  check_part_in_use(slot, in_use);
  char* const end = free_end(slot, in_use);
  const std::size_t page = memory::page_size();
  unsigned char present[64];
  for (char* at = slot.low; at < end;) {
    const std::size_t pages =
        std::min((static_cast<std::size_t>(end - at) + page - 1) / page, sizeof present);
    if (!memory::residency(at, pages, present)) std::fill_n(present, pages, static_cast<unsigned char>(1));
    for (std::size_t i = 0; i < pages; ++i, at += page) {
      if (present[i] != 0 && f(at, std::min(at + page, end))) return;
    }
  }
}

WEFT_RAW_STACK_ACCESS void fill(char* begin, char* end, std::uint64_t word) noexcept {
  for (char* at = begin; at < end; at += sizeof word) *reinterpret_cast<volatile std::uint64_t*>(at) = word;
}

// The lowest word that is neither paint nor the zero of a page touched since; `end` if there is none.
WEFT_RAW_STACK_ACCESS char* lowest_use(char* begin, char* end) noexcept {
  for (char* at = begin; at < end; at += sizeof paint) {
    const std::uint64_t word = *reinterpret_cast<volatile std::uint64_t*>(at);
    if (word != paint && word != 0) return at;
  }
  return end;
}

#undef WEFT_RAW_STACK_ACCESS

}  // namespace

void paint_below(stack_slot& slot, const void* in_use) noexcept {
  for_each_resident_part(slot, in_use, [](char* begin, char* end) {
    fill(begin, end, paint);
    return false;
  });
}

std::size_t measure_depth(stack_slot& slot, const void* in_use) noexcept {
  char* lowest = free_end(slot, in_use);
  for_each_resident_part(slot, in_use, [&](char* begin, char* end) {
    char* const used = lowest_use(begin, end);
    if (used != end) lowest = used;
    return used != end;
  });
  const auto depth = static_cast<std::size_t>(slot.high() - lowest);
  slot.deepest = std::max(slot.deepest, static_cast<std::uint32_t>(depth));
  return depth;
}

result<void> scrub_below(stack_slot& slot, const void* in_use) noexcept {
  if (result<std::size_t> trimmed = trim_below(slot, in_use); !trimmed) return trimmed.error();
  char* const end = free_end(slot, in_use);
  fill(std::max(slot.low, floor_to(end, memory::page_size())), end, 0);
  return {};
}

result<std::size_t> trim_below(stack_slot& slot, const void* in_use) noexcept {
  check_part_in_use(slot, in_use);
  char* const end = floor_to(static_cast<const char*>(in_use) - red_zone_bytes, memory::page_size());
  if (end <= slot.low) return std::size_t{0};
  const auto bytes = static_cast<std::size_t>(end - slot.low);
  if (result<void> discarded = memory::discard(slot.low, bytes); !discarded) return discarded.error();
  return bytes;
}

}  // namespace weft::impl
