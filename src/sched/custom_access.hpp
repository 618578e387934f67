// SPDX-License-Identifier: Apache-2.0
//
// custom_access — what a pool asks of a context that arranges its tasks itself.
#pragma once

namespace weft {
class execution_context;
}  // namespace weft

namespace weft::impl {

struct task;

/// A task of it is ready: to begin, or to go on.
void enqueue(execution_context& arranges, task& ready, bool is_fresh) noexcept;
/// A task of it ends, or goes elsewhere.
void note_leave(execution_context& left, const task& leaving) noexcept;

}  // namespace weft::impl
