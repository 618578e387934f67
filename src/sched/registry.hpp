// SPDX-License-Identifier: Apache-2.0
//
// registry — the runtimes of this process, for those who look at all of them.
//
// Thread safety: any thread.
#pragma once

#include "base/intrusive_list.hpp"

#include <cstddef>

namespace weft::impl {

class commons;

struct registry_tag {};

/// From now on it is found; no longer, when this returns. Whoever looks at it meanwhile is waited for.
void add_runtime(commons& made) noexcept;
void remove_runtime(commons& gone) noexcept;

/// Calls the function for each, one after the other. None of them goes meanwhile.
void for_each_runtime(void (*function)(commons& each, void* with), void* with);

/// Where a debugger finds them: the head of the list, and where in a node the next one is.
struct registry_place {
  const void* head;
  std::size_t next_in_node;
};
[[nodiscard]] registry_place place_of_registry();

}  // namespace weft::impl
