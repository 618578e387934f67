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

// The free part of the stack that has memory behind it: from the lowest such page up to the part in use.
struct free_part {
  char* begin;
  char* end;
};

free_part resident_below(stack_slot& slot, const void* in_use) noexcept {
  WEFT_CHECK(slot.holds(static_cast<const char*>(in_use) - 1) || in_use == slot.low,
             "the part in use must lie on the stack in question");
  char* const end = std::max(slot.low, floor_to(static_cast<const char*>(in_use) - red_zone_bytes, 16));
  const result<void*> lowest = memory::lowest_resident(slot.low, slot.size());
  if (!lowest) return {slot.low, end};  // the kernel will not say: then all of it
  if (*lowest == nullptr) return {end, end};
  return {std::min(static_cast<char*>(*lowest), end), end};
}

WEFT_RAW_STACK_ACCESS void fill(free_part part, std::uint64_t word) noexcept {
  for (char* at = part.begin; at < part.end; at += sizeof word) {
    *reinterpret_cast<volatile std::uint64_t*>(at) = word;
  }
}

// The lowest word that is neither paint nor the zero of a page touched since.
WEFT_RAW_STACK_ACCESS char* lowest_use(free_part part) noexcept {
  for (char* at = part.begin; at < part.end; at += sizeof paint) {
    const std::uint64_t word = *reinterpret_cast<volatile std::uint64_t*>(at);
    if (word != paint && word != 0) return at;
  }
  return part.end;
}

#undef WEFT_RAW_STACK_ACCESS

}  // namespace

void paint_below(stack_slot& slot, const void* in_use) noexcept { fill(resident_below(slot, in_use), paint); }

void scrub_below(stack_slot& slot, const void* in_use) noexcept { fill(resident_below(slot, in_use), 0); }

std::size_t measure_depth(stack_slot& slot, const void* in_use) noexcept {
  const auto depth = static_cast<std::size_t>(slot.high() - lowest_use(resident_below(slot, in_use)));
  slot.deepest = std::max(slot.deepest, static_cast<std::uint32_t>(depth));
  return depth;
}

result<std::size_t> trim_below(stack_slot& slot, const void* in_use) noexcept {
  WEFT_CHECK(slot.holds(static_cast<const char*>(in_use) - 1) || in_use == slot.low,
             "the part in use must lie on the stack in question");
  char* const end = floor_to(static_cast<const char*>(in_use) - red_zone_bytes, memory::page_size());
  if (end <= slot.low) return std::size_t{0};
  const auto bytes = static_cast<std::size_t>(end - slot.low);
  if (result<void> discarded = memory::discard(slot.low, bytes); !discarded) return discarded.error();
  return bytes;
}

}  // namespace weft::impl
