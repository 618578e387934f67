// SPDX-License-Identifier: Apache-2.0
//
// task_extras — what few tasks have, on the heap: a name, a stack of another size, fiber_local values.
#pragma once

#include "sched/belongings.hpp"
#include "stack/stack_class.hpp"

#include <string>

namespace weft::impl {

struct task_extras {
  std::string name;
  stack_class stack;
  local_values locals;
};

}  // namespace weft::impl
