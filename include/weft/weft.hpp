// SPDX-License-Identifier: Apache-2.0
//
// weft — everything a user may include, in one header.
#pragma once

#include <weft/backoff.hpp>
#include <weft/blocking.hpp>
#include <weft/cancelled.hpp>
#include <weft/config.hpp>
#include <weft/custom_context.hpp>
#include <weft/deque.hpp>
#include <weft/deque_channel.hpp>
#include <weft/dump.hpp>
#include <weft/error.hpp>
#include <weft/execution_context.hpp>
#include <weft/fiber_local.hpp>
#include <weft/fwd.hpp>
#include <weft/handle.hpp>
#include <weft/join.hpp>
#include <weft/no_suspend.hpp>
#include <weft/nursery.hpp>
#include <weft/pin_guard.hpp>
#include <weft/presets.hpp>
#include <weft/result.hpp>
#include <weft/runtime.hpp>
#include <weft/runtime_options.hpp>
#include <weft/spawn.hpp>
#include <weft/spawn_options.hpp>
#include <weft/statistics.hpp>
#include <weft/steal_result.hpp>
#include <weft/suspend.hpp>
#include <weft/task_context.hpp>
#include <weft/task_info.hpp>
#include <weft/this_fiber.hpp>
#include <weft/version.hpp>
