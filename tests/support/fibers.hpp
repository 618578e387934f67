// SPDX-License-Identifier: Apache-2.0
//
// fibers — what a test below the scheduler needs to run fibers by hand.
#pragma once

#include "stack/manual_fiber.hpp"
#include "stack/overflow.hpp"

#include <cstdint>
#include <thread>
#include <utility>

namespace weft::testing {

using impl::fiber_thread;

/// Runs f to its end on a thread of its own that is fit to run fibers.
template <class F>
void on_fiber_thread(F&& f) {
  std::thread([&] {
    fiber_thread here;
    std::forward<F>(f)();
  }).join();
}

/// An owner with a name and the place that asked for it.
inline impl::stack_owner owner(const char* name, std::uint64_t id = 1,
                               impl::source_site site = impl::source_site::current()) {
  return {id, name, site};
}

}  // namespace weft::testing
