// SPDX-License-Identifier: Apache-2.0
//
// dump — what all tasks of the process are doing, for a person to read.
//
//     std::cerr << weft::dump();
//
// Or from outside, with runtime_options::dumps_on_quit: `kill -QUIT <process>`, or Ctrl-\ in its terminal.
#pragma once

#include <weft/config.hpp>

#include <string>

namespace weft {

/// Says of the tasks of every runtime: which they are, what they do, in which context, what they wait for, where they were spawned and, if
/// they have begun, where they are. Those of which all of that is the same are named together, the first eight by number: a million that
/// sleep in the same place take a few lines.
///
/// It may be called at any time, by any thread or task, but not in a signal handler; everything goes on meanwhile. A task that waits is held for some microseconds while its
/// stack is looked at. One that runs is asked by a signal to its thread (SIGURG), by which a system call may end with EINTR.
/// What changes while it is looked at may be missing, or shown as it was.
///
/// Throws: std::bad_alloc.
[[nodiscard]] WEFT_EXPORT std::string dump();

}  // namespace weft
