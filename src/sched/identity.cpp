// SPDX-License-Identifier: Apache-2.0

#include "sched/identity.hpp"

#include "sched/worker.hpp"

#if WEFT_THREAD_SANITIZER

#include <sanitizer/tsan_interface.h>

extern "C" {
void AnnotateIgnoreReadsBegin(const char* file, int line);
void AnnotateIgnoreReadsEnd(const char* file, int line);
void AnnotateIgnoreWritesBegin(const char* file, int line);
void AnnotateIgnoreWritesEnd(const char* file, int line);
}

namespace weft {
namespace impl {
namespace {

WEFT_UNWATCHED void become(void* identity) noexcept {
  __tsan_switch_to_fiber(identity, __tsan_switch_to_fiber_no_sync);
}

WEFT_UNWATCHED void begin_identity(fiber& on) noexcept {
  on.sanitizers.fiber = __tsan_create_fiber(0);
  become(on.sanitizers.fiber);
}

}  // namespace

void release_edge(void* edge) noexcept { __tsan_release(edge); }
void acquire_edge(void* edge) noexcept { __tsan_acquire(edge); }

void begin_worker() noexcept {
  AnnotateIgnoreReadsBegin(__FILE__, __LINE__);
  AnnotateIgnoreWritesBegin(__FILE__, __LINE__);
}
void end_worker() noexcept {
  AnnotateIgnoreWritesEnd(__FILE__, __LINE__);
  AnnotateIgnoreReadsEnd(__FILE__, __LINE__);
}

WEFT_UNWATCHED task_identity::task_identity(fiber& on, void* edge) noexcept : on_(on) {
  begin_identity(on_);
  __tsan_acquire(edge);
  __tsan_acquire(&on_);  // the stack's edge
}
WEFT_UNWATCHED task_identity::~task_identity() {
  worker& here = *current_worker();
  void* const thread = here.native.sanitizers.fiber;
  pool* const all = &here.of();
  __tsan_release(&on_);
  __tsan_release(all);  // what it did comes before the end of the pool
  become(thread);
  __tsan_destroy_fiber(on_.sanitizers.fiber);
  identify_loop(on_, current_worker()->native);
}

WEFT_UNWATCHED void forget_identity(fiber& made) noexcept {
  __tsan_destroy_fiber(made.sanitizers.fiber);
  made.sanitizers.fiber = nullptr;
}

WEFT_UNWATCHED borrowed_identity::borrowed_identity(fiber& on, const fiber& caller) noexcept : on_(on) {
  on_.sanitizers.fiber = caller.sanitizers.fiber;
  become(on_.sanitizers.fiber);
}
WEFT_UNWATCHED borrowed_identity::~borrowed_identity() {
  become(current_worker()->native.sanitizers.fiber);
  identify_loop(on_, current_worker()->native);
}

}  // namespace impl

namespace detail {

WEFT_UNWATCHED void* become_worker() noexcept {
  impl::worker* const here = impl::current_worker();
  if (here == nullptr) return nullptr;
  void* const before = __tsan_get_current_fiber();
  if (before == here->native.sanitizers.fiber) return nullptr;
  __tsan_switch_to_fiber(here->native.sanitizers.fiber, __tsan_switch_to_fiber_no_sync);
  return before;
}

WEFT_UNWATCHED void become_again(void* before) noexcept {
  __tsan_switch_to_fiber(before, __tsan_switch_to_fiber_no_sync);
}

void begin_arms(void* edge) noexcept { __tsan_release(edge); }

}  // namespace detail
}  // namespace weft

#endif
