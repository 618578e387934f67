// SPDX-License-Identifier: Apache-2.0
//
// quit_signal — SIGQUIT as something that a thread can wait for. The handler does nothing but count up a semaphore.
//
// Thread safety: wait_for_quit() by one thread at a time, as call_off_wait(); the other two by whoever has a lock over both.
#pragma once

namespace weft::impl {

/// Before the first of what follows, by one thread.
void prepare_quit() noexcept;

/// From now on the signal ends a wait, and not the process.
void catch_quit() noexcept;
/// It does again what it did before. What came and was not waited for is forgotten.
void release_quit() noexcept;

/// Returns when the signal has come, or was called off, as often as this was called.
void wait_for_quit() noexcept;
/// Ends a wait, or the next one, without a signal.
void call_off_wait() noexcept;

}  // namespace weft::impl
