// SPDX-License-Identifier: Apache-2.0
//
// fork_watch — which pools there are, so that they can be told in a forked child that their threads are gone.
//
// Of a process that is forked only the thread that called fork() goes on. A pool in the child has no workers any more, its locks
// may be held by nobody, and tasks stand on stacks that nobody will run. So it is marked: whoever spawns into it or waits for
// one of its tasks gets errc::forked, a task that goes on in the child may do nothing but exec or _exit, and its destructor
// leaves everything as it is. The parent notices nothing.
//
// Thread safety: any thread.
#pragma once

#include "base/intrusive_list.hpp"

namespace weft::impl {

struct fork_tag {};

/// Something that is told. It is so from its construction to its destruction.
class forked_party : public list_node<fork_tag> {
 public:
  /// Called in the child, on its only thread. Must not lock, allocate or wait.
  using note_function = void (*)(forked_party& self) noexcept;
  /// Called before a fork, to take a lock, and after it in both processes, to let it go: so the child finds whole what it guards. Whoever
  /// has that lock makes no such party, and none goes.
  using hold_function = void (*)(forked_party& self, bool take) noexcept;

  explicit forked_party(note_function note, hold_function hold = nullptr) noexcept;
  forked_party(const forked_party&) = delete;
  forked_party& operator=(const forked_party&) = delete;

 protected:
  ~forked_party();

 private:
  friend class fork_watch;
  const note_function note_;
  const hold_function hold_;
};

}  // namespace weft::impl
