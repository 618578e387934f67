// SPDX-License-Identifier: Apache-2.0
//
// runtime_core — what the public headers only know by name, and how to get from one side to the other.
#pragma once

#include "sched/pool.hpp"

#include <weft/detail/task_access.hpp>

namespace weft::detail {

struct runtime_core : impl::pool {
  using pool::pool;
};

[[nodiscard]] inline impl::task& inside(task_record& record) noexcept {
  return reinterpret_cast<impl::task&>(record);
}
[[nodiscard]] inline const impl::task& inside(const task_record& record) noexcept {
  return reinterpret_cast<const impl::task&>(record);
}
[[nodiscard]] inline task_record& outside(impl::task& task) noexcept {
  return reinterpret_cast<task_record&>(task);
}

}  // namespace weft::detail
