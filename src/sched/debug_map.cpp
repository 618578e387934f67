// SPDX-License-Identifier: Apache-2.0

#include "sched/debug_map.hpp"

#include "sched/commons.hpp"
#include "sched/context_table.hpp"
#include "sched/fiber.hpp"
#include "sched/pool.hpp"
#include "sched/registry.hpp"
#include "sched/task.hpp"

#include <atomic>
#include <cstddef>

extern "C" {
[[gnu::used]] weft::impl::debug_map weft_debug_map{};
}

namespace weft::impl {
namespace {

std::uint64_t word(const volatile void* address) noexcept {
  return reinterpret_cast<std::uintptr_t>(address);
}

// How far a member lies behind the beginning of what it belongs to. (offsetof is not for types like these.)
std::uint64_t distance(const volatile void* member, const volatile void* of) noexcept {
  return word(member) - word(of);
}

void describe_task(debug_map& map) noexcept {
  task example;
  map.task_name = task::name_offset(example);
  map.task_live_bit = record_policy::name::one_generation;
  map.task_site = distance(&example.site, &example);
  map.task_way = distance(&example.way, &example);
  map.task_outcome = distance(&example.outcome, &example);
  map.task_marks = distance(&example.marks, &example);
  map.task_wait = distance(&example.claim, &example);
  map.task_note = distance(&example.note, &example);
  map.task_fiber = distance(&example.on, &example);
  map.task_extras = distance(&example.extras, &example);
  map.mark_main = static_cast<std::uint64_t>(task_mark::main);
  map.mark_extras = static_cast<std::uint64_t>(task_mark::has_extras);
  const task_extras extras;
  map.extras_name = distance(&extras.name, &extras);
}

void describe_fiber(debug_map& map) noexcept {
  const fiber example;
#if !defined(WEFT_SWITCH_BOOST)
  map.fiber_stack_pointer = distance(&example.machine.stack_pointer, &example);
  map.fiber_frame_pointer = distance(&example.machine.frame_pointer, &example);
  map.fiber_goes_on_at = distance(&example.machine.go_on_at, &example);
#endif
  map.fiber_depth = distance(&example.depth, &example);
  map.fiber_below = distance(&example.below, &example);
}

debug_map describe(const commons& example, const pool& first) noexcept {
  debug_map map{};
  map.version = debug_map::this_version;
  const registry_place list = place_of_registry();
  map.runtimes = word(list.head);
  map.node_next = list.next_in_node;
  map.node_in_runtime = distance(static_cast<const list_node<registry_tag>*>(&example), &example);
  const record_slab::place records = example.place_of_records();
  map.root_in_runtime = distance(records.root, &example);
  map.root_entries = records.root_entries;
  map.leaf_entries = records.leaf_entries;
  map.block_records = records.block_records;
  map.block_used = records.block_used;
  map.record_stride = records.stride;
  describe_task(map);
  describe_fiber(map);
  map.contexts = word(place_of_contexts());
  map.context_name = first.name_offset();
  return map;
}

}  // namespace

void fill_debug_map(const commons& example, const pool& first) noexcept {
  static const bool once = [&] {
    weft_debug_map = describe(example, first);
    return true;
  }();
  (void)once;
}

}  // namespace weft::impl
