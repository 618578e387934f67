// SPDX-License-Identifier: Apache-2.0
//
// thread_value — one pointer that each thread has of its own, and that ends with it. For plain threads only: a fiber that reads
// a thread's value may be on another thread a moment later.
//
// Thread safety: any thread, each for itself.
#pragma once

namespace weft::impl {

/// The value of this thread; null if it has none.
[[nodiscard]] void* get_thread_value() noexcept;

/// Gives this thread a value, for the first and only time. When the thread ends, destroy(value) is called.
///
/// Returns: false where the system has no room for it.
[[nodiscard]] bool set_thread_value(void* value, void (*destroy)(void* value) noexcept) noexcept;

}  // namespace weft::impl
