// SPDX-License-Identifier: Apache-2.0

#include "sched/identity.hpp"

#include "sched/worker.hpp"

#if WEFT_THREAD_SANITIZER

#include <array>
#include <cstddef>
#include <link.h>
#include <sanitizer/tsan_interface.h>
#include <utility>

extern "C" {
void AnnotateIgnoreReadsBegin(const char* file, int line);
void AnnotateIgnoreReadsEnd(const char* file, int line);
void AnnotateIgnoreWritesBegin(const char* file, int line);
void AnnotateIgnoreWritesEnd(const char* file, int line);
void AnnotateBenignRaceSized(const char* file, int line, const volatile void* at, std::size_t size,
                             const char* why);
}

namespace weft {
namespace impl {
namespace {

WEFT_UNWATCHED void become(void* identity) noexcept {
  __tsan_switch_to_fiber(identity, __tsan_switch_to_fiber_no_sync);
}

// An identity takes a tenth of a millisecond to make. So they are used again, but each as late as possible: two tasks that share one
// are in order, as far as ThreadSanitizer can see, and a race between them would not be reported.
class used_identities {
 public:
  /// One that has rested for long; or a new one.
  [[nodiscard]] WEFT_UNWATCHED void* take() noexcept {
    const scoped_hold hold(lock_);
    if (count_ < enough) return __tsan_create_fiber(0);
    return resting_[(next_ + most - count_--) % most];
  }
  WEFT_UNWATCHED void give_back(void* used) noexcept {
    {
      const scoped_hold hold(lock_);
      if (count_ < most) {
        ++count_;
        resting_[std::exchange(next_, (next_ + 1) % most)] = used;
        return;
      }
    }
    __tsan_destroy_fiber(used);
  }

 private:
  static constexpr std::size_t enough = 256;
  static constexpr std::size_t most = 2 * enough;

  default_platform::mutex lock_;
  std::array<void*, most> resting_{};
  std::size_t next_ = 0;
  std::size_t count_ = 0;
};
constinit used_identities identities;

WEFT_UNWATCHED void begin_identity(fiber& on) noexcept {
  on.sanitizers.fiber = identities.take();
  become(on.sanitizers.fiber);
}

// The thread's own variables, errno among them: tasks that use them one after the other do not race, for the thread is the same. Those
// that this thread does not have yet, of libraries that are loaded or first used later, are not known here. There is no way to
// take this back: when the thread has ended and its memory is used again, races in these few bytes are not seen.
void forgive_thread_locals() noexcept {
  const auto forgive = [](dl_phdr_info* module, std::size_t /*size*/, void* /*unused*/) {
    if (module->dlpi_tls_data == nullptr) return 0;
    for (int i = 0; i < module->dlpi_phnum; ++i) {
      if (module->dlpi_phdr[i].p_type != PT_TLS) continue;
      AnnotateBenignRaceSized(__FILE__, __LINE__, module->dlpi_tls_data, module->dlpi_phdr[i].p_memsz,
                              "variables of a worker's thread");
    }
    return 0;
  };
  dl_iterate_phdr(forgive, nullptr);
}

}  // namespace

void release_edge(void* edge) noexcept { __tsan_release(edge); }
void acquire_edge(void* edge) noexcept { __tsan_acquire(edge); }

unwatched_section::unwatched_section() noexcept {
  AnnotateIgnoreReadsBegin(__FILE__, __LINE__);
  AnnotateIgnoreWritesBegin(__FILE__, __LINE__);
}
unwatched_section::~unwatched_section() {
  AnnotateIgnoreWritesEnd(__FILE__, __LINE__);
  AnnotateIgnoreReadsEnd(__FILE__, __LINE__);
}

void begin_worker() noexcept {
  forgive_thread_locals();
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
  if (void* const turns = current_worker()->alone_in) __tsan_acquire(turns);
}
WEFT_UNWATCHED task_identity::~task_identity() {
  worker& here = *current_worker();
  void* const thread = here.native.sanitizers.fiber;
  pool* const all = &here.of();
  __tsan_release(&on_);
  __tsan_release(
      all);  // what it did comes before the end of the pool, and before what others do whose turn it is then
  become(thread);
  identities.give_back(on_.sanitizers.fiber);
  identify_loop(on_, current_worker()->native);
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
  if (here->alone_in != nullptr) __tsan_release(here->alone_in);
  __tsan_switch_to_fiber(here->native.sanitizers.fiber, __tsan_switch_to_fiber_no_sync);
  return before;
}

WEFT_UNWATCHED void become_again(void* before) noexcept {
  impl::worker* const here = impl::current_worker();
  __tsan_switch_to_fiber(before, __tsan_switch_to_fiber_no_sync);
  if (here->alone_in != nullptr) __tsan_acquire(here->alone_in);
}

void begin_arms(void* edge) noexcept { __tsan_release(edge); }

}  // namespace detail
}  // namespace weft

#endif
