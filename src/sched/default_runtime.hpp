// SPDX-License-Identifier: Apache-2.0
//
// default_runtime — the runtime of those who have made none: started when a plain thread first needs it, and never ended.
//
// Thread safety: any thread.
#pragma once

#include "sched/runtime_core.hpp"

namespace weft::impl {

/// It, started if need be. In a forked child that is another one.
///
/// Throws: as the constructor of runtime.
[[nodiscard]] detail::runtime_core& default_runtime();

}  // namespace weft::impl
