// SPDX-License-Identifier: Apache-2.0
//
// work_deque — a worker's deque, by the names that the library uses. It lies among the public headers because join is inline.
#pragma once

#include "base/runnable.hpp"
#include "queue/top_word.hpp"
#include "sys/platform.hpp"

#include <weft/detail/work_deque.hpp>

namespace weft::impl {

using detail::basic_work_deque;
using detail::work_deque;
using detail::work_deque_options;
using detail::work_deque_rules;

}  // namespace weft::impl
