// SPDX-License-Identifier: Apache-2.0
//
// mutex — an operating-system lock with thread-safety annotations, for the runtime's own slow paths.
//
// It blocks the thread, so it is never held over a switch and never taken on spawn, join, switch or wake.
#pragma once

#include "base/thread_annotations.hpp"

#include <mutex>

namespace weft::impl {

class WEFT_CAPABILITY("mutex") system_mutex {
 public:
  void lock() WEFT_ACQUIRE() { inner_.lock(); }
  void unlock() WEFT_RELEASE() { inner_.unlock(); }

 private:
  std::mutex inner_;
};

/// Holds a lock for a scope.
template <class Mutex>
class WEFT_SCOPED_CAPABILITY scoped_hold {
 public:
  explicit scoped_hold(Mutex& mutex) WEFT_ACQUIRE(mutex) : mutex_(mutex) { mutex_.lock(); }
  scoped_hold(const scoped_hold&) = delete;
  scoped_hold& operator=(const scoped_hold&) = delete;
  ~scoped_hold() WEFT_RELEASE() { mutex_.unlock(); }

 private:
  Mutex& mutex_;
};

}  // namespace weft::impl
