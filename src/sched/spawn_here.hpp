// SPDX-License-Identifier: Apache-2.0
//
// spawn_here — the shortest way to a new task: by a task of the same pool, with a closure that is nothing but bytes.
#pragma once

#include "sched/failure.hpp"
#include "sched/pool.hpp"

#include <weft/detail/task_access.hpp>

#include <cstddef>

namespace weft::impl {

inline void put_words(task& into, detail::closure_words closure) noexcept {
  auto* const body = reinterpret_cast<std::uint64_t*>(into.body);
  std::size_t i = 0;
  do body[i] = closure.first[i];
  while (++i != closure.count);
}

/// Where what the running task spawns goes: where it belongs itself, mostly.
[[nodiscard]] inline pool& home_of_children(worker& here) noexcept {
  const task& self = *running_fiber(here).running;
  return WEFT_LIKELY(!self.has(task_mark::wrapped)) ? here.spawns_into() : self.home();
}
/// Whether the running task belongs to a pool that it asks for, and so does the worker.
[[nodiscard]] inline bool is_at_home(worker& here, const pool& asked) noexcept {
  return &here.of() == &asked && !running_fiber(here).running->has(task_mark::wrapped);
}

/// As a child of the nursery, or held by a handle where there is none.
///
/// Throws: std::system_error without memory.
WEFT_ALWAYS_INLINE task& spawn_here(worker& here, nursery_core* group, const task_code& code,
                                    packed_site site, detail::closure_words closure) {
  task& parent = *running_fiber(here).running;
  const result<task*> record = [&here] {
    const runtime_section in;
    return here.new_record();
  }();
  if (!WEFT_LIKELY(record)) fail(record.error());
  task& made = **record;
  acquire_edge(made.record_edge());
  made.begin_life(code, site, here.usual(), &parent);
  put_words(made, closure);
  here.of().begin_here(here, parent, made, group);
  return made;
}

}  // namespace weft::impl
