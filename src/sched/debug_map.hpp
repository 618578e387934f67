// SPDX-License-Identifier: Apache-2.0
//
// debug_map — where a debugger finds the tasks of a process, and what they are doing: in numbers, so that it needs no debug information
// of the library. tools/gdb/weft.py reads it, in a live process or in a core file.
//
// Thread safety: written when the first runtime starts, before it is found; read by debuggers.
#pragma once

#include <cstdint>

namespace weft::impl {

class commons;
class pool;

/// All of it in words of 64 bits. A change to what a word means changes the version.
struct debug_map {
  static constexpr std::uint64_t this_version = 1;

  std::uint64_t version;  ///< 0 before the first runtime
  // The list of runtimes: the address of its head. A node: where the next one is; where in a runtime it lies.
  std::uint64_t runtimes;
  std::uint64_t node_next;
  std::uint64_t node_in_runtime;
  // The directory of records, in a runtime: its entries lead to leaves, whose entries lead to blocks.
  std::uint64_t root_in_runtime;
  std::uint64_t root_entries;
  std::uint64_t leaf_entries;
  // A block: the address of its records, how many of them have been made (32 bits). Their distance.
  std::uint64_t block_records;
  std::uint64_t block_used;
  std::uint64_t record_stride;
  // A task: its name (a bit says that it lives), what it may be, where it was spawned, where it belongs (32 bits, the low half), how
  // far it has come, its marks (8 bits each), its wait, what it waits for, its fiber, its extras.
  std::uint64_t task_name;
  std::uint64_t task_live_bit;
  std::uint64_t task_site;
  std::uint64_t task_way;
  std::uint64_t task_outcome;
  std::uint64_t task_marks;
  std::uint64_t task_wait;
  std::uint64_t task_note;
  std::uint64_t task_fiber;
  std::uint64_t task_extras;
  std::uint64_t mark_main;
  std::uint64_t mark_extras;
  // The extras: the name, a std::string (its address, then its length).
  std::uint64_t extras_name;
  // A fiber: stack pointer, frame pointer, where it goes on (all zero where the switch is another's); its depth (32 bits) and, unless that is
  // 0, the fiber that its task stands on further out.
  std::uint64_t fiber_stack_pointer;
  std::uint64_t fiber_frame_pointer;
  std::uint64_t fiber_goes_on_at;
  std::uint64_t fiber_depth;
  std::uint64_t fiber_below;
  // The contexts: the address of a table of pointers by number, and where in a context its name is, a std::string.
  std::uint64_t contexts;
  std::uint64_t context_name;
};

/// Fills it in, by the example of the first runtime and its first context. For others it does nothing.
void fill_debug_map(const commons& example, const pool& first) noexcept;

}  // namespace weft::impl

extern "C" weft::impl::debug_map weft_debug_map;
