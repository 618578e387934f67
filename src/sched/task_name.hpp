// SPDX-License-Identifier: Apache-2.0
//
// task_name — how a task is named to a person: "task 7 'reader' (spawned at server.cpp:12)".
//
// Thread safety: who may read the task. No memory, no locks.
#pragma once

#include "base/text.hpp"
#include "sched/task.hpp"

namespace weft::impl {

/// Names a task.
void append_task(text_line& line, const task& named) noexcept;

/// Names the running one, after a comma; says nothing on a plain thread. For the last words of a process.
void append_running_task(text_line& line) noexcept;

}  // namespace weft::impl
