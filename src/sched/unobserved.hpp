// SPDX-License-Identifier: Apache-2.0
//
// unobserved — a task has failed, and nobody holds its handle any more who could look at that.
#pragma once

#include "sched/task.hpp"

namespace weft::impl {

/// Says which task failed, where it was spawned and how, and ends the process: a failure is never silent.
[[noreturn]] void report_unobserved(task& failed) noexcept;

}  // namespace weft::impl
