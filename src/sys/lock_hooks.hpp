// SPDX-License-Identifier: Apache-2.0
//
// lock_hooks — in a library that is built with WEFT_CHECK: whoever takes or gives back a lock of the system's (a mutex, a reader-writer lock, a
// spin lock of POSIX's; those of the standard library are made of them) passes here.
//
// The functions of the C library are replaced by ones of the same name, which call those. That is why it is a build of its own.
//
// Thread safety: any thread. A watcher is set once, before the first task.
#pragma once

namespace weft::impl {

struct lock_watcher {
  void (*taken)(const void* lock) noexcept;
  void (*given_back)(const void* lock) noexcept;
};

void watch_locks(const lock_watcher& by) noexcept;

}  // namespace weft::impl
