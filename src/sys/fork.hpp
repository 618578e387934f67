// SPDX-License-Identifier: Apache-2.0
//
// fork — being told that the process is about to be copied, and that one is the copy.
#pragma once

namespace weft::impl {

/// From now on the functions are called around each fork(): one before it, one after it in each process. To be called once.
///
/// Returns: false where the system has no room for it.
[[nodiscard]] bool watch_forks(void (*before)(), void (*in_parent)(), void (*in_child)()) noexcept;

}  // namespace weft::impl
