// SPDX-License-Identifier: Apache-2.0

#include "arch/parked_calls.hpp"

#include <algorithm>
#include <execinfo.h>

#if !defined(WEFT_SWITCH_BOOST)

extern "C" void weft_call_as_parked(const weft::impl::machine_context* parked, void (*function)(void*),
                                    void* argument);  // arch/call_as_parked_<processor>.S

namespace weft::impl {
namespace {

constexpr int most_parked_calls = 128;

struct capture {
  void* calls[most_parked_calls];
  int count = 0;
};

// Not inlined, nor is the call to it the last thing that anybody does.
[[gnu::noinline]] void capture_calls(void* raw) {
  auto& to = *static_cast<capture*>(raw);
  to.count = ::backtrace(to.calls, most_parked_calls);
}

}  // namespace

std::size_t find_parked_calls(const context& parked, std::span<void*> found) noexcept {
  capture all;
  weft_call_as_parked(&parked.machine, &capture_calls, &all);
  void** const end = all.calls + all.count;
  void** const first = std::find(all.calls, end, parked.machine.go_on_at);  // before it are ours
  const auto count = std::min(static_cast<std::size_t>(end - first), found.size());
  std::copy_n(first, count, found.begin());
  return count;
}

}  // namespace weft::impl

#else

namespace weft::impl {

std::size_t find_parked_calls(const context& /*parked*/, std::span<void*> /*found*/) noexcept { return 0; }

}  // namespace weft::impl

#endif
