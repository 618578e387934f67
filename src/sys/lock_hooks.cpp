// SPDX-License-Identifier: Apache-2.0

#include "sys/lock_hooks.hpp"

#include <weft/detail/assert.hpp>

#include <atomic>
#include <dlfcn.h>
#include <pthread.h>
#include <time.h>

namespace weft::impl {
namespace {

constinit std::atomic<const lock_watcher*> watcher{nullptr};

// The function of that name that this one hides.
template <class Function>
Function* next_of(std::atomic<Function*>& known, const char* name) noexcept {
  // relaxed: each thread that finds nothing looks it up itself, and finds the same.
  if (Function* const found = known.load(std::memory_order_relaxed)) return found;
  auto* const found = reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
  WEFT_CHECK(found != nullptr, "the C library lacks a lock function that weft hides (WEFT_CHECK build)");
  known.store(found, std::memory_order_relaxed);
  return found;
}

// (A spin lock is volatile.)
const void* place_of(const volatile void* lock) noexcept { return const_cast<const void*>(lock); }

template <class Lock>
int note_taken(int outcome, Lock* lock) noexcept {
  const lock_watcher* const by = watcher.load(std::memory_order_acquire);  // [LH-set]
  if (outcome == 0 && by != nullptr) by->taken(place_of(lock));
  return outcome;
}
template <class Lock>
void note_given_back(Lock* lock) noexcept {
  const lock_watcher* const by = watcher.load(std::memory_order_acquire);  // [LH-set]
  if (by != nullptr) by->given_back(place_of(lock));
}

}  // namespace

void watch_locks(const lock_watcher& by) noexcept {
  watcher.store(&by, std::memory_order_release);  // [LH-set] pairs with those who take and give back
}

}  // namespace weft::impl

// NOLINTBEGIN(readability-identifier-naming): the names are POSIX's
#define WEFT_HOOK extern "C" __attribute__((visibility("default")))
#define WEFT_HIDES(name) weft::impl::next_of(hidden, #name)

#define WEFT_TAKES(name, Lock)                                    \
  WEFT_HOOK int name(Lock* lock) noexcept {                       \
    static constinit std::atomic<int (*)(Lock*)> hidden{nullptr}; \
    return weft::impl::note_taken(WEFT_HIDES(name)(lock), lock);  \
  }
#define WEFT_TAKES_UNTIL(name, Lock)                                                      \
  WEFT_HOOK int name(Lock* lock, const struct timespec* until) noexcept {                 \
    static constinit std::atomic<int (*)(Lock*, const struct timespec*)> hidden{nullptr}; \
    return weft::impl::note_taken(WEFT_HIDES(name)(lock, until), lock);                   \
  }
#define WEFT_TAKES_UNTIL_BY(name, Lock)                                                              \
  WEFT_HOOK int name(Lock* lock, clockid_t clock, const struct timespec* until) noexcept {           \
    static constinit std::atomic<int (*)(Lock*, clockid_t, const struct timespec*)> hidden{nullptr}; \
    return weft::impl::note_taken(WEFT_HIDES(name)(lock, clock, until), lock);                       \
  }
// Noted before: a moment later it may be somebody else's.
#define WEFT_GIVES_BACK(name, Lock)                               \
  WEFT_HOOK int name(Lock* lock) noexcept {                       \
    static constinit std::atomic<int (*)(Lock*)> hidden{nullptr}; \
    weft::impl::note_given_back(lock);                            \
    return WEFT_HIDES(name)(lock);                                \
  }

WEFT_TAKES(pthread_mutex_lock, pthread_mutex_t)
WEFT_TAKES(pthread_mutex_trylock, pthread_mutex_t)
WEFT_TAKES_UNTIL(pthread_mutex_timedlock, pthread_mutex_t)
WEFT_TAKES_UNTIL_BY(pthread_mutex_clocklock, pthread_mutex_t)
WEFT_GIVES_BACK(pthread_mutex_unlock, pthread_mutex_t)

WEFT_TAKES(pthread_rwlock_rdlock, pthread_rwlock_t)
WEFT_TAKES(pthread_rwlock_tryrdlock, pthread_rwlock_t)
WEFT_TAKES_UNTIL(pthread_rwlock_timedrdlock, pthread_rwlock_t)
WEFT_TAKES_UNTIL_BY(pthread_rwlock_clockrdlock, pthread_rwlock_t)
WEFT_TAKES(pthread_rwlock_wrlock, pthread_rwlock_t)
WEFT_TAKES(pthread_rwlock_trywrlock, pthread_rwlock_t)
WEFT_TAKES_UNTIL(pthread_rwlock_timedwrlock, pthread_rwlock_t)
WEFT_TAKES_UNTIL_BY(pthread_rwlock_clockwrlock, pthread_rwlock_t)
WEFT_GIVES_BACK(pthread_rwlock_unlock, pthread_rwlock_t)

WEFT_TAKES(pthread_spin_lock, pthread_spinlock_t)
WEFT_TAKES(pthread_spin_trylock, pthread_spinlock_t)
WEFT_GIVES_BACK(pthread_spin_unlock, pthread_spinlock_t)
// NOLINTEND(readability-identifier-naming)
